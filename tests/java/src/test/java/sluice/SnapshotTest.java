package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.fluss.client.admin.KvSnapshotLease;
import org.apache.fluss.client.metadata.KvSnapshotMetadata;
import org.apache.fluss.client.metadata.KvSnapshots;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** KV snapshots, their files and leases. A server makes them each kv.snapshot.interval: 3 s here. */
class SnapshotTest extends ServerTest {
  private static final Schema SCHEMA =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).primaryKey("k").build();

  private static GenericRow[] rows(int count) {
    return IntStream.range(0, count).mapToObj(i -> row(i, "v" + i)).toArray(GenericRow[]::new);
  }

  /** The newest snapshots once that of the table's only bucket holds the log below `offset`. */
  private static KvSnapshots snapshots(String table, long offset) throws Exception {
    for (int i = 0; i < 600; i++) {
      KvSnapshots snapshots = get(admin.getLatestKvSnapshots(path(table)));
      if (snapshots.getLogOffset(0).isPresent() && snapshots.getLogOffset(0).getAsLong() >= offset) {
        return snapshots;
      }
      Thread.sleep(100);
    }
    throw new AssertionError("no snapshot after 60 s");
  }

  /** The rows of a snapshot, sorted as text. */
  private static List<String> scan(Table table, TableBucket bucket, long snapshot) throws Exception {
    return Rows.batch(table.newScan().createBatchScanner(bucket, snapshot), table.getTableInfo().getRowType())
        .stream().sorted().toList();
  }

  private static List<String> expected(Table table, GenericRow... rows) {
    return Stream.of(rows).map(row -> Rows.text(table.getTableInfo().getRowType(), row)).sorted().toList();
  }

  @Test
  void atFirstThereIsNone() throws Exception {
    Table table = create("none", describe(SCHEMA).distributedBy(2));
    KvSnapshots snapshots = get(admin.getLatestKvSnapshots(path("none")));
    assertEquals(table.getTableInfo().getTableId(), snapshots.getTableId());
    assertEquals(Set.of(0, 1), snapshots.getBucketIds());
    assertTrue(snapshots.getSnapshotId(0).isEmpty());
    assertTrue(snapshots.getLogOffset(1).isEmpty());
    assertRefused(Errors.KV_SNAPSHOT_NOT_EXIST, () -> admin.getKvSnapshotMetadata(bucket(table, 0), 77));
  }

  @Test
  void snapshotsOfTheWrongKind() throws Exception {
    create("log", describe(Schema.newBuilder().column("a", INT()).build()).distributedBy(1));
    assertRefused(Errors.NON_PRIMARY_KEY_TABLE_EXCEPTION, () -> admin.getLatestKvSnapshots(path("log")));
    create("whole", describe(SCHEMA).distributedBy(1));
    assertRefused(Errors.TABLE_NOT_PARTITIONED_EXCEPTION, () -> admin.getLatestKvSnapshots(path("whole"), "p"));
    Schema byDay = Schema.newBuilder().column("k", INT()).column("day", STRING()).primaryKey("k", "day").build();
    create("parts", describe(byDay).partitionedBy("day").distributedBy(1));
    assertRefused(Errors.PARTITION_NOT_EXISTS, () -> admin.getLatestKvSnapshots(path("parts")));
    get(admin.createPartition(path("parts"), new PartitionSpec(Map.of("day", "mon")), false));
    KvSnapshots snapshots = get(admin.getLatestKvSnapshots(path("parts"), "mon"));
    assertEquals(Set.of(0), snapshots.getBucketIds());
    assertTrue(snapshots.getPartitionId() != null);
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.getLatestKvSnapshots(path("missing")));
  }

  @Test
  void readOfASnapshotAndTheLogBehindIt() throws Exception {
    Table table = create("read", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, rows(5));
    KvSnapshots snapshots = snapshots("read", 1);
    long id = snapshots.getSnapshotId(0).orElseThrow();
    long offset = snapshots.getLogOffset(0).orElseThrow();
    KvSnapshotMetadata metadata = get(admin.getKvSnapshotMetadata(bucket(table, 0), id));
    assertEquals(offset, metadata.getLogOffset());
    assertFalse(metadata.getSnapshotFiles().isEmpty());
    List<String> state = new ArrayList<>(scan(table, bucket(table, 0), id));
    for (String change : Rows.changes(table).subList((int) offset, 5)) {
      state.add(change.substring(2));
    }
    assertEquals(List.of("[0, v0]", "[1, v1]", "[2, v2]", "[3, v3]", "[4, v4]"), state.stream().sorted().toList());
  }

  @ParameterizedTest
  @ValueSource(strings = {"COMPACTED", "INDEXED"})
  void aSnapshotKeepsEveryType(String format) throws Exception {
    List<Samples> types = Stream.concat(Samples.scalars().stream(), Samples.nested().stream()).toList();
    Table table = create("types_" + format, describe(TypesTest.everyType(types).primaryKey("id").build())
        .distributedBy(1).property("table.kv.format", format));
    GenericRow[] rows = TypesTest.rows(types);
    Rows.upsert(table, rows);
    long id = snapshots("types_" + format, rows.length).getSnapshotId(0).orElseThrow();
    assertEquals(expected(table, rows), scan(table, bucket(table, 0), id));
  }

  @Test
  void laterSnapshotsHoldUpdatesAndDeletesAndColumnsThatCameLater() throws Exception {
    Table old = create("grown", describe(SCHEMA).distributedBy(1));
    Rows.upsert(old, rows(30));
    snapshots("grown", 30);
    Rows.upsert(old, row(7, "changed"));
    Rows.delete(old, row(8, null));
    long second = snapshots("grown", 33).getSnapshotId(0).orElseThrow();  // An update is two changes.
    List<String> rows = scan(old, bucket(old, 0), second);
    assertEquals(29, rows.size());
    assertTrue(rows.contains("[7, changed]") && !rows.contains("[8, v8]") && rows.contains("[29, v29]"));

    get(admin.alterTable(path("grown"),
        List.of(TableChange.addColumn("x", BIGINT(), null, TableChange.ColumnPosition.last())), false));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("grown"));
      Rows.upsert(wide, row(1000, "new", 5L));
      long third = snapshots("grown", 34).getSnapshotId(0).orElseThrow();
      assertTrue(third > second);
      List<String> wider = scan(wide, bucket(wide, 0), third);
      assertEquals(30, wider.size());
      assertTrue(wider.contains("[1000, new, 5]") && wider.contains("[7, changed, null]"));
      List<String> projected = Rows.batch(
          wide.newScan().project(new int[] {2, 0}).createBatchScanner(bucket(wide, 0), third),
          RowType.of(BIGINT(), INT()));
      assertTrue(projected.contains("[5, 1000]") && projected.contains("[null, 7]"));
    }
  }

  @Test
  void snapshotsOfAPartition() throws Exception {
    Schema byDay = Schema.newBuilder().column("k", INT()).column("day", STRING()).primaryKey("k", "day").build();
    Table table = create("days", describe(byDay).partitionedBy("day").distributedBy(1));
    for (String day : List.of("mon", "tue")) {
      get(admin.createPartition(path("days"), new PartitionSpec(Map.of("day", day)), false));
    }
    Rows.upsert(table, row(1, "mon"), row(2, "mon"), row(1, "tue"));
    KvSnapshots snapshots = get(admin.getLatestKvSnapshots(path("days"), "mon"));
    for (int i = 0; i < 600 && snapshots.getLogOffset(0).orElse(0L) < 2; i++) {
      Thread.sleep(100);
      snapshots = get(admin.getLatestKvSnapshots(path("days"), "mon"));
    }
    TableBucket bucket = new TableBucket(table.getTableInfo().getTableId(), snapshots.getPartitionId(), 0);
    assertEquals(List.of("[1, mon]", "[2, mon]"), scan(table, bucket, snapshots.getSnapshotId(0).orElseThrow()));
  }

  @Test
  void aLeaseHoldsASnapshotWhileOthersGo() throws Exception {
    Table table = create("leases", describe(SCHEMA).distributedBy(1));
    TableBucket bucket = bucket(table, 0);
    Rows.upsert(table, rows(3));
    long held = snapshots("leases", 3).getSnapshotId(0).orElseThrow();
    KvSnapshotLease lease = admin.createKvSnapshotLease(database, 60_000);
    assertEquals(Map.of(), get(lease.acquireSnapshots(Map.of(bucket, held))).getUnavailableSnapshots());
    for (int i = 0; i < 4; i++) {
      Rows.upsert(table, row(10 + i, "later"));
      snapshots("leases", 4 + i);
    }
    assertEquals(List.of("[0, v0]", "[1, v1]", "[2, v2]"), scan(table, bucket, held));
    get(lease.renew());
    get(lease.releaseSnapshots(Set.of(bucket)));
    Rows.upsert(table, row(20, "last"));
    long newest = snapshots("leases", 8).getSnapshotId(0).orElseThrow();
    assertEquals(8, scan(table, bucket, newest).size());
    for (int i = 0; i < 100 && refusal(() -> admin.getKvSnapshotMetadata(bucket, held)) == Errors.NONE; i++) {
      Thread.sleep(100);  // The Java server removes it some time later.
    }
    assertRefused(Errors.KV_SNAPSHOT_NOT_EXIST, () -> admin.getKvSnapshotMetadata(bucket, held));
    get(lease.dropLease());
    get(lease.dropLease());
  }

  @Test
  void aLeaseOfASnapshotThatIsNotThere() throws Exception {
    Table table = create("nothing_leased", describe(SCHEMA).distributedBy(1));
    KvSnapshotLease lease = admin.createKvSnapshotLease(database + "_nothing", 60_000);
    Map<TableBucket, Long> asked = Map.of(bucket(table, 0), 77L);
    // The Java server takes it without a look.
    assertEquals(OURS ? asked : Map.of(), get(lease.acquireSnapshots(asked)).getUnavailableSnapshots());
    get(lease.dropLease());
  }
}
