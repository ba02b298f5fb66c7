package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static sluice.Rows.row;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.metadata.AggFunction;
import org.apache.fluss.metadata.AggFunctionType;
import org.apache.fluss.metadata.AggFunctions;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.row.TimestampLtz;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.rpc.protocol.MergeMode;
import org.apache.fluss.types.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.roaringbitmap.RoaringBitmap;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/** The aggregation merge engine: each function, and how puts, deletes and changelogs go with it. */
class AggregationTest extends ServerTest {
  private static TableDescriptor.Builder aggregated(Schema schema) {
    return describe(schema).distributedBy(1).property("table.merge-engine", "aggregation");
  }

  @ParameterizedTest
  @ValueSource(strings = {"compacted", "indexed"})
  void everyFunctionFolds(String format) throws Exception {
    Schema schema = Schema.newBuilder().column("k", INT())
        .column("sum", BIGINT(), AggFunctions.SUM()).column("product", DOUBLE(), AggFunctions.PRODUCT())
        .column("max", INT(), AggFunctions.MAX()).column("min", STRING(), AggFunctions.MIN())
        .column("last", STRING(), AggFunctions.LAST_VALUE()).column("last_set", STRING(), AggFunctions.LAST_VALUE_IGNORE_NULLS())
        .column("first", STRING(), AggFunctions.FIRST_VALUE()).column("first_set", STRING(), AggFunctions.FIRST_VALUE_IGNORE_NULLS())
        .column("list", STRING(), AggFunctions.LISTAGG("|")).column("list2", STRING(), AggFunctions.STRING_AGG())
        .column("and", BOOLEAN(), AggFunctions.BOOL_AND())
        .column("or", BOOLEAN(), AggFunctions.BOOL_OR()).column("plain", STRING())
        .primaryKey("k").build();
    Table table = create("agg_" + format, aggregated(schema).property("table.kv.format", format));
    Rows.upsert(table, row(1, 5L, 2d, 3, "m", "a", "a", null, null, "x", "x", true, false, "p"),
        row(1, null, 4d, 9, "c", null, null, "f", "g", "y", null, false, null, null),
        row(1, 7L, null, 1, "z", "b", "b", "h", "i", null, "z", true, null, "q"));
    assertEquals("[1, 12, 8.0, 9, c, b, b, f, g, x|y, x,z, false, false, q]", Rows.lookup(table, 1));
    String first = "[1, 5, 2.0, 3, m, a, a, null, null, x, x, true, false, p]";
    String second = "[1, 5, 8.0, 9, c, null, a, f, g, x|y, x, false, false, p]";
    assertEquals(List.of("+I" + first, "-U" + first, "+U" + second, "-U" + second,
        "+U[1, 12, 8.0, 9, c, b, b, f, g, x|y, x,z, false, false, q]"), Rows.changes(table));
    assertEquals(AggFunctions.LISTAGG("|"), table.getTableInfo().getSchema().getAggFunction("list").orElseThrow());
  }

  /** One column: how it is folded, what is put into it, what comes out. */
  private record Case(DataType type, AggFunction function, Object expected, Object... values) {}

  /** All cases as columns of one table. */
  private static void assertFolded(String name, Case... cases) throws Exception {
    Schema.Builder schema = Schema.newBuilder().column("k", INT());
    for (int i = 0; i < cases.length; i++) {
      schema.column("c" + i, cases[i].type, cases[i].function);
    }
    Table table = create(name, aggregated(schema.primaryKey("k").build()));
    int count = Stream.of(cases).mapToInt(one -> one.values.length).max().orElseThrow();
    for (int r = 0; r < count; r++) {
      Object[] values = new Object[cases.length + 1];
      values[0] = 1;
      for (int i = 0; i < cases.length; i++) {
        values[i + 1] = r < cases[i].values.length ? cases[i].values[r] : null;
      }
      Rows.upsert(table, row(values));
    }
    assertEquals("[1, " + Stream.of(cases).map(one -> String.valueOf(one.expected)).collect(Collectors.joining(", ")) + "]",
        Rows.lookup(table, 1));
  }

  private static Decimal decimal(String text, int precision, int scale) {
    return Decimal.fromBigDecimal(new BigDecimal(text), precision, scale);
  }

  @Test
  void sumsAndProductsOfEveryType() throws Exception {
    AggFunction sum = AggFunctions.SUM();
    AggFunction product = AggFunctions.PRODUCT();
    String nines = "9".repeat(38);
    assertFolded("numbers",
        new Case(TINYINT(), sum, "-128", (byte) 127, (byte) 1),
        new Case(SMALLINT(), product, "24464", (short) 300, (short) 300),
        new Case(INT(), sum, "-2147483648", Integer.MAX_VALUE, 1),
        new Case(BIGINT(), sum, "-9223372036854775808", Long.MAX_VALUE, 1L),
        new Case(BIGINT(), product, "-42", -7L, 6L),
        new Case(FLOAT(), sum, 0.1f + 0.2f, 0.1f, 0.2f),
        new Case(DOUBLE(), product, "0.7200000000000001", 0.9, 0.8),
        new Case(DECIMAL(5, 2), sum, "123.00", decimal("123.45", 5, 2), decimal("-0.45", 5, 2)),
        new Case(DECIMAL(5, 2), product, "0.03", decimal("0.05", 5, 2), decimal("0.50", 5, 2)),
        new Case(DECIMAL(5, 2), product, "-0.03", decimal("-0.05", 5, 2), decimal("0.50", 5, 2)),
        new Case(DECIMAL(5, 2), product, null, decimal("999.99", 5, 2), decimal("3.00", 5, 2)),
        new Case(DECIMAL(38, 0), sum, null, decimal(nines, 38, 0), decimal("1", 38, 0)),
        new Case(DECIMAL(38, 0), sum, "9".repeat(37) + "8", decimal(nines, 38, 0), decimal("-1", 38, 0)),
        new Case(DECIMAL(38, 0), product, null, decimal(nines, 38, 0), decimal(nines, 38, 0)));
    assertRefused(OURS ? Errors.NONE : Errors.UNKNOWN_SERVER_ERROR, () -> {
      assertFolded("too_large", new Case(DECIMAL(5, 2), sum, null, decimal("999.99", 5, 2), decimal("0.01", 5, 2)));
      return null;
    });
  }

  @Test
  void greatestAndLeastOfEveryType() throws Exception {
    Object[][] samples = {
        {CHAR(3), "abc", "abd"}, {STRING(), "zebra", "été"}, {TINYINT(), (byte) -1, (byte) 1}, {SMALLINT(), (short) -1, (short) 1},
        {INT(), -1, 1}, {BIGINT(), -1L, 1L}, {FLOAT(), 1f, Float.NaN}, {DOUBLE(), -0.0, 0.0},
        {DECIMAL(5, 2), decimal("-1.00", 5, 2), decimal("0.01", 5, 2)}, {DECIMAL(20, 2), decimal("-1.00", 20, 2), decimal("0.01", 20, 2)},
        {DATE(), -1, 1}, {TIME(3), 1, 2}, {TIMESTAMP(3), TimestampNtz.fromMillis(-1), TimestampNtz.fromMillis(1)},
        {TIMESTAMP(9), TimestampNtz.fromMillis(1, 1), TimestampNtz.fromMillis(1, 2)},
        {TIMESTAMP_LTZ(6), TimestampLtz.fromEpochMillis(1, 1000), TimestampLtz.fromEpochMillis(2, 0)}};
    List<Case> cases = new ArrayList<>();
    for (Object[] sample : samples) {
      cases.add(new Case((DataType) sample[0], AggFunctions.MAX(), sample[2], sample[1], sample[2], sample[1]));
      cases.add(new Case((DataType) sample[0], AggFunctions.MIN(), sample[1], sample[2], sample[1], sample[2]));
    }
    assertFolded("ordered", cases.toArray(Case[]::new));
  }

  private static final Schema PAIR = Schema.newBuilder().column("k", INT()).column("n", BIGINT(), AggFunctions.SUM())
      .column("s", STRING(), AggFunctions.LISTAGG()).primaryKey("k").build();

  @Test
  void partialUpdatesFoldTheirColumnsAlone() throws Exception {
    Table table = create("partial", aggregated(PAIR).property("table.delete.behavior", "allow"));
    Rows.upsert(table, row(1, 5L, "a"));
    UpsertWriter counts = table.newUpsert().partialUpdate("k", "n").createWriter();
    Rows.upsert(counts, row(1, 2L, null), row(2, 3L, null));
    Rows.upsert(table.newUpsert().partialUpdate("k", "s").createWriter(), row(1, null, "b"));
    assertEquals("[1, 7, a,b]", Rows.lookup(table, 1));
    Rows.await(counts::flush, List.of(counts.delete(row(1, null, null)), counts.delete(row(2, null, null))));
    assertEquals(List.of("+I[1, 5, a]", "-U[1, 5, a]", "+U[1, 7, a]", "+I[2, 3, null]", "-U[1, 7, a]", "+U[1, 7, a,b]",
        "-U[1, 7, a,b]", "+U[1, null, a,b]", "-D[2, 3, null]"), Rows.changes(table));
  }

  @Test
  void deletesAreTheTablesToAllow() throws Exception {
    Table silent = create("silent", aggregated(PAIR));
    Rows.upsert(silent, row(1, 5L, "a"));
    Rows.delete(silent, row(1, null, null));
    assertEquals("[1, 5, a]", Rows.lookup(silent, 1));
    Table allowing = create("allowing", aggregated(PAIR).property("table.delete.behavior", "allow"));
    Rows.upsert(allowing, row(1, 5L, "a"));
    Rows.delete(allowing, row(1, null, null));
    Rows.upsert(allowing, row(1, 1L, "b"));
    assertEquals(List.of("+I[1, 5, a]", "-D[1, 5, a]", "+I[1, 1, b]"), Rows.changes(allowing));
    Table refusing = create("refusing", aggregated(PAIR).property("table.delete.behavior", "disable"));
    assertRefused(Errors.DELETION_DISABLED_EXCEPTION, () -> {
      Rows.delete(refusing, row(1, null, null));
      return null;
    });
  }

  /** What a sink does that takes back what it wrote. */
  @Test
  void overwritingPassesTheFunctionsAndTheDeleteBehavior() throws Exception {
    Table table = create("overwritten", aggregated(PAIR));
    Rows.upsert(table, row(1, 5L, "a"), row(1, 6L, "b"), row(2, 7L, "c"));
    UpsertWriter writer = table.newUpsert().mergeMode(MergeMode.OVERWRITE).createWriter();
    Rows.upsert(writer, row(1, 5L, "a"));
    Rows.await(writer::flush, List.of(writer.delete(row(2, null, null))));
    Rows.upsert(table.newUpsert().partialUpdate("k", "n").mergeMode(MergeMode.OVERWRITE).createWriter(), row(1, 1L, null));
    Rows.upsert(table, row(1, 1L, "z"));
    assertEquals(List.of("+I[1, 5, a]", "-U[1, 5, a]", "+U[1, 11, a,b]", "+I[2, 7, c]", "-U[1, 11, a,b]", "+U[1, 5, a]",
        "-D[2, 7, c]", "-U[1, 5, a]", "+U[1, 1, a]", "-U[1, 1, a]", "+U[1, 2, a,z]"), Rows.changes(table));
  }

  @Test
  void addedColumnsTakeTheLastValue() throws Exception {
    Table table = create("widened", aggregated(PAIR));
    Rows.upsert(table, row(1, 5L, "a"));
    get(admin.alterTable(path("widened"), List.of(TableChange.addColumn("x", INT(), null, TableChange.ColumnPosition.last())), false));
    try (var fresh = open()) {
      Table wide = fresh.getTable(path("widened"));
      Rows.upsert(table, row(1, 1L, null));
      Rows.upsert(wide, row(1, 1L, "b", 7), row(1, null, null, null));
      assertEquals("[1, 7, a,b, 7]", Rows.lookup(wide, 1));
    }
  }

  private static byte[] bitmap32(int... values) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    RoaringBitmap bitmap = RoaringBitmap.bitmapOf(values);
    bitmap.runOptimize();
    bitmap.serialize(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  private static byte[] bitmap64(long... values) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Roaring64Bitmap bitmap = Roaring64Bitmap.bitmapOf(values);
    bitmap.runOptimize();
    bitmap.serialize(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }

  @Test
  void bitmapsAreUnited() throws Exception {
    Schema schema = Schema.newBuilder().column("k", INT()).column("a", BYTES(), AggFunctions.RBM32())
        .column("b", BYTES(), AggFunctions.RBM64()).primaryKey("k").build();
    Table table = create("bitmaps", aggregated(schema));
    int[] few = {1, 2, -1, 70_000};
    int[] run = new int[5000];
    Arrays.setAll(run, i -> i + 10);
    int[] spread = new int[9000];
    Arrays.setAll(spread, i -> 7 * i);
    // Branches of each size below the root, and keys that share their first bytes.
    long[] tree = new long[400];
    Arrays.setAll(tree, i -> ((long) (i % 60) << 56) + ((long) i << 16) + i);
    long[] deep = new long[300];
    Arrays.setAll(deep, i -> ((long) i << 40) + 5);
    Rows.upsert(table, row(1, bitmap32(few), bitmap64(10, 20)), row(1, bitmap32(run), bitmap64(tree)),
        row(1, null, bitmap64()), row(1, bitmap32(spread), bitmap64(deep)), row(1, bitmap32(), null));
    InternalRow found = get(table.newLookup().createLookuper().lookup(row(1))).getSingletonRow();
    RoaringBitmap expected = RoaringBitmap.bitmapOf(few);
    expected.or(RoaringBitmap.bitmapOf(run));
    expected.or(RoaringBitmap.bitmapOf(spread));
    RoaringBitmap united = new RoaringBitmap();
    united.deserialize(new DataInputStream(new ByteArrayInputStream(found.getBytes(1))));
    assertEquals(expected, united);
    Roaring64Bitmap expected64 = Roaring64Bitmap.bitmapOf(10, 20);
    expected64.or(Roaring64Bitmap.bitmapOf(tree));
    expected64.or(Roaring64Bitmap.bitmapOf(deep));
    Roaring64Bitmap united64 = new Roaring64Bitmap();
    united64.deserialize(new DataInputStream(new ByteArrayInputStream(found.getBytes(2))));
    assertEquals(expected64, united64);
    expected64.forEach(value -> assertEquals(true, united64.contains(value)));
    united64.add(1L << 62);  // It can go on growing.
    assertEquals(expected64.getLongCardinality() + 1, united64.getLongCardinality());
    assertRefused(OURS ? Errors.INVALID_TABLE_EXCEPTION : Errors.UNKNOWN_SERVER_ERROR, () -> {
      Rows.upsert(table, row(1, new byte[] {1, 2, 3}, null));
      return null;
    });
  }

  @Test
  void tablesThatCannotBe() throws Exception {
    record Bad(DataType type, AggFunctionType function, Map<String, String> parameters) {}
    List<Bad> refused = List.of(new Bad(STRING(), AggFunctionType.SUM, Map.of()), new Bad(BOOLEAN(), AggFunctionType.MAX, Map.of()),
        new Bad(BYTES(), AggFunctionType.MIN, Map.of()), new Bad(INT(), AggFunctionType.BOOL_AND, Map.of()),
        new Bad(INT(), AggFunctionType.LISTAGG, Map.of()), new Bad(BINARY(4), AggFunctionType.RBM32, Map.of()),
        new Bad(INT(), AggFunctionType.SUM, Map.of("delimiter", ",")), new Bad(STRING(), AggFunctionType.LISTAGG, Map.of("delimiter", "")),
        new Bad(STRING(), AggFunctionType.LISTAGG, Map.of("separator", ",")));
    for (Bad one : refused) {
      assertRefused(Errors.INVALID_CONFIG_EXCEPTION, () -> admin.createTable(path("bad"), aggregated(Schema.newBuilder()
          .column("k", INT()).column("v", one.type, AggFunctions.of(one.function, one.parameters)).primaryKey("k").build()).build(), false));
    }
    assertRefused(Errors.INVALID_CONFIG_EXCEPTION,
        () -> admin.createTable(path("bad"), aggregated(PAIR).property("table.changelog.image", "wal").build(), false));
    Schema list = Schema.newBuilder().column("k", INT()).column("v", CHAR(3), AggFunctions.LISTAGG()).primaryKey("k").build();
    assertRefused(OURS ? Errors.INVALID_CONFIG_EXCEPTION : Errors.NONE, () -> admin.createTable(path("list"), aggregated(list).build(), false));
    Schema counted = Schema.newBuilder().column("k", INT()).column("n", BIGINT(), AggFunctions.SUM()).column("id", BIGINT())
        .primaryKey("k").enableAutoIncrement("id").build();
    Table table = create("counted", aggregated(counted));
    UpsertWriter writer = table.newUpsert().partialUpdate("k", "n").createWriter();
    Rows.upsert(writer, row(7, 1L, null), row(7, 2L, null));
    assertEquals("[7, 3, 1]", Rows.lookup(table, 7));
  }
}
