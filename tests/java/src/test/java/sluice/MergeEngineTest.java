package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static sluice.Rows.row;

import java.util.List;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.metadata.AggFunctions;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.rpc.protocol.MergeMode;
import org.apache.fluss.types.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** first_row, versioned; {@link AggregationTest} has the third. */
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

  /** Without old rows: an upsert of a whole row need not look whether there is one. */
  @ParameterizedTest
  @ValueSource(strings = {"", "first_row", "versioned"})
  void walImage(String engine) throws Exception {
    var descriptor = describe(SCHEMA).distributedBy(1).property("table.changelog.image", "wal");
    if (!engine.isEmpty()) {
      descriptor.property("table.merge-engine", engine);
    }
    if (engine.equals("versioned")) {
      descriptor.property("table.merge-engine.versioned.ver-column", "w");
    }
    Table table = create("wal_" + engine, descriptor);
    Rows.upsert(table, row(1, "a", 5L), row(1, "b", 6L), row(1, "c", 4L), row(2, "d", 1L));
    Rows.delete(table, row(2, null, null), row(3, null, null));
    if (engine.isEmpty()) {
      Rows.upsert(table.newUpsert().partialUpdate("k", "v").createWriter(), row(1, "x", null), row(4, "y", null));
    } else {
      UpsertWriter over = table.newUpsert().mergeMode(MergeMode.OVERWRITE).createWriter();
      Rows.upsert(over, row(1, "over", 0L));
      Rows.await(over::flush, List.of(over.delete(row(2, null, null))));
    }
    assertEquals(switch (engine) {
      case "first_row" -> List.of("+I[1, a, 5]", "+I[2, d, 1]", "+U[1, over, 0]", "-D[2, d, 1]");
      case "versioned" -> List.of("+I[1, a, 5]", "+U[1, b, 6]", "+I[2, d, 1]", "+U[1, over, 0]", "-D[2, d, 1]");
      default -> List.of("+U[1, a, 5]", "+U[1, b, 6]", "+U[1, c, 4]", "+U[2, d, 1]", "-D[2, d, 1]", "+U[1, x, 4]", "+I[4, y, null]");
    }, Rows.changes(table));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "first_row", "versioned"})
  void deletesThatAreDisabledOrIgnored(String engine) throws Exception {
    for (String behavior : List.of("ignore", "disable")) {
      var descriptor = describe(SCHEMA).distributedBy(1).property("table.delete.behavior", behavior);
      if (!engine.isEmpty()) {
        descriptor.property("table.merge-engine", engine);
      }
      if (engine.equals("versioned")) {
        descriptor.property("table.merge-engine.versioned.ver-column", "w");
      }
      Table table = create("deletes_" + engine + behavior, descriptor);
      Rows.upsert(table, row(1, "a", 5L));
      assertRefused(behavior.equals("disable") ? Errors.DELETION_DISABLED_EXCEPTION : Errors.NONE, () -> {
        Rows.delete(table, row(1, null, null));
        return null;
      });
      assertEquals("[1, a, 5]", Rows.lookup(table, 1));
      if (engine.isEmpty()) {
        continue;
      }
      // Who takes back what it wrote may delete.
      UpsertWriter over = table.newUpsert().mergeMode(MergeMode.OVERWRITE).createWriter();
      Rows.await(over::flush, List.of(over.delete(row(1, null, null))));
      assertEquals(List.of("+I[1, a, 5]", "-D[1, a, 5]"), Rows.changes(table));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"first_row", "versioned"})
  void enginesThatTakeNoPartialUpdate(String engine) throws Exception {
    var descriptor = describe(SCHEMA).distributedBy(1).property("table.merge-engine", engine);
    if (engine.equals("versioned")) {
      descriptor.property("table.merge-engine.versioned.ver-column", "w");
    }
    Table table = create("partial_" + engine, descriptor);
    Rows.upsert(table, row(1, "a", 5L));
    assertRefused(OURS ? Errors.INVALID_TARGET_COLUMN : Errors.UNKNOWN_SERVER_ERROR, () -> {
      Rows.upsert(table.newUpsert().partialUpdate("k", "v").createWriter(), row(1, "b", null));
      return null;
    });
    // Past the engine they may be partial.
    Rows.upsert(table.newUpsert().partialUpdate("k", "v").mergeMode(MergeMode.OVERWRITE).createWriter(), row(1, "b", null));
    assertEquals("[1, b, 5]", Rows.lookup(table, 1));
    assertEquals(List.of("+I[1, a, 5]", "-U[1, a, 5]", "+U[1, b, 5]"), Rows.changes(table));
  }
}
