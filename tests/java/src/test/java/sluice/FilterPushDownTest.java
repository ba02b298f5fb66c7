package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.predicate.Predicate;
import org.apache.fluss.predicate.PredicateBuilder;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.TimestampLtz;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;

/** Statistics that client 1.0.0 writes with its batches, and scans that leave batches out by them. */
class FilterPushDownTest extends ServerTest {
  private static final Schema SCHEMA = Schema.newBuilder().column("i", INT()).column("l", BIGINT()).column("s", STRING())
      .column("d", DOUBLE()).column("m", DECIMAL(10, 2)).column("w", DECIMAL(30, 2)).column("day", DATE()).column("time", TIME(3))
      .column("ms", TIMESTAMP(3)).column("ns", TIMESTAMP(9)).column("z", TIMESTAMP_LTZ(6)).column("b", BOOLEAN())
      .column("c", CHAR(3)).column("bytes", BYTES()).build();
  private static final RowType TYPE = SCHEMA.getRowType();
  private static final PredicateBuilder IS = new PredicateBuilder(TYPE);
  private static final int BATCHES = 8;
  private static final int ROWS = 10;

  /** Row n of batch k has the number 100 k + n in every column. */
  private static GenericRow numbered(int number) {
    return Rows.row(number, (long) number, String.format("s%04d", number), (double) number,
        Decimal.fromBigDecimal(new BigDecimal(number), 10, 2), Decimal.fromBigDecimal(new BigDecimal(number), 30, 2), number, number,
        TimestampNtz.fromMillis(number), TimestampNtz.fromMillis(number, 5), TimestampLtz.fromEpochMillis(number, 1000),
        number < 300, "abc", new byte[] {1});
  }

  private static Object value(int column, int number) {
    return numbered(number).getField(column);
  }

  private Table filled(String name, String columns) throws Exception {
    Table table = create(name, describe(SCHEMA).distributedBy(1).property("table.statistics.columns", columns));
    // Rows that are appended together go as one batch.
    try (var patient = open("client.writer.batch-timeout", "20s")) {
      Table written = patient.getTable(path(name));
      for (int batch = 0; batch < BATCHES; batch++) {
        List<GenericRow> rows = new ArrayList<>();
        for (int n = 0; n < ROWS; n++) {
          rows.add(numbered(100 * batch + n));
        }
        Rows.append(written, rows.toArray(GenericRow[]::new));
      }
    }
    return table;
  }

  /** A scan gives these numbers in the first column, and no more. */
  private void assertScanned(List<Integer> expected, Table table, Predicate filter, String name) throws Exception {
    List<Integer> found = new ArrayList<>();
    try (LogScanner scanner = table.newScan().filter(filter).createLogScanner()) {
      scanner.subscribe(0, 0L);
      long end = System.nanoTime() + Rows.PATIENCE.toNanos();
      do {
        scanner.poll(Duration.ofMillis(200)).forEach(record -> found.add(record.getRow().getInt(0)));
      } while (found.size() < expected.size() && System.nanoTime() < end);
      scanner.poll(Duration.ofMillis(100)).forEach(record -> found.add(record.getRow().getInt(0)));
    }
    assertEquals(expected, found, name);
  }

  private void assertScanned(List<Integer> expected, Table table, Predicate filter) throws Exception {
    assertScanned(expected, table, filter, String.valueOf(filter));
  }

  private static List<Integer> batches(int... wanted) {
    List<Integer> numbers = new ArrayList<>();
    for (int batch : wanted) {
      for (int n = 0; n < ROWS; n++) {
        numbers.add(100 * batch + n);
      }
    }
    return numbers;
  }

  @Test
  void batchesAreLeftOutByEveryTypeOfColumn() throws Exception {
    Table table = filled("every_type", "*");
    assertScanned(batches(0, 1, 2, 3, 4, 5, 6, 7), table, null);
    for (int column = 0; column < 11; column++) {
      String name = SCHEMA.getColumnNames().get(column);
      assertScanned(batches(4), table, IS.equal(column, value(column, 405)), name);
      assertScanned(batches(6, 7), table, IS.greaterThan(column, value(column, 555)), name);
      assertScanned(batches(0), table, IS.lessOrEqual(column, value(column, 0)), name);
      assertScanned(batches(1, 5), table, IS.in(column, List.of(value(column, 103), value(column, 505), value(column, 77))), name);
      assertScanned(batches(0, 1, 2, 3, 4, 5, 6, 7), table, IS.isNotNull(column), name);
      assertScanned(List.of(), table, IS.isNull(column), name);
    }
    assertScanned(batches(0, 1, 2), table, IS.equal(11, true));
    assertScanned(batches(2), table, IS.startsWith(2, BinaryString.fromString("s02")));
    assertScanned(batches(1, 7), table,
        PredicateBuilder.or(IS.equal(0, 100), PredicateBuilder.and(IS.greaterThan(1, 700L), IS.lessThan(3, 705.0))));
    assertScanned(batches(0, 1, 2, 3, 4, 5, 6, 7), table, IS.equal(12, BinaryString.fromString("abc")));
    assertScanned(batches(0, 1, 2, 3, 4, 5, 6, 7), table, IS.isNotNull(13));
  }

  @Test
  void aScanGoesOnBehindWhatWasLeftOut() throws Exception {
    Table table = filled("goes_on", "i,s");
    try (LogScanner scanner = table.newScan().filter(IS.equal(0, 1_000_005)).createLogScanner()) {
      scanner.subscribe(0, 0L);
      assertEquals(0, scanner.poll(Duration.ofMillis(500)).count());
      Rows.append(table, numbered(9), numbered(9));
      Rows.append(table, numbered(1_000_005));
      assertEquals(List.of("82:+A" + Rows.text(TYPE, numbered(1_000_005))), Rows.poll(scanner, 1, TYPE));
    }
  }

  @Test
  void projectionAndFilterWorkTogether() throws Exception {
    Table table = filled("projected", "*");
    List<Integer> found = new ArrayList<>();
    try (LogScanner scanner = table.newScan().project(new int[] {2, 0}).filter(IS.greaterOrEqual(0, 700)).createLogScanner()) {
      scanner.subscribe(0, 0L);
      for (long end = System.nanoTime() + Rows.PATIENCE.toNanos(); found.size() < ROWS && System.nanoTime() < end;) {
        for (ScanRecord record : scanner.poll(Duration.ofMillis(300))) {
          found.add(record.getRow().getInt(1));
        }
      }
    }
    assertEquals(batches(7), found);
  }

  /** A batch without statistics is sent; what a batch of an older schema lacks is not known to it. */
  @Test
  void columnsThatWereAddedLater() throws Exception {
    Schema narrow = Schema.newBuilder().column("i", INT()).build();
    Table old = create("added", describe(narrow).distributedBy(1).property("table.statistics.columns", "*"));
    Rows.append(old, Rows.row(1), Rows.row(2));
    get(admin.alterTable(path("added"), List.of(TableChange.addColumn("x", INT(), null, TableChange.ColumnPosition.last())), false));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("added"));
      Rows.append(wide, Rows.row(3, 33));
      PredicateBuilder is = new PredicateBuilder(wide.getTableInfo().getRowType());
      assertScanned(List.of(3), wide, is.greaterThan(0, 2));
      assertScanned(List.of(1, 2), wide, is.lessThan(0, 3));
      assertScanned(OURS ? List.of(3) : List.of(1, 2, 3), wide, is.equal(1, 33));
      assertScanned(List.of(1, 2), wide, is.isNull(1));
    }
  }

  @Test
  void optionsThatCannotBe() throws Exception {
    Schema keyed = Schema.newBuilder().column("k", INT()).column("b", BYTES()).primaryKey("k").build();
    Schema plain = Schema.newBuilder().column("k", INT()).column("b", BYTES()).build();
    for (String columns : List.of("", " , ", "gone", "k,b")) {
      assertRefused(Errors.INVALID_CONFIG_EXCEPTION, () -> admin.createTable(path("bad"),
          describe(plain).property("table.statistics.columns", columns).build(), false));
    }
    assertRefused(Errors.INVALID_CONFIG_EXCEPTION,
        () -> admin.createTable(path("bad"), describe(keyed).property("table.statistics.columns", "*").build(), false));
    create("altered", describe(plain));
    get(admin.alterTable(path("altered"), List.of(TableChange.set("table.statistics.columns", "k")), false));
    get(admin.alterTable(path("altered"), List.of(TableChange.set("table.statistics.columns", "*")), false));
    assertEquals(OURS ? Errors.INVALID_ALTER_TABLE_EXCEPTION : Errors.NONE, refusal(
        () -> admin.alterTable(path("altered"), List.of(TableChange.reset("table.statistics.columns")), false)));
  }
}
