package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static sluice.Rows.row;

import java.math.BigDecimal;
import java.util.List;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericArray;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Logs and changelogs whose batches hold rows and not columns. */
class LogFormatTest extends ServerTest {
  private static final Schema WIDE = Schema.newBuilder().column("k", INT()).column("s", STRING()).column("d", DECIMAL(30, 2))
      .column("t", TIMESTAMP(6)).column("a", ARRAY(STRING())).column("b", BYTES()).build();
  private static final Schema KEYED =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).column("w", BIGINT()).primaryKey("k").build();

  @ParameterizedTest
  @ValueSource(strings = {"indexed", "compacted"})
  void appendedRowsComeBack(String format) throws Exception {
    Table table = create("log_" + format, describe(WIDE).distributedBy(1).property("table.log.format", format));
    Decimal decimal = Decimal.fromBigDecimal(new BigDecimal("-12345678901234567890.12"), 30, 2);
    Rows.append(table, row(1, "one", decimal, TimestampNtz.fromMillis(-1, 1000), new GenericArray(new Object[] {
        org.apache.fluss.row.BinaryString.fromString("x"), null}), new byte[] {1, 0}), row(null, null, null, null, null, null));
    Rows.append(table, row(3, "", null, null, new GenericArray(new Object[] {}), new byte[] {}));
    assertEquals(List.of("+A[1, one, -12345678901234567890.12, 1969-12-31T23:59:59.999001, [x, null], 0100]",
        "+A[null, null, null, null, null, null]", "+A[3, , null, null, [], ]"), Rows.changes(table));
    assertEquals(2, Rows.batch(table.newScan().limit(2).createBatchScanner(bucket(table, 0)), table.getTableInfo().getRowType()).size());
  }

  /** Not of COMPACTED logs: client 0.9.1 reads none with two schemas. */
  @Test
  void rowsOfAnOlderSchemaAreRead() throws Exception {
    Schema schema = Schema.newBuilder().column("k", INT()).column("v", STRING()).build();
    Table old = create("widened", describe(schema).distributedBy(1).property("table.log.format", "indexed"));
    Rows.append(old, row(1, "one"));
    get(admin.alterTable(path("widened"),
        List.of(TableChange.addColumn("x", INT(), null, TableChange.ColumnPosition.last())), false));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("widened"));
      Rows.append(wide, row(2, "two", 22));
      assertEquals(List.of("+A[1, one]", "+A[2, two]"), Rows.changes(old));
    }
  }

  @ParameterizedTest
  @CsvSource({"compacted, compacted", "indexed, indexed", "compacted, indexed", "arrow, indexed"})
  void changelogsSayWhatHappened(String log, String kv) throws Exception {
    Table table = create("keyed_" + log + "_" + kv, describe(KEYED).distributedBy(1).property("table.log.format", log)
        .property("table.kv.format", kv));
    if (!OURS && log.equals("indexed")) {
      assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> {
        Rows.upsert(table, row(1, "a", 1L));
        return null;
      });
      return;
    }
    Rows.upsert(table, row(1, "a", 1L), row(2, null, null), row(1, "b", 2L));
    Rows.upsert(table.newUpsert().partialUpdate("k", "w").createWriter(), row(2, null, 3L));
    Rows.delete(table, row(9, null, null), row(1, null, null));
    assertEquals("[2, null, 3]", Rows.lookup(table, 2));
    assertEquals(List.of("+I[1, a, 1]", "+I[2, null, null]", "-U[1, a, 1]", "+U[1, b, 2]", "-U[2, null, null]", "+U[2, null, 3]",
        "-D[1, b, 2]"), Rows.changes(table));
  }

  @Test
  void tablesThatCannotBe() throws Exception {
    assertRefused(Errors.INVALID_CONFIG_EXCEPTION,
        () -> admin.createTable(path("bad"), describe(KEYED).property("table.log.format", "indexed").build(), false));
  }

  @Test
  void columnsAreChosen() throws Exception {
    Table table = create("whole", describe(WIDE).distributedBy(1).property("table.log.format", "indexed"));
    Rows.append(table, row(1, "one", null, null, null, null));
    try (var scanner = table.newScan().project(new int[] {1}).createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      assertEquals(List.of("0:+A[one]"), Rows.poll(scanner, 1, table.getTableInfo().getRowType().project(new int[] {1})));
    }
  }
}
