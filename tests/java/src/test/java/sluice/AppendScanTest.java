package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.scanner.log.ScanRecords;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.GenericArray;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Append tables: log scans, projection, offsets, limit scans. */
class AppendScanTest extends ServerTest {
  private static final Schema SCHEMA = Schema.newBuilder().column("a", INT()).column("b", STRING())
      .column("c", ARRAY(INT())).column("d", ROW(FIELD("x", BIGINT()), FIELD("y", STRING()))).build();

  private static GenericRow numbered(int i) {
    return row(i, "b" + i, GenericArray.of(i, null), row((long) i, "y" + i));
  }

  /** A table of one bucket with `count` rows in one or a few batches. */
  private static Table filled(String name, int count) throws Exception {
    Table table = create(name, describe(SCHEMA).distributedBy(1));
    Rows.append(table, IntStream.range(0, count).mapToObj(AppendScanTest::numbered).toArray(GenericRow[]::new));
    return table;
  }

  @Test
  void offsetsCountRowsAndTimesDoNotGoBack() throws Exception {
    long before = System.currentTimeMillis();
    Table table = filled("offsets", 10);
    Rows.append(table, numbered(10));
    List<ScanRecord> records = new ArrayList<>();
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      while (records.size() < 11) {
        scanner.poll(Duration.ofSeconds(1)).forEach(records::add);
      }
    }
    for (int i = 0; i < 11; i++) {
      assertEquals(i, records.get(i).logOffset());
      assertTrue(records.get(i).timestamp() >= before);
      assertTrue(i == 0 || records.get(i).timestamp() >= records.get(i - 1).timestamp());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 7, 19})
  void subscribeInTheMiddle(long offset) throws Exception {
    Table table = filled("middle_" + offset, 20);
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribe(0, offset);
      List<String> found = Rows.poll(scanner, (int) (20 - offset), table.getTableInfo().getRowType());
      assertEquals(20 - offset, found.size());
      assertTrue(found.get(0).startsWith(offset + ":+A[" + offset + ","), found.get(0));
    }
  }

  @Test
  void tailingSeesWhatComes() throws Exception {
    Table table = filled("tail", 3);
    RowType type = table.getTableInfo().getRowType();
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribe(0, 3);
      assertTrue(scanner.poll(Duration.ofMillis(300)).isEmpty());
      Rows.append(table, numbered(3));
      assertEquals(List.of("3:+A" + Rows.text(type, numbered(3))), Rows.poll(scanner, 1, type));
      Rows.append(table, numbered(4), numbered(5));
      assertEquals(2, Rows.poll(scanner, 2, type).size());
    }
  }

  @Test
  void offsetsThatAreNotThere() throws Exception {
    Table table = filled("range", 3);
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribe(0, 100);
      assertThrows(Exception.class, () -> {
        for (int i = 0; i < 20; i++) {
          scanner.poll(Duration.ofSeconds(1));
        }
      });
    }
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      assertThrows(IllegalStateException.class, () -> scanner.poll(Duration.ofSeconds(1)));
    }
  }

  @Test
  void projectionByPositionAndName() throws Exception {
    Table table = filled("projection", 5);
    try (LogScanner scanner = table.newScan().project(new int[] {3, 0}).createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      RowType type = ROW(FIELD("d", SCHEMA.getRowType().getTypeAt(3)), FIELD("a", INT()));
      assertEquals("4:+A[[4, y4], 4]", Rows.poll(scanner, 5, type).get(4));
    }
    try (LogScanner scanner = table.newScan().project(List.of("b")).createLogScanner()) {
      scanner.subscribe(0, 2);
      assertEquals(List.of("2:+A[b2]", "3:+A[b3]", "4:+A[b4]"), Rows.poll(scanner, 3, ROW(FIELD("b", STRING()))));
    }
    try (LogScanner scanner = table.newScan().project(new int[] {2, 1, 0}).createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      RowType type = ROW(FIELD("c", ARRAY(INT())), FIELD("b", STRING()), FIELD("a", INT()));
      assertEquals("0:+A[[0, null], b0, 0]", Rows.poll(scanner, 5, type).get(0));
    }
    assertThrows(IllegalArgumentException.class, () -> table.newScan().project(List.of("nowhere")).createLogScanner());
  }

  /** A projection of a column that came later. */
  @Test
  void projectionAcrossSchemas() throws Exception {
    Table old = filled("projected_schemas", 2);
    get(admin.alterTable(path("projected_schemas"), List.of(org.apache.fluss.metadata.TableChange.addColumn("e", STRING(),
        null, org.apache.fluss.metadata.TableChange.ColumnPosition.last())), false));
    try (var fresh = open()) {
      Table table = fresh.getTable(path("projected_schemas"));
      Rows.append(table, row(2, "b2", null, null, "e2"));
      try (LogScanner scanner = table.newScan().project(new int[] {4, 0}).createLogScanner()) {
        scanner.subscribe(0, 2);  // Both servers refuse to project a column out of batches that lack it (34).
        assertEquals(List.of("2:+A[e2, 2]"), Rows.poll(scanner, 1, ROW(FIELD("e", STRING()), FIELD("a", INT()))));
      }
    }
    assertEquals(3, Rows.changes(old).size());
  }

  @Test
  void listOffsets() throws Exception {
    Table table = create("list_offsets", describe(SCHEMA).distributedBy(3, "a"));
    assertEquals(Map.of(0, 0L, 1, 0L, 2, 0L), offsets(table, new OffsetSpec.EarliestSpec()));
    assertEquals(Map.of(0, 0L, 1, 0L, 2, 0L), offsets(table, new OffsetSpec.LatestSpec()));
    Rows.append(table, IntStream.range(0, 30).mapToObj(AppendScanTest::numbered).toArray(GenericRow[]::new));
    assertEquals(Map.of(0, 0L, 1, 0L, 2, 0L), offsets(table, new OffsetSpec.EarliestSpec()));
    assertEquals(30, offsets(table, new OffsetSpec.LatestSpec()).values().stream().mapToLong(n -> n).sum());
  }

  @Test
  void offsetsByTime() throws Exception {
    Table table = create("by_time", describe(SCHEMA).distributedBy(1));
    long start = System.currentTimeMillis();
    Thread.sleep(20);
    Rows.append(table, numbered(0), numbered(1));
    Thread.sleep(20);
    long between = System.currentTimeMillis();
    Thread.sleep(20);
    Rows.append(table, numbered(2));
    Thread.sleep(20);
    long after = System.currentTimeMillis();
    Thread.sleep(20);
    assertEquals(Map.of(0, 0L), offsets(table, new OffsetSpec.TimestampSpec(start)));
    assertEquals(Map.of(0, 2L), offsets(table, new OffsetSpec.TimestampSpec(between)));
    assertEquals(Map.of(0, 3L), offsets(table, new OffsetSpec.TimestampSpec(after)));
    assertRefused(Errors.INVALID_TIMESTAMP_EXCEPTION,
        () -> offsets(table, new OffsetSpec.TimestampSpec(System.currentTimeMillis() + 3_600_000)));
  }

  @Test
  void limitScansGiveTheLastRows() throws Exception {
    Table table = filled("limit", 20);
    RowType type = table.getTableInfo().getRowType();
    assertEquals(List.of(Rows.text(type, numbered(17)), Rows.text(type, numbered(18)), Rows.text(type, numbered(19))),
        Rows.batch(table.newScan().limit(3).createBatchScanner(bucket(table, 0)), type));
    assertEquals(20, Rows.batch(table.newScan().limit(1000).createBatchScanner(bucket(table, 0)), type).size());
    assertEquals(List.of("[b18, 18]", "[b19, 19]"),
        Rows.batch(table.newScan().limit(2).project(List.of("b", "a")).createBatchScanner(bucket(table, 0)),
            ROW(FIELD("b", STRING()), FIELD("a", INT()))));
    Table empty = create("limit_empty", describe(SCHEMA).distributedBy(1));
    assertEquals(List.of(), Rows.batch(empty.newScan().limit(3).createBatchScanner(bucket(empty, 0)), type));
  }

  @Test
  void bucketsByKeyAndSubscriptions() throws Exception {
    Table table = create("buckets", describe(SCHEMA).distributedBy(4, "b"));
    Rows.append(table, IntStream.range(0, 40).mapToObj(i -> numbered(i % 10)).toArray(GenericRow[]::new));
    List<String> found = new ArrayList<>();
    for (int bucket = 0; bucket < 4; bucket++) {
      try (LogScanner scanner = table.newScan().createLogScanner()) {
        scanner.subscribeFromBeginning(bucket);
        long end = offsets(table, new OffsetSpec.LatestSpec()).get(bucket);
        int from = bucket;
        Rows.until(scanner, end, table.getTableInfo().getRowType()).stream().distinct().forEach(row -> found.add(from + row));
      }
    }
    assertEquals(10, found.size(), "a key is in one bucket only: " + found);
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      buckets(table).forEach(scanner::subscribeFromBeginning);
      assertEquals(40, Rows.poll(scanner, 40, table.getTableInfo().getRowType()).size());
      buckets(table).forEach(scanner::unsubscribe);
      scanner.subscribeFromBeginning(0);
      for (ScanRecords records = scanner.poll(Duration.ofSeconds(1)); !records.isEmpty();
          records = scanner.poll(Duration.ofMillis(300))) {
        assertEquals(List.of(bucket(table, 0)), List.copyOf(records.buckets()));
      }
    }
  }

  @Test
  void largeRowsAndSmallFetches() throws Exception {
    Table table = create("large", describe(Schema.newBuilder().column("s", STRING()).build()).distributedBy(1));
    GenericRow[] rows = IntStream.range(0, 12).mapToObj(i -> row(("" + i).repeat(400_000))).toArray(GenericRow[]::new);
    Rows.append(table, rows);
    try (var small = open("client.scanner.log.fetch.max-bytes", "64kb", "client.scanner.log.fetch.max-bytes-for-bucket",
        "16kb", "client.scanner.log.max-poll-records", "2")) {
      List<String> found = Rows.changes(small.getTable(path("large")));
      RowType type = table.getTableInfo().getRowType();
      assertEquals(List.of(rows).stream().map(row -> "+A" + Rows.text(type, row)).toList(), found);
    }
  }

  @Test
  void tableStatistics() throws Exception {
    filled("statistics", 25);
    assertEquals(25, get(admin.getTableStats(path("statistics"))).getRowCount());
    Table keyed = create("statistics_keyed", describe(Schema.newBuilder().column("k", INT()).column("v", INT())
        .primaryKey("k").build()).distributedBy(2));
    Rows.upsert(keyed, row(1, 1), row(2, 2), row(1, 3));
    Rows.delete(keyed, row(2, 2));
    assertEquals(1, get(admin.getTableStats(path("statistics_keyed"))).getRowCount());
  }

  @Test
  void scansOfTheWrongKind() throws Exception {
    Table table = filled("wrong_kind", 1);
    assertThrows(Exception.class, () -> table.newUpsert());
    assertThrows(Exception.class, () -> table.newLookup().createLookuper());
    assertThrows(Exception.class, () -> table.newScan().limit(1).createLogScanner());
    assertThrows(Exception.class, () -> table.newScan().createBatchScanner(bucket(table, 0)));
  }
}
