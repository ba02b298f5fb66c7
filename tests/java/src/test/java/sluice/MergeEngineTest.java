package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static sluice.Rows.row;

import java.util.List;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.AggFunctions;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.rpc.protocol.MergeMode;
import org.apache.fluss.types.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** first_row, versioned, aggregation. */
class MergeEngineTest extends ServerTest {
  private static final Schema SCHEMA =
      Schema.newBuilder().column("k", INT()).column("v", STRING()).column("w", BIGINT()).primaryKey("k").build();

  @Test
  void firstRow() throws Exception {
    Table table = create("first_row", describe(SCHEMA).distributedBy(1).property("table.merge-engine", "first_row"));
    Rows.upsert(table, row(1, "a", 1L), row(1, "b", 2L), row(2, "c", 3L));
    Rows.delete(table, row(1, null, null));
    assertEquals("[1, a, 1]", Rows.lookup(table, 1));
    Rows.upsert(table, row(3, "d", 4L));
    assertEquals(List.of("+I[1, a, 1]", "+I[2, c, 3]", "+I[3, d, 4]"), Rows.changes(table));
    assertNotEquals(Errors.NONE, refusal(
        () -> table.newUpsert().partialUpdate("k", "v").createWriter().upsert(row(1, "x", null))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"INT", "BIGINT", "TIMESTAMP"})
  void versioned(String kind) throws Exception {
    DataType type = kind.equals("INT") ? INT() : kind.equals("BIGINT") ? BIGINT() : TIMESTAMP(6);
    Schema schema = Schema.newBuilder().column("k", INT()).column("v", STRING()).column("ver", type).primaryKey("k").build();
    Table table = create("versioned_" + kind, describe(schema).distributedBy(1).property("table.merge-engine", "versioned")
        .property("table.merge-engine.versioned.ver-column", "ver"));
    Rows.upsert(table, row(1, "two", version(kind, 2)), row(1, "one", version(kind, 1)), row(1, "two again", version(kind, 2)),
        row(1, "none", null), row(1, "three", version(kind, 3)), row(2, "null first", null), row(2, "then one", version(kind, 1)));
    assertEquals("three", Rows.lookup(table, 1).split(", ")[1]);
    List<String> values = Rows.changes(table).stream().map(change -> change.substring(0, 2) + change.split(", ")[1]).toList();
    assertEquals(List.of("+Itwo", "-Utwo", "+Utwo again", "-Utwo again", "+Uthree", "+Inull first", "-Unull first",
        "+Uthen one"), values);
  }

  private static Object version(String kind, int number) {
    return switch (kind) {
      case "INT" -> number;
      case "BIGINT" -> (long) number;
      default -> TimestampNtz.fromMillis(number - 2);
    };
  }

  @Test
  void tablesThatCannotBe() {
    for (String column : List.of("v", "nowhere")) {
      assertRefused(Errors.INVALID_CONFIG_EXCEPTION, () -> admin.createTable(path("bad"), describe(SCHEMA).distributedBy(1)
          .property("table.merge-engine", "versioned").property("table.merge-engine.versioned.ver-column", column).build(), false));
    }
    assertRefused(Errors.INVALID_CONFIG_EXCEPTION, () -> admin.createTable(path("bad"), describe(SCHEMA).distributedBy(1)
        .property("table.merge-engine", "first_row").property("table.delete.behavior", "allow").build(), false));
    Schema summed = Schema.newBuilder().column("k", INT()).column("n", INT(), AggFunctions.SUM()).primaryKey("k").build();
    assertRefused(OURS ? Errors.INVALID_CONFIG_EXCEPTION : Errors.NONE,
        () -> admin.createTable(path("bad"), describe(summed).distributedBy(1).build(), false));
  }

  @Test
  void aggregation() throws Exception {
    Schema schema = Schema.newBuilder().column("k", INT())
        .column("sum", BIGINT(), AggFunctions.SUM()).column("product", DOUBLE(), AggFunctions.PRODUCT())
        .column("max", INT(), AggFunctions.MAX()).column("min", STRING(), AggFunctions.MIN())
        .column("last", STRING(), AggFunctions.LAST_VALUE()).column("last_set", STRING(), AggFunctions.LAST_VALUE_IGNORE_NULLS())
        .column("first", STRING(), AggFunctions.FIRST_VALUE()).column("first_set", STRING(), AggFunctions.FIRST_VALUE_IGNORE_NULLS())
        .column("list", STRING(), AggFunctions.LISTAGG("|")).column("and", BOOLEAN(), AggFunctions.BOOL_AND())
        .column("or", BOOLEAN(), AggFunctions.BOOL_OR()).column("plain", STRING())
        .primaryKey("k").build();
    var descriptor = describe(schema).distributedBy(1).property("table.merge-engine", "aggregation");
    if (AGGREGATION_MISSING) {
      assertRefused(Errors.INVALID_CONFIG_EXCEPTION, () -> admin.createTable(path("agg"), descriptor.build(), false));
      return;
    }
    Table table = create("agg", descriptor);
    Rows.upsert(table, row(1, 5L, 2d, 3, "m", "a", "a", null, null, "x", true, false, "p"),
        row(1, null, 4d, 9, "c", null, null, "f", "g", "y", false, false, null),
        row(1, 7L, null, 1, "z", "b", "b", "h", "i", null, true, null, "q"));
    assertEquals("[1, 12, 8.0, 9, c, b, b, f, g, x|y, false, false, q]", Rows.lookup(table, 1));
    Rows.upsert(table.newUpsert().mergeMode(MergeMode.OVERWRITE).createWriter(),
        row(1, 1L, 1d, 1, "1", "1", "1", "1", "1", "1", true, true, "1"));
    assertEquals("[1, 1, 1.0, 1, 1, 1, 1, 1, 1, 1, true, true, 1]", Rows.lookup(table, 1));
  }

  /** What our server does not have yet. */
  static final boolean AGGREGATION_MISSING = OURS;
}
