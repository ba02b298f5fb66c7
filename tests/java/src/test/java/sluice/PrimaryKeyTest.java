package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static sluice.Rows.row;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.lookup.LookupResult;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.UpsertResult;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Upsert, delete, partial update, lookups, limit scans and the changelog of primary-key tables. */
class PrimaryKeyTest extends ServerTest {
  private static final Schema SCHEMA =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).column("w", BIGINT()).primaryKey("k").build();

  @Test
  void upsertUpdateDelete() throws Exception {
    Table table = create("basic", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, row(1, "a", 1L), row(2, "b", null), row(1, "a2", 11L), row(1, "a2", 11L));
    Rows.delete(table, row(2, null, null), row(3, null, null));
    Rows.upsert(table, row(2, "again", 2L));
    assertEquals("[1, a2, 11]", Rows.lookup(table, 1));
    assertEquals("[2, again, 2]", Rows.lookup(table, 2));
    assertEquals("none", Rows.lookup(table, 3));
    assertEquals(List.of("+I[1, a, 1]", "+I[2, b, null]", "-U[1, a, 1]", "+U[1, a2, 11]", "-U[1, a2, 11]", "+U[1, a2, 11]",
        "-D[2, b, null]", "+I[2, again, 2]"), Rows.changes(table));
  }

  /** The result of an upsert says where its log ends, so that a reader can wait for it. */
  @Test
  void resultsCarryTheLogEnd() throws Exception {
    Table table = create("log_end", describe(SCHEMA).distributedBy(1));
    UpsertWriter writer = table.newUpsert().createWriter();
    CompletableFuture<UpsertResult> first = writer.upsert(row(1, "a", 1L));
    writer.flush();
    assertEquals(1, get(first).getLogEndOffset());
    assertEquals(bucket(table, 0), get(first).getBucket());
    CompletableFuture<UpsertResult> second = writer.upsert(row(1, "b", 1L));
    writer.flush();
    assertEquals(3, get(second).getLogEndOffset());
    assertEquals(3, offsets(table, new OffsetSpec.LatestSpec()).get(0));
  }

  /** A delete of a key that is not there takes an offset, which no reader sees. */
  @Test
  void anEmptyChangeTakesAnOffset() throws Exception {
    Table table = create("empty_change", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, row(1, "a", 1L));
    Rows.delete(table, row(5, null, null));
    Rows.upsert(table, row(2, "b", 2L));
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      assertEquals(List.of("0:+I[1, a, 1]", "2:+I[2, b, 2]"), Rows.poll(scanner, 2, table.getTableInfo().getRowType()));
    }
  }

  @Test
  void partialUpdate() throws Exception {
    Table table = create("partial", describe(SCHEMA).distributedBy(1));
    UpsertWriter v = table.newUpsert().partialUpdate("k", "v").createWriter();
    UpsertWriter w = table.newUpsert().partialUpdate(new int[] {0, 2}).createWriter();
    Rows.upsert(v, row(1, "a", null));
    Rows.upsert(w, row(1, null, 7L));
    Rows.upsert(v, row(1, "b", null));
    assertEquals("[1, b, 7]", Rows.lookup(table, 1));
    Rows.await(v::flush, List.of(v.delete(row(1, null, null))));
    assertEquals("[1, null, 7]", Rows.lookup(table, 1));
    Rows.await(w::flush, List.of(w.delete(row(1, null, null))));
    assertEquals("none", Rows.lookup(table, 1));
    assertEquals(List.of("+I[1, a, null]", "-U[1, a, null]", "+U[1, a, 7]", "-U[1, a, 7]", "+U[1, b, 7]", "-U[1, b, 7]",
        "+U[1, null, 7]", "-D[1, null, 7]"), Rows.changes(table));
  }

  @Test
  void partialUpdatesThatCannotBe() throws Exception {
    Table table = create("partial_refused", describe(SCHEMA).distributedBy(1));
    assertThrows(Exception.class, () -> table.newUpsert().partialUpdate("v").createWriter());
    assertThrows(Exception.class, () -> table.newUpsert().partialUpdate("k", "nowhere").createWriter());
    Schema strict = Schema.newBuilder().column("k", INT()).column("v", STRING()).column("w", BIGINT().copy(false))
        .primaryKey("k").build();
    Table filled = create("partial_strict", describe(strict).distributedBy(1));
    assertThrows(Exception.class, () -> filled.newUpsert().partialUpdate("k", "v").createWriter());
  }

  @Test
  void deleteBehaviour() throws Exception {
    Table ignores = create("delete_ignore", describe(SCHEMA).distributedBy(1).property("table.delete.behavior", "ignore"));
    Rows.upsert(ignores, row(1, "a", 1L));
    Rows.delete(ignores, row(1, null, null));
    assertEquals("[1, a, 1]", Rows.lookup(ignores, 1));
    Rows.upsert(ignores, row(2, "b", 2L));
    assertEquals(List.of("+I[1, a, 1]", "+I[2, b, 2]"), Rows.changes(ignores));
    Table disables = create("delete_disable", describe(SCHEMA).distributedBy(1).property("table.delete.behavior", "disable"));
    Rows.upsert(disables, row(1, "a", 1L));
    try (var other = open()) {
      assertRefused(Errors.DELETION_DISABLED_EXCEPTION, () -> other.getTable(path("delete_disable")).newUpsert()
          .createWriter().delete(row(1, null, null)));
    }
    assertEquals("[1, a, 1]", Rows.lookup(disables, 1));
  }

  @Test
  void changelogImageWal() throws Exception {
    Table table = create("wal", describe(SCHEMA).distributedBy(1).property("table.changelog.image", "wal"));
    Rows.upsert(table, row(1, "a", 1L), row(1, "b", 1L));
    Rows.delete(table, row(1, null, null));
    Rows.upsert(table.newUpsert().partialUpdate("k", "v").createWriter(), row(2, "c", null), row(2, "d", null));
    assertEquals("[2, d, null]", Rows.lookup(table, 2));
    assertEquals(List.of("+U[1, a, 1]", "+U[1, b, 1]", "-D[1, b, 1]", "+I[2, c, null]", "+U[2, d, null]"), Rows.changes(table));
    assertRefused(Errors.INVALID_TABLE_EXCEPTION, () -> admin.getTableStats(path("wal")));
  }

  @Test
  void manyLookupsAtOnce() throws Exception {
    Table table = create("many", describe(SCHEMA).distributedBy(3));
    UpsertWriter writer = table.newUpsert().createWriter();
    List<CompletableFuture<?>> writes = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      writes.add(writer.upsert(row(i, "v" + i, (long) i)));
    }
    Rows.await(writer::flush, writes);
    Lookuper lookuper = table.newLookup().createLookuper();
    List<CompletableFuture<LookupResult>> answers = new ArrayList<>();
    for (int i = 0; i < 2100; i++) {
      answers.add(lookuper.lookup(row(i)));
    }
    RowType type = table.getTableInfo().getRowType();
    for (int i = 0; i < 2100; i++) {
      LookupResult result = get(answers.get(i));
      assertEquals(i < 2000 ? "[" + i + ", v" + i + ", " + i + "]" : "none",
          result.getSingletonRow() == null ? "none" : Rows.text(type, result.getSingletonRow()));
    }
    assertEquals(2000, Rows.changes(table).size());
    assertEquals(2000, get(admin.getTableStats(path("many"))).getRowCount());
  }

  @Test
  void prefixLookup() throws Exception {
    Schema schema = Schema.newBuilder().column("a", INT()).column("b", STRING()).column("c", BIGINT()).column("v", STRING())
        .primaryKey("a", "b", "c").build();
    Table table = create("prefix", describe(schema).distributedBy(3, "a", "b"));
    Rows.upsert(table, row(1, "x", 2L, "one"), row(1, "x", 1L, "two"), row(1, "xy", 1L, "three"), row(2, "x", 1L, "four"));
    Lookuper lookuper = table.newLookup().lookupBy("a", "b").createLookuper();
    assertEquals(List.of("[1, x, 1, two]", "[1, x, 2, one]"), Rows.lookupAll(table, lookuper, row(1, "x")));
    assertEquals(List.of("[1, xy, 1, three]"), Rows.lookupAll(table, lookuper, row(1, "xy")));
    assertEquals(List.of(), Rows.lookupAll(table, lookuper, row(3, "x")));
    assertEquals("[2, x, 1, four]", Rows.lookup(table, 2, "x", 1L));
    assertThrows(Exception.class, () -> table.newLookup().lookupBy("a").createLookuper());
    assertThrows(Exception.class, () -> table.newLookup().lookupBy("a", "v").createLookuper());
  }

  @Test
  void prefixLookupInPartitions() throws Exception {
    Schema schema = Schema.newBuilder().column("a", INT()).column("p", STRING()).column("b", BIGINT()).column("v", STRING())
        .primaryKey("a", "p", "b").build();
    Table table = create("prefix_partitions", describe(schema).partitionedBy("p").distributedBy(2, "a"));
    Rows.upsert(table, row(1, "x", 1L, "one"), row(1, "x", 2L, "two"), row(1, "y", 1L, "three"));
    Lookuper lookuper = table.newLookup().lookupBy("a", "p").createLookuper();
    assertEquals(List.of("[1, x, 1, one]", "[1, x, 2, two]"), Rows.lookupAll(table, lookuper, row(1, "x")));
    assertEquals(List.of(), Rows.lookupAll(table, lookuper, row(1, "z")));
  }

  /** Rows of a limit scan come in the order of keys, so they are few and the same each time. */
  @Test
  void limitScans() throws Exception {
    Table table = create("limit", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, IntStream.rangeClosed(1, 20).mapToObj(i -> row(21 - i, "v", 0L)).toArray(GenericRow[]::new));
    Rows.delete(table, row(2, null, null));
    RowType type = table.getTableInfo().getRowType();
    assertEquals(List.of("[1, v, 0]", "[3, v, 0]", "[4, v, 0]"),
        Rows.batch(table.newScan().limit(3).createBatchScanner(bucket(table, 0)), type));
    assertEquals(19, Rows.batch(table.newScan().limit(100).createBatchScanner(bucket(table, 0)), type).size());
    assertEquals(List.of("[0, 1]"), Rows.batch(table.newScan().limit(1).project(new int[] {2, 0})
        .createBatchScanner(bucket(table, 0)), ROW(FIELD("w", BIGINT()), FIELD("k", INT()))));
  }

  @Test
  void projectionOfTheChangelog() throws Exception {
    Table table = create("projection", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, row(1, "a", 1L), row(1, "b", 2L));
    try (LogScanner scanner = table.newScan().project(List.of("w", "k")).createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      assertEquals(List.of("0:+I[1, 1]", "1:-U[1, 1]", "2:+U[2, 1]"),
          Rows.poll(scanner, 3, ROW(FIELD("w", BIGINT()), FIELD("k", INT()))));
    }
  }

  @Test
  void insertIfAbsentLookup() throws Exception {
    Table table = create("insert_if_absent", describe(SCHEMA).distributedBy(1));
    Rows.upsert(table, row(1, "a", 1L));
    Lookuper lookuper = table.newLookup().enableInsertIfNotExists().createLookuper();
    assertEquals("[1, a, 1]", Rows.lookup(table, lookuper, row(1)));
    assertEquals("[2, null, null]", Rows.lookup(table, lookuper, row(2)));
    assertEquals("[2, null, null]", Rows.lookup(table, lookuper, row(2)));
    assertEquals(List.of("+I[1, a, 1]", "+I[2, null, null]"), Rows.changes(table));
  }

  @Test
  void insertIfAbsentInAPartition() throws Exception {
    Schema schema = Schema.newBuilder().column("v", STRING()).column("k", BIGINT()).column("year", INT()).column("region", STRING())
        .primaryKey("k", "year", "region").build();
    Table table = create("insert_partitioned", describe(schema).distributedBy(1).partitionedBy("region", "year"));
    get(admin.createPartition(path("insert_partitioned"), new PartitionSpec(Map.of("region", "eu", "year", "2026")), false));
    Lookuper lookuper = table.newLookup().enableInsertIfNotExists().createLookuper();
    if (OURS) {
      assertEquals("[null, -5, 2026, eu]", Rows.lookup(table, lookuper, row(-5L, 2026, "eu")));
      assertEquals("[null, -5, 2026, eu]", Rows.lookup(table, -5L, 2026, "eu"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "first_row", "aggregation"})
  void insertIfAbsentFillsAutoIncrementAndAsksTheEngine(String engine) throws Exception {
    Schema schema = Schema.newBuilder().column("k", STRING()).column("d", DECIMAL(30, 2)).column("v", INT()).column("id", BIGINT())
        .primaryKey("k", "d").enableAutoIncrement("id").build();
    var descriptor = describe(engine.equals("first_row") ? SCHEMA : schema).distributedBy(1);
    Table table = create("insert_" + engine, engine.isEmpty() ? descriptor : descriptor.property("table.merge-engine", engine));
    Lookuper lookuper = table.newLookup().enableInsertIfNotExists().createLookuper();
    if (engine.equals("first_row")) {
      assertRefused(OURS ? Errors.INVALID_TARGET_COLUMN : Errors.UNKNOWN_SERVER_ERROR, () -> lookuper.lookup(row(2)));
      return;
    }
    Decimal half = Decimal.fromBigDecimal(new BigDecimal("-0.50"), 30, 2);
    assertEquals("[x, -0.50, null, 1]", Rows.lookup(table, lookuper, row("x", half)));
    Rows.upsert(table.newUpsert().partialUpdate("k", "d", "v").createWriter(), row("x", half, 7, null));
    assertEquals("[x, -0.50, 7, 1]", Rows.lookup(table, lookuper, row("x", half)));
    assertEquals(List.of("+I[x, -0.50, null, 1]", "-U[x, -0.50, null, 1]", "+U[x, -0.50, 7, 1]"), Rows.changes(table));
  }

  @Test
  void autoIncrement() throws Exception {
    Schema schema = Schema.newBuilder().column("k", STRING()).column("id", BIGINT()).column("v", STRING())
        .primaryKey("k").enableAutoIncrement("id").build();
    var descriptor = describe(schema).distributedBy(1);
    Table table = create("auto", descriptor);
    UpsertWriter writer = table.newUpsert().partialUpdate("k", "v").createWriter();
    Rows.upsert(writer, row("a", null, "x"), row("b", null, "y"), row("a", null, "z"));
    assertEquals("[a, 1, z]", Rows.lookup(table, "a"));
    assertEquals("[b, 2, y]", Rows.lookup(table, "b"));
    assertThrows(Exception.class, () -> table.newUpsert().createWriter());
  }
}
