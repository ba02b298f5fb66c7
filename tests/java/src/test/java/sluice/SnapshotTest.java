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
import org.apache.fluss.client.admin.KvSnapshotLease;
import org.apache.fluss.client.metadata.KvSnapshotMetadata;
import org.apache.fluss.client.metadata.KvSnapshots;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.Test;

/** KV snapshots, their files and leases. The Java server makes them each kv.snapshot.interval: set it to 3 s. */
class SnapshotTest extends ServerTest {
  private static final Schema SCHEMA =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).primaryKey("k").build();

  private static GenericRow[] rows(int count) {
    return IntStream.range(0, count).mapToObj(i -> row(i, "v" + i)).toArray(GenericRow[]::new);
  }

  /** Wait for a snapshot of the table's only bucket; null where the server makes none. */
  private static KvSnapshots snapshots(String table) throws Exception {
    for (int i = 0; i < 300 && !SNAPSHOTS_MISSING; i++) {
      KvSnapshots snapshots = get(admin.getLatestKvSnapshots(path(table)));
      if (snapshots.getSnapshotId(0).isPresent()) {
        return snapshots;
      }
      Thread.sleep(100);
    }
    assertTrue(SNAPSHOTS_MISSING, "no snapshot after 30 s");
    return null;
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
    KvSnapshots snapshots = snapshots("read");
    if (snapshots == null) {
      return;
    }
    long id = snapshots.getSnapshotId(0).orElseThrow();
    long offset = snapshots.getLogOffset(0).orElseThrow();
    KvSnapshotMetadata metadata = get(admin.getKvSnapshotMetadata(bucket(table, 0), id));
    assertEquals(offset, metadata.getLogOffset());
    assertFalse(metadata.getSnapshotFiles().isEmpty());
    List<String> state =
        new ArrayList<>(Rows.batch(table.newScan().createBatchScanner(bucket(table, 0), id), table.getTableInfo().getRowType()));
    for (String change : Rows.changes(table).subList((int) offset, 5)) {
      state.add(change.substring(2));
    }
    assertEquals(List.of("[0, v0]", "[1, v1]", "[2, v2]", "[3, v3]", "[4, v4]"), state.stream().sorted().toList());
  }

  @Test
  void leases() throws Exception {
    Table table = create("leases", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, rows(3));
    KvSnapshots snapshots = snapshots("leases");
    TableBucket bucket = bucket(table, 0);
    KvSnapshotLease lease = admin.createKvSnapshotLease(database, 60_000);
    if (snapshots == null) {
      assertEquals(Map.of(bucket, 0L), get(lease.acquireSnapshots(Map.of(bucket, 0L))).getUnavailableSnapshots());
    } else {
      assertEquals(Map.of(), get(lease.acquireSnapshots(Map.of(bucket, snapshots.getSnapshotId(0).orElseThrow())))
          .getUnavailableSnapshots());
    }
    get(lease.renew());
    get(lease.releaseSnapshots(Set.of(bucket)));
    get(lease.dropLease());
    get(lease.dropLease());
  }

  /** What our server does not have yet. */
  static final boolean SNAPSHOTS_MISSING = OURS;
}
