package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static sluice.Rows.row;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every logical type through each format: log rows, stored rows, changelogs, keys. */
class TypesTest extends ServerTest {
  private static final List<Samples> ALL =
      Stream.concat(Samples.scalars().stream(), Samples.nested().stream()).toList();

  /** An `id` column first, then one column of each type. */
  static Schema.Builder everyType(List<Samples> types) {
    Schema.Builder schema = Schema.newBuilder().column("id", INT());
    for (int i = 0; i < types.size(); i++) {
      schema.column("c" + i, types.get(i).type());
    }
    return schema;
  }

  /** As many rows as the longest list of samples, then one of NULLs. */
  static GenericRow[] rows(List<Samples> types) {
    int count = types.stream().mapToInt(t -> t.values().size()).max().orElseThrow();
    GenericRow[] rows = new GenericRow[count + 1];
    for (int r = 0; r <= count; r++) {
      rows[r] = new GenericRow(types.size() + 1);
      rows[r].setField(0, r);
      for (int c = 0; c < types.size() && r < count; c++) {
        List<Object> values = types.get(c).values();
        rows[r].setField(c + 1, values.get(r % values.size()));
      }
    }
    return rows;
  }

  private static List<String> expected(String change, RowType type, GenericRow... rows) {
    return Stream.of(rows).map(row -> change + Rows.text(type, row)).toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "lz4_frame", "zstd"})
  void arrowLogKeepsEveryType(String codec) throws Exception {
    Table table = create("arrow_" + codec, describe(everyType(ALL).build()).distributedBy(1)
        .property("table.log.arrow.compression.type", codec));
    Rows.append(table, rows(ALL));
    assertEquals(expected("+A", table.getTableInfo().getRowType(), rows(ALL)), Rows.changes(table));
  }

  @ParameterizedTest
  @ValueSource(strings = {"INDEXED", "COMPACTED"})
  void rowLogKeepsEveryType(String format) throws Exception {
    Table table = create(format, describe(everyType(ALL).build()).distributedBy(1).property("table.log.format", format));
    Rows.append(table, rows(ALL));
    assertEquals(expected("+A", table.getTableInfo().getRowType(), rows(ALL)), Rows.changes(table));
  }

  @ParameterizedTest
  @ValueSource(strings = {"COMPACTED", "INDEXED"})
  void storedRowsAndTheirChangesKeepEveryType(String format) throws Exception {
    Table table = create("kv_" + format, describe(everyType(ALL).primaryKey("id").build()).distributedBy(1)
        .property("table.kv.format", format));
    RowType type = table.getTableInfo().getRowType();
    GenericRow[] rows = rows(ALL);
    Rows.upsert(table, rows);
    for (GenericRow row : rows) {
      assertEquals(Rows.text(type, row), Rows.lookup(table, row.getField(0)));
    }
    assertEquals(expected("+I", type, rows), Rows.changes(table));

    GenericRow last = rows[rows.length - 1];
    GenericRow changed = rows[0];
    changed.setField(0, last.getField(0));
    Rows.upsert(table, changed);
    List<String> changes = Rows.changes(table);
    assertEquals(List.of("-U" + Rows.text(type, last), "+U" + Rows.text(type, changed)),
        changes.subList(changes.size() - 2, changes.size()));
  }

  static List<Samples> scalars() {
    return Samples.scalars();
  }

  /** Rows are found by keys of each type, which the client hashes to one of five buckets. */
  @ParameterizedTest
  @MethodSource("scalars")
  void keysOfEveryScalarType(Samples samples) throws Exception {
    Schema schema = Schema.newBuilder().column("v", INT()).column("k", samples.type()).primaryKey("k").build();
    Table table = create("key_" + samples.toString().replaceAll("\\W+", "_"), describe(schema).distributedBy(5));
    List<GenericRow> rows = new ArrayList<>();
    for (Object key : samples.values()) {
      rows.add(row(rows.size(), key));
    }
    Rows.upsert(table, rows.toArray(GenericRow[]::new));
    RowType type = table.getTableInfo().getRowType();
    for (GenericRow row : rows) {
      assertEquals(Rows.text(type, row), Rows.lookup(table, row.getField(1)));
    }
    List<String> changes = new ArrayList<>(Rows.changes(table));
    changes.sort(null);
    List<String> expected = new ArrayList<>(expected("+I", type, rows.toArray(GenericRow[]::new)));
    expected.sort(null);
    assertEquals(expected, changes);
  }

  /** Finer than a millisecond before 1970: stored rows keep it, though the clients cannot read it from Arrow. */
  @ParameterizedTest
  @ValueSource(ints = {4, 6, 7, 9})
  void fineTimesBefore1970(int precision) throws Exception {
    Schema schema = Schema.newBuilder().column("k", TIMESTAMP(precision)).column("v", TIMESTAMP_LTZ(precision))
        .primaryKey("k").build();
    Table table = create("before_" + precision, describe(schema).distributedBy(3));
    Object time = Samples.timestamp(precision, "1969-12-31T23:59:59.987654321");
    Object zoned = Samples.zoned(precision, "0001-01-01T00:00:00.123456789Z");
    if (OURS && precision > 6) { // Arrow's nanoseconds begin in 1677.
      Object early = zoned;
      assertRefused(Errors.INVALID_TABLE_EXCEPTION, () -> {
        Rows.upsert(table, row(time, early));
        return null;
      });
      zoned = Samples.zoned(precision, "1700-01-01T00:00:00.123456789Z");
    }
    Rows.upsert(table, row(time, zoned));
    assertEquals("[" + time + ", " + zoned + "]", Rows.lookup(table, time));
  }

  @ParameterizedTest
  @MethodSource("scalars")
  void bucketKeysOfEveryScalarType(Samples samples) throws Exception {
    Schema schema = Schema.newBuilder().column("v", INT()).column("k", samples.type()).build();
    Table table = create("bucket_" + samples.toString().replaceAll("\\W+", "_"), describe(schema).distributedBy(5, "k"));
    List<GenericRow> rows = new ArrayList<>(List.of(row(100, null)));
    for (Object key : samples.values()) {
      rows.add(row(rows.size(), key));
    }
    Rows.append(table, rows.toArray(GenericRow[]::new));
    assertEquals(rows.size(), Rows.changes(table).size());
  }

  @Test
  void keysOfSeveralColumns() throws Exception {
    Schema schema = Schema.newBuilder().column("a", STRING()).column("v", STRING()).column("b", BIGINT())
        .column("c", TIMESTAMP_LTZ(6)).primaryKey("c", "a", "b").build();
    Table table = create("several", describe(schema).distributedBy(3));
    Object time = org.apache.fluss.row.TimestampLtz.fromEpochMicros(-1);
    Rows.upsert(table, row("a", "first", 1L, time), row("b", "second", 1L, time), row("a", "third", 2L, time));
    assertEquals("[a, third, 2, " + time + "]", Rows.lookup(table, time, "a", 2L));
    assertEquals("none", Rows.lookup(table, time, "c", 2L));
  }

  @Test
  void nullKeysAreRefused() throws Exception {
    Schema schema = Schema.newBuilder().column("k", STRING()).column("v", INT()).primaryKey("k").build();
    Table table = create("null_key", describe(schema).distributedBy(1));
    assertEquals(false, table.getTableInfo().getRowType().getTypeAt(0).isNullable());
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> table.newUpsert().createWriter().upsert(row(null, 1)));
    assertEquals("none", Rows.lookup(table, "a"));
  }

  @ParameterizedTest
  @CsvSource({"ARRAY", "MAP", "ROW"})
  void nestedKeysAreRefused(String kind) {
    var type = kind.equals("ARRAY") ? ARRAY(INT()) : kind.equals("MAP") ? MAP(INT(), INT()) : ROW(FIELD("f", INT()));
    Schema primary = Schema.newBuilder().column("k", type).column("v", INT()).primaryKey("k").build();
    assertRefused(Errors.INVALID_TABLE_EXCEPTION,
        () -> admin.createTable(path("pk_" + kind), describe(primary).distributedBy(1).build(), false));
    Schema plain = Schema.newBuilder().column("k", type).column("v", INT()).build();
    assertRefused(Errors.INVALID_TABLE_EXCEPTION,
        () -> admin.createTable(path("bk_" + kind), describe(plain).distributedBy(1, "k").build(), false));
  }
}
