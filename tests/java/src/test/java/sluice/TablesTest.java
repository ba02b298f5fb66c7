package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.SchemaInfo;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TableInfo;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CREATE, ALTER and DROP of tables, what they refuse, and reads across schemas. */
class TablesTest extends ServerTest {
  private static final Schema LOG = Schema.newBuilder().column("a", INT()).column("b", STRING()).build();
  private static final Schema KEYED =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).column("w", BIGINT()).primaryKey("k").build();

  @Test
  void anAppendTableKeepsWhatWasSaid() throws Exception {
    Schema schema = Schema.newBuilder().column("a", INT()).withComment("first")
        .column("b", STRING().copy(false)).column("c", ROW(FIELD("x", DECIMAL(10, 2)))).build();
    long before = System.currentTimeMillis();
    Table table = create("said", describe(schema).distributedBy(3, "a").comment("orders, 订单")
        .property("table.log.ttl", "3d").customProperty("owner", "me"));
    TableInfo info = get(admin.getTableInfo(path("said")));
    assertEquals("orders, 订单", info.getComment().orElseThrow());
    assertEquals(Map.of("owner", "me"), info.getCustomProperties().toMap());
    assertEquals("3d", info.getProperties().toMap().get("table.log.ttl"));
    assertEquals("1", info.getProperties().toMap().get("table.replication.factor"));
    assertEquals(3, info.getNumBuckets());
    assertEquals(List.of("a"), info.getBucketKeys());
    assertFalse(info.hasPrimaryKey());
    assertFalse(info.isPartitioned());
    assertEquals(1, info.getSchemaId());
    assertEquals(List.of("a", "b", "c"), info.getRowType().getFieldNames());
    assertEquals("first", info.getSchema().getColumns().get(0).getComment().orElseThrow());
    assertFalse(info.getRowType().getTypeAt(1).isNullable());
    assertTrue(info.getCreatedTime() >= before);
    assertEquals(info.getTableId(), table.getTableInfo().getTableId());
    assertTrue(get(admin.tableExists(path("said"))));
    assertTrue(get(admin.listTables(database)).contains("said"));
    SchemaInfo latest = get(admin.getTableSchema(path("said")));
    assertEquals(1, latest.getSchemaId());
    assertEquals(info.getSchema(), latest.getSchema());
  }

  @Test
  void aPrimaryKeyTableKeepsWhatWasSaid() throws Exception {
    Schema schema = Schema.newBuilder().column("v", STRING()).column("k2", STRING()).column("k1", INT())
        .primaryKey("k1", "k2").build();
    create("keyed", describe(schema).distributedBy(2, "k1"));
    TableInfo info = get(admin.getTableInfo(path("keyed")));
    assertEquals(List.of("k1", "k2"), info.getPrimaryKeys());
    assertEquals(List.of("k1"), info.getBucketKeys());
    assertFalse(info.isDefaultBucketKey());
    assertFalse(info.getRowType().getTypeAt(1).isNullable());
    assertEquals("2", info.getProperties().toMap().get("table.kv.format-version"));
  }

  /** What the server fills in is seen by clients, which choose encodings by it. */
  @Test
  void defaultsThatTheServerFillsIn() throws Exception {
    create("log_defaults", describe(LOG));
    assertEquals("{table.datalake.format=paimon, table.replication.factor=1}", properties("log_defaults"));
    assertEquals(1, get(admin.getTableInfo(path("log_defaults"))).getNumBuckets());
    create("kv_defaults", describe(KEYED));
    assertEquals("{table.datalake.format=paimon, table.kv.format-version=2, table.replication.factor=1}",
        properties("kv_defaults"));
    create("first_row_defaults", describe(KEYED).property("table.merge-engine", "first_row"));
    assertEquals("{table.datalake.format=paimon, table.delete.behavior=IGNORE, table.kv.format-version=2,"
        + " table.merge-engine=first_row, table.replication.factor=1}", properties("first_row_defaults"));
  }

  private static String properties(String table) throws Exception {
    Map<String, String> all = new TreeMap<>(get(admin.getTableInfo(path(table))).getProperties().toMap());
    return all.toString();
  }

  @Test
  void creatingTwice() throws Exception {
    long id = create("twice", describe(LOG).distributedBy(1)).getTableInfo().getTableId();
    assertRefused(Errors.TABLE_ALREADY_EXIST, () -> create("twice", describe(LOG).distributedBy(1)));
    get(admin.createTable(path("twice"), describe(KEYED).distributedBy(1).build(), true));
    assertEquals(id, get(admin.getTableInfo(path("twice"))).getTableId());
  }

  @Test
  void droppedAndMadeAgain() throws Exception {
    Table first = create("again", describe(LOG).distributedBy(1));
    Rows.append(first, row(1, "old"));
    get(admin.dropTable(path("again"), false));
    assertFalse(get(admin.tableExists(path("again"))));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.getTableInfo(path("again")));
    get(admin.createTable(path("again"), describe(LOG).distributedBy(1).build(), false));
    try (var fresh = open()) {
      Table second = fresh.getTable(path("again"));
      assertNotEquals(first.getTableInfo().getTableId(), second.getTableInfo().getTableId());
      assertEquals(List.of(), Rows.changes(second));
    }
  }

  @Test
  void missingTables() throws Exception {
    TablePath missing = path("missing");
    assertFalse(get(admin.tableExists(missing)));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.getTableInfo(missing));
    assertRefused(OURS ? Errors.TABLE_NOT_EXIST : Errors.SCHEMA_NOT_EXIST, () -> admin.getTableSchema(missing));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.dropTable(missing, false));
    assertRefused(Errors.TABLE_NOT_EXIST,
        () -> admin.alterTable(missing, List.of(TableChange.set("client.a", "1")), false));
    // The Java server hides the reason in a general failure.
    assertRefused(OURS ? Errors.TABLE_NOT_EXIST : Errors.UNKNOWN_SERVER_ERROR, () -> connection.getTable(missing));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.listPartitionInfos(missing));
    get(admin.dropTable(missing, true));
    get(admin.alterTable(missing, List.of(TableChange.set("client.a", "1")), true));
    assertFalse(get(admin.tableExists(TablePath.of("not_there", "t"))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "with space", "with.dot", "ümlaut", "__own", "semi;colon"})
  void namesThatCannotBe(String name) {
    assertRefused(Errors.INVALID_TABLE_EXCEPTION,
        () -> admin.createTable(TablePath.of(database, name), describe(LOG).build(), false));
  }

  @ParameterizedTest
  @ValueSource(strings = {"__offset", "__timestamp", "__bucket", "_change_type", "_log_offset", "_commit_timestamp"})
  void columnsThatAreTheSystems(String name) {
    Schema schema = Schema.newBuilder().column("a", INT()).column(name, INT()).build();
    assertRefused(Errors.INVALID_TABLE_EXCEPTION, () -> admin.createTable(path("system"), describe(schema).build(), false));
  }

  /** Options of CREATE that are refused, on an append table or on one with a primary key. */
  @ParameterizedTest
  @CsvSource({
      "LOG, table.unknown, 1, INVALID_CONFIG_EXCEPTION",
      "LOG, unknown, 1, INVALID_CONFIG_EXCEPTION",
      "LOG, table.merge-engine, first_row, INVALID_CONFIG_EXCEPTION",
      "LOG, table.delete.behavior, ignore, INVALID_CONFIG_EXCEPTION",
      "LOG, table.replication.factor, 2, INVALID_REPLICATION_FACTOR",
      "LOG, table.log.arrow.compression.zstd.level, 23, INVALID_CONFIG_EXCEPTION",
      "LOG, table.log.tiered.local-segments, 0, INVALID_CONFIG_EXCEPTION",
      "LOG, table.auto-partition.enabled, true, INVALID_CONFIG_EXCEPTION",
      "LOG, table.datalake.format, iceberg, NONE",
      "KEYED, table.kv.format-version, 3, INVALID_CONFIG_EXCEPTION",
      "KEYED, table.merge-engine, versioned, INVALID_CONFIG_EXCEPTION",
      "KEYED, table.log.format, indexed, INVALID_CONFIG_EXCEPTION",
      "KEYED, table.changelog.image, wal, NONE",
      "KEYED, table.delete.behavior, disable, NONE",
      "KEYED, table.log.ttl, 0s, NONE",
      "LOG, table.log.ttl, -1s, INVALID_CONFIG_EXCEPTION",
  })
  void optionsOfCreate(String kind, String key, String value, Errors expected) throws Exception {
    TableDescriptor descriptor = describe(kind.equals("LOG") ? LOG : KEYED).distributedBy(1).property(key, value).build();
    TablePath path = path("option_" + Math.abs((kind + key + value).hashCode()));
    assertRefused(expected, () -> admin.createTable(path, descriptor, false));
    assertEquals(expected == Errors.NONE, get(admin.tableExists(path)));
  }

  /** Options that the servers do not judge alike. */
  @ParameterizedTest
  @CsvSource({
      "table.replication.factor, 0, INVALID_CONFIG_EXCEPTION, INVALID_REPLICATION_FACTOR",
  })
  void optionsOfCreateThatDiffer(String key, String value, Errors ours, Errors theirs) {
    TablePath path = path("differs_" + Math.abs(key.hashCode()));
    assertRefused(OURS ? ours : theirs,
        () -> admin.createTable(path, describe(LOG).distributedBy(1).property(key, value).build(), false));
  }

  /** Values that are none of the option's kind. */
  @ParameterizedTest
  @CsvSource({"table.log.ttl, soon", "table.log.format, xml", "table.kv.format, xml", "table.merge-engine, none",
      "table.log.arrow.compression.type, zip", "table.replication.factor, many", "table.delete.behavior, maybe"})
  void valuesThatAreNone(String key, String value) throws Exception {
    TablePath path = path("value_" + Math.abs(key.hashCode()));
    Errors refusal = refusal(() -> admin.createTable(path, describe(KEYED).distributedBy(1).property(key, value).build(), false));
    assertNotEquals(Errors.NONE, refusal);
    assertFalse(get(admin.tableExists(path)));
  }

  @Test
  void bucketCountsThatCannotBe() {
    assertRefused(OURS ? Errors.INVALID_TABLE_EXCEPTION : Errors.UNKNOWN_SERVER_ERROR, () -> createBuckets(0));
    assertRefused(Errors.BUCKET_MAX_NUM_EXCEPTION, () -> createBuckets(200_000));
  }

  private static Object createBuckets(int buckets) {
    return admin.createTable(path("buckets"), describe(LOG).distributedBy(buckets).build(), false);
  }

  @Test
  void alterOptions() throws Exception {
    create("altered", describe(LOG).distributedBy(1).customProperty("owner", "me"));
    get(admin.alterTable(path("altered"), List.of(TableChange.set("owner", "you"), TableChange.set("note", "n"),
        TableChange.set("table.log.tiered.local-segments", "5")), false));
    TableInfo info = get(admin.getTableInfo(path("altered")));
    assertEquals(Map.of("owner", "you", "note", "n"), info.getCustomProperties().toMap());
    assertEquals("5", info.getProperties().toMap().get("table.log.tiered.local-segments"));
    assertEquals(1, info.getSchemaId());
    get(admin.alterTable(path("altered"),
        List.of(TableChange.reset("note"), TableChange.reset("table.log.tiered.local-segments")), false));
    info = get(admin.getTableInfo(path("altered")));
    assertEquals(Map.of("owner", "you"), info.getCustomProperties().toMap());
    assertFalse(info.getProperties().toMap().containsKey("table.log.tiered.local-segments"));
  }

  @ParameterizedTest
  @CsvSource({
      "table.kv.format, INDEXED, INVALID_ALTER_TABLE_EXCEPTION",
      "table.merge-engine, first_row, INVALID_ALTER_TABLE_EXCEPTION",
      "table.replication.factor, 3, INVALID_ALTER_TABLE_EXCEPTION",
      "table.unknown, 1, INVALID_ALTER_TABLE_EXCEPTION",
      "bucket.num, 5, NONE",
      "table.log.tiered.local-segments, 0, INVALID_CONFIG_EXCEPTION",
      "table.log.tiered.local-segments, many, INVALID_CONFIG_EXCEPTION",
  })
  void optionsThatAlterRefuses(String key, String value, Errors expected) throws Exception {
    String table = "fixed_" + Math.abs((key + value).hashCode());
    create(table, describe(KEYED).distributedBy(1));
    assertRefused(expected, () -> admin.alterTable(path(table), List.of(TableChange.set(key, value)), false));
  }

  @Test
  void addColumnAndReadsAcrossSchemas() throws Exception {
    Table old = create("wider", describe(LOG).distributedBy(1));
    Rows.append(old, row(1, "one"));
    get(admin.alterTable(path("wider"), List.of(addColumn("c", BIGINT().copy(true)), addColumn("d", STRING())), false));
    assertEquals(2, get(admin.getTableInfo(path("wider"))).getSchemaId());
    assertEquals(List.of("a", "b"), get(admin.getTableSchema(path("wider"), 1)).getSchema().getColumnNames());
    assertEquals(List.of("a", "b", "c", "d"), get(admin.getTableSchema(path("wider"), 2)).getSchema().getColumnNames());
    assertRefused(Errors.SCHEMA_NOT_EXIST, () -> admin.getTableSchema(path("wider"), 3));
    Rows.append(old, row(2, "by the old schema"));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("wider"));
      Rows.append(wide, row(3, "three", 33L, "new"));
      assertEquals(List.of("+A[1, one, null, null]", "+A[2, by the old schema, null, null]", "+A[3, three, 33, new]"),
          Rows.changes(wide));
    }
    assertEquals(List.of("+A[1, one]", "+A[2, by the old schema]", "+A[3, three]"), Rows.changes(old));
  }

  @Test
  void addColumnToStoredRows() throws Exception {
    Table old = create("wider_keyed", describe(KEYED).distributedBy(1));
    Rows.upsert(old, row(1, "one", 1L), row(2, "two", 2L));
    get(admin.alterTable(path("wider_keyed"), List.of(addColumn("x", INT())), false));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("wider_keyed"));
      assertEquals("[1, one, 1, null]", Rows.lookup(wide, 1));
      Rows.upsert(wide, row(2, "two", 2L, 22));
      Rows.upsert(old, row(3, "old writer", 3L));
      assertEquals("[2, two, 2, 22]", Rows.lookup(wide, 2));
      assertEquals("[3, old writer, 3, null]", Rows.lookup(wide, 3));
      assertEquals("[2, two, 2]", Rows.lookup(old, 2));
      assertEquals(List.of("+I[1, one, 1, null]", "+I[2, two, 2, null]", "-U[2, two, 2, null]", "+U[2, two, 2, 22]",
          "+I[3, old writer, 3, null]"), Rows.changes(wide));
    }
  }

  @Test
  void changesOfColumnsThatAreRefused() throws Exception {
    create("columns", describe(KEYED).distributedBy(1));
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> alter(TableChange.dropColumn("v")));
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> alter(TableChange.renameColumn("v", "u")));
    assertRefused(Errors.UNKNOWN_SERVER_ERROR,
        () -> alter(TableChange.modifyColumn("v", INT(), null, TableChange.ColumnPosition.last())));
    assertRefused(Errors.INVALID_ALTER_TABLE_EXCEPTION, () -> alter(addColumn("v", INT())));
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> alter(addColumn("n", INT().copy(false))));
    assertRefused(Errors.INVALID_ALTER_TABLE_EXCEPTION, () -> alter(addColumn("n", INT()), TableChange.set("a", "b")));
    assertEquals(1, get(admin.getTableInfo(path("columns"))).getSchemaId());
  }

  private static Object alter(TableChange... changes) {
    return admin.alterTable(path("columns"), List.of(changes), false);
  }

  private static TableChange addColumn(String name, org.apache.fluss.types.DataType type) {
    return TableChange.addColumn(name, type, null, TableChange.ColumnPosition.last());
  }
}
