package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.util.List;
import java.util.Map;
import org.apache.fluss.client.FlussConnection;
import org.apache.fluss.client.metadata.LakeSnapshot;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.rpc.gateway.CoordinatorGateway;
import org.apache.fluss.rpc.messages.CommitLakeTableSnapshotRequest;
import org.apache.fluss.rpc.messages.LakeTieringHeartbeatRequest;
import org.apache.fluss.rpc.messages.PbLakeTableSnapshotInfo;
import org.apache.fluss.rpc.messages.PrepareLakeTableSnapshotRequest;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.Test;

/** Lake options and the calls by which tiering tells of its progress; what is in the lake is tested elsewhere. */
class LakeTest extends ServerTest {
  private static final Schema SCHEMA = Schema.newBuilder().column("a", INT()).column("b", STRING()).build();

  /** A table that no tiering service comes to. */
  private static Table quiet(String name) throws Exception {
    return create(name, describe(SCHEMA).distributedBy(2));
  }

  private static CoordinatorGateway coordinator() {
    return ((FlussConnection) connection).getMetadataUpdater().newCoordinatorServerClient();
  }

  @Test
  void beforeAnythingIsTiered() throws Exception {
    quiet("never");
    assertRefused(Errors.LAKE_SNAPSHOT_NOT_EXIST, () -> admin.getLatestLakeSnapshot(path("never")));
    assertRefused(Errors.LAKE_SNAPSHOT_NOT_EXIST, () -> admin.getReadableLakeSnapshot(path("never")));
    assertRefused(Errors.LAKE_SNAPSHOT_NOT_EXIST, () -> admin.getLakeSnapshot(path("never"), 3));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.getLatestLakeSnapshot(path("missing")));
  }

  @Test
  void aSnapshotThatIsPreparedAndCommitted() throws Exception {
    Table table = quiet("tiered");
    Rows.append(table, row(1, "a"), row(2, "b"));
    long id = table.getTableInfo().getTableId();
    var prepare = new PrepareLakeTableSnapshotRequest();
    var offsets = prepare.addBucketOffset().setTableId(id);
    offsets.setTablePath().setDatabaseName(database).setTableName("tiered");
    offsets.addBucketOffset().setBucketId(0).setLogEndOffset(2);
    offsets.addBucketOffset().setBucketId(1).setLogEndOffset(1);
    var prepared = get(coordinator().prepareLakeTableSnapshot(prepare)).getPrepareLakeTableRespAt(0);
    assertTrue(!prepared.hasErrorCode(), "prepared");

    var commit = new CommitLakeTableSnapshotRequest();
    PbLakeTableSnapshotInfo inline = commit.addTablesReq().setTableId(id).setSnapshotId(5);
    inline.addBucketsReq().setBucketId(0).setLogEndOffset(2);
    inline.addBucketsReq().setBucketId(1).setLogEndOffset(1);
    commit.addLakeTableSnapshotMetadata().setTableId(id).setSnapshotId(5)
        .setTieredBucketOffsetsFilePath(prepared.getLakeTableOffsetsPath())
        .setReadableBucketOffsetsFilePath(prepared.getLakeTableOffsetsPath());
    var committed = get(coordinator().commitLakeTableSnapshot(commit)).getTableRespAt(0);
    assertEquals(id, committed.getTableId());
    assertTrue(!committed.hasErrorCode(), "committed");

    for (LakeSnapshot snapshot : List.of(get(admin.getLatestLakeSnapshot(path("tiered"))),
        get(admin.getReadableLakeSnapshot(path("tiered"))), get(admin.getLakeSnapshot(path("tiered"), 5)))) {
      assertEquals(5, snapshot.getSnapshotId());
      assertEquals(Map.of(bucket(table, 0), 2L, bucket(table, 1), 1L), snapshot.getTableBucketsOffset());
    }
    assertRefused(Errors.LAKE_SNAPSHOT_NOT_EXIST, () -> admin.getLakeSnapshot(path("tiered"), 4));
  }

  @Test
  void commitsOfTablesThatAreNotThere() throws Exception {
    var prepare = new PrepareLakeTableSnapshotRequest();
    var offsets = prepare.addBucketOffset().setTableId(987_654_321);
    offsets.setTablePath().setDatabaseName(database).setTableName("missing");
    offsets.addBucketOffset().setBucketId(0).setLogEndOffset(2);
    var prepared = get(coordinator().prepareLakeTableSnapshot(prepare)).getPrepareLakeTableRespAt(0);
    assertEquals(OURS, prepared.hasErrorCode());  // The Java server writes a file for no table.
    if (OURS) {
      assertEquals(Errors.TABLE_NOT_EXIST.code(), prepared.getErrorCode());
    }
  }

  /** A service that asks for work without finished tables gets an answer, with or without a table. */
  @Test
  void heartbeatsOfTheTieringService() throws Exception {
    var nothing = get(coordinator().lakeTieringHeartbeat(new LakeTieringHeartbeatRequest()));
    assertEquals(0, nothing.getFinishedTableRespsCount());
    var stale = new LakeTieringHeartbeatRequest();
    stale.addTieringTable().setTableId(987_654_321).setCoordinatorEpoch(nothing.getCoordinatorEpoch()).setTieringEpoch(1);
    var answer = get(coordinator().lakeTieringHeartbeat(stale));
    assertEquals(1, answer.getTieringTableRespsCount());
    assertTrue(answer.getTieringTableRespAt(0).hasError());
    assertEquals(Errors.TABLE_NOT_EXIST.code(), answer.getTieringTableRespAt(0).getError().getErrorCode());
  }

  @Test
  void lakeOptions() throws Exception {
    TableDescriptor.Builder descriptor = describe(SCHEMA).distributedBy(1).property("table.datalake.enabled", "true")
        .property("table.datalake.freshness", "1h");
    create("options", descriptor);
    assertEquals("paimon", get(admin.getTableInfo(path("options"))).getProperties().toMap().get("table.datalake.format"));
    get(admin.alterTable(path("options"), List.of(TableChange.set("table.datalake.enabled", "false")), false));
    assertEquals("false", get(admin.getTableInfo(path("options"))).getProperties().toMap().get("table.datalake.enabled"));
    assertRefused(Errors.INVALID_ALTER_TABLE_EXCEPTION,
        () -> admin.alterTable(path("options"), List.of(TableChange.set("table.datalake.format", "iceberg")), false));
    assertRefused(OURS ? Errors.INVALID_CONFIG_EXCEPTION : Errors.NONE, () -> admin.createTable(path("other_format"), describe(SCHEMA).distributedBy(1)
        .property("table.datalake.enabled", "true").property("table.datalake.format", "iceberg").build(), false));
  }

  /** Enabled later, on a table of either kind. */
  @Test
  void enabledLater() throws Exception {
    quiet("later");
    get(admin.alterTable(path("later"), List.of(TableChange.set("table.datalake.enabled", "true")), false));
    assertEquals("true", get(admin.getTableInfo(path("later"))).getProperties().toMap().get("table.datalake.enabled"));
    Schema keyed = Schema.newBuilder().column("k", INT()).primaryKey("k").build();
    create("later_keyed", describe(keyed).distributedBy(1));
    get(admin.alterTable(path("later_keyed"), List.of(TableChange.set("table.datalake.enabled", "true")), false));
  }
}
