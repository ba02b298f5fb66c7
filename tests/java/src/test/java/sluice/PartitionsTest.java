package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.metadata.PartitionInfo;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Partitions by hand, on demand and by time; of one and several columns and of every type. */
class PartitionsTest extends ServerTest {
  private static final Schema LOG =
      Schema.newBuilder().column("a", INT()).column("day", STRING()).column("region", STRING()).build();
  private static final Schema KEYED = Schema.newBuilder().column("k", INT()).column("day", STRING()).column("v", STRING())
      .primaryKey("k", "day").build();

  private static TableDescriptor.Builder byDay(Schema schema) {
    return describe(schema).partitionedBy("day").distributedBy(2);
  }

  private static PartitionSpec spec(String... pairs) {
    Map<String, String> values = new TreeMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      values.put(pairs[i], pairs[i + 1]);
    }
    return new PartitionSpec(values);
  }

  private static List<String> names(String table) throws Exception {
    return get(admin.listPartitionInfos(path(table))).stream().map(PartitionInfo::getPartitionName).sorted().toList();
  }

  private static long id(String table, String name) throws Exception {
    return get(admin.listPartitionInfos(path(table))).stream().filter(p -> p.getPartitionName().equals(name)).findFirst()
        .orElseThrow().getPartitionId();
  }

  @Test
  void byHand() throws Exception {
    Table table = create("by_hand", byDay(LOG));
    assertEquals(List.of("day"), table.getTableInfo().getPartitionKeys());
    assertEquals(List.of(), names("by_hand"));
    get(admin.createPartition(path("by_hand"), spec("day", "mon"), false));
    get(admin.createPartition(path("by_hand"), spec("day", "tue"), false));
    assertRefused(Errors.PARTITION_ALREADY_EXISTS, () -> admin.createPartition(path("by_hand"), spec("day", "tue"), false));
    get(admin.createPartition(path("by_hand"), spec("day", "tue"), true));
    assertEquals(List.of("mon", "tue"), names("by_hand"));
    assertEquals(spec("day", "mon"),
        get(admin.listPartitionInfos(path("by_hand"), spec("day", "mon"))).get(0).getPartitionSpec());

    long first = id("by_hand", "mon");
    Rows.append(table, row(1, "mon", "x"));
    get(admin.dropPartition(path("by_hand"), spec("day", "mon"), false));
    assertRefused(Errors.PARTITION_NOT_EXISTS, () -> admin.dropPartition(path("by_hand"), spec("day", "mon"), false));
    get(admin.dropPartition(path("by_hand"), spec("day", "mon"), true));
    get(admin.createPartition(path("by_hand"), spec("day", "mon"), false));
    assertNotEquals(first, id("by_hand", "mon"));
    assertEquals(List.of(), Rows.changes(table, id("by_hand", "mon"), "mon"));
  }

  @Test
  void specsThatDoNotFit() throws Exception {
    create("fit", byDay(LOG));
    assertRefused(Errors.PARTITION_SPEC_INVALID_EXCEPTION,
        () -> admin.createPartition(path("fit"), spec("region", "x"), false));
    assertRefused(Errors.PARTITION_SPEC_INVALID_EXCEPTION,
        () -> admin.createPartition(path("fit"), spec("day", "mon", "region", "x"), false));
    for (String value : List.of("with space", "with$dollar", "", "__own")) {
      assertRefused(Errors.PARTITION_SPEC_INVALID_EXCEPTION,
          () -> admin.createPartition(path("fit"), spec("day", value), false));
    }
    assertRefused(OURS ? Errors.PARTITION_SPEC_INVALID_EXCEPTION : Errors.NONE,
        () -> admin.listPartitionInfos(path("fit"), spec("region", "x")));
    assertEquals(List.of(), names("fit"));

    create("plain", describe(LOG).distributedBy(1));
    assertRefused(Errors.TABLE_NOT_PARTITIONED_EXCEPTION,
        () -> admin.createPartition(path("plain"), spec("day", "mon"), false));
    assertRefused(Errors.TABLE_NOT_PARTITIONED_EXCEPTION, () -> admin.dropPartition(path("plain"), spec("day", "mon"), false));
    assertRefused(Errors.TABLE_NOT_PARTITIONED_EXCEPTION, () -> admin.listPartitionInfos(path("plain")));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.createPartition(path("missing"), spec("day", "mon"), false));
  }

  @Test
  void severalColumns() throws Exception {
    Table table = create("several", describe(LOG).partitionedBy("region", "day").distributedBy(1));
    get(admin.createPartition(path("several"), spec("day", "mon", "region", "eu"), false));
    Rows.append(table, row(1, "mon", "eu"), row(2, "tue", "eu"), row(3, "mon", "us"));
    assertEquals(List.of("eu$mon", "eu$tue", "us$mon"), names("several"));
    assertEquals(2, get(admin.listPartitionInfos(path("several"), spec("region", "eu"))).size());
    assertEquals(2, get(admin.listPartitionInfos(path("several"), spec("day", "mon"))).size());
    assertEquals(0, get(admin.listPartitionInfos(path("several"), spec("day", "sun"))).size());
    assertEquals(List.of("+A[2, tue, eu]"), Rows.changes(table, id("several", "eu$tue"), "eu$tue"));
  }

  @Test
  void onDemandByWriters() throws Exception {
    Table table = create("on_demand", byDay(KEYED));
    Rows.upsert(table, row(1, "mon", "a"), row(1, "tue", "b"), row(1, "mon", "c"));
    assertEquals(List.of("mon", "tue"), names("on_demand"));
    assertEquals("[1, mon, c]", Rows.lookup(table, 1, "mon"));
    assertEquals("[1, tue, b]", Rows.lookup(table, 1, "tue"));
    assertEquals("none", Rows.lookup(table, 2, "tue"));
    assertEquals("none", Rows.lookup(table, 1, "sun"));
    assertEquals(List.of("+I[1, mon, a]", "-U[1, mon, a]", "+U[1, mon, c]"),
        Rows.changes(table, id("on_demand", "mon"), "mon"));
    assertEquals(1, offsets(table, "tue", new OffsetSpec.LatestSpec()).values().stream().mapToLong(n -> n).sum());
    assertRefused(Errors.PARTITION_NOT_EXISTS, () -> offsets(table, "sun", new OffsetSpec.LatestSpec()));
    try (var plain = open("client.writer.dynamic-create-partition.enabled", "false")) {
      GenericRow sunday = row(1, "sun", "d");
      assertRefused(Errors.PARTITION_NOT_EXISTS,
          () -> plain.getTable(path("on_demand")).newUpsert().createWriter().upsert(sunday));
    }
  }

  @Test
  void oneScannerOfManyPartitions() throws Exception {
    Table table = create("scanner", describe(LOG).partitionedBy("day").distributedBy(1));
    Rows.append(table, row(1, "mon", "x"), row(2, "tue", "x"), row(3, "wed", "x"));
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      for (String day : List.of("mon", "tue", "wed")) {
        scanner.subscribeFromBeginning(id("scanner", day), 0);
      }
      List<String> found = Rows.poll(scanner, 3, table.getTableInfo().getRowType()).stream().sorted().toList();
      assertEquals(List.of("0:+A[1, mon, x]", "0:+A[2, tue, x]", "0:+A[3, wed, x]"), found);
      scanner.unsubscribe(id("scanner", "mon"), 0);
      Rows.append(table, row(4, "mon", "x"), row(5, "tue", "x"));
      assertEquals(List.of("1:+A[5, tue, x]"), Rows.poll(scanner, 1, table.getTableInfo().getRowType()));
    }
  }

  static List<Samples> partitionTypes() {
    return Samples.scalars().stream().filter(samples -> !samples.partitions().isEmpty()).toList();
  }

  /** The writer makes the partition by the text of the value; the server must agree that it is one. */
  @ParameterizedTest
  @MethodSource("partitionTypes")
  void columnsOfEveryType(Samples samples) throws Exception {
    String name = "type_" + samples.toString().replaceAll("\\W+", "_");
    Schema schema = Schema.newBuilder().column("v", INT()).column("p", samples.type()).build();
    Table table = create(name, describe(schema).partitionedBy("p").distributedBy(1));
    GenericRow[] rows = new GenericRow[samples.partitions().size()];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = row(i, samples.partitions().get(i));
    }
    Rows.append(table, rows);
    List<String> found = new ArrayList<>();
    for (PartitionInfo partition : get(admin.listPartitionInfos(path(name)))) {
      found.addAll(Rows.changes(table, partition.getPartitionId(), partition.getPartitionName()));
    }
    RowType type = table.getTableInfo().getRowType();
    assertEquals(Stream.of(rows).map(row -> "+A" + Rows.text(type, row)).sorted().toList(), found.stream().sorted().toList());
  }

  @ParameterizedTest
  @CsvSource({
      "BOOLEAN, true, yes", "INTEGER, -5, five", "BIGINT, 9223372036854775807, 9223372036854775808", "DATE, 2026-11-30, 20261130",
      "TIME, 10-11-12_013, 10:11:12", "DOUBLE, 1_5, x", "FLOAT, -Inf, Infinity_", "TIMESTAMP, 2026-11-30-10-11-12_5, now",
      "BINARY, 00ff, 0x", "TINYINT, 127, 128"})
  void valuesByHandOfEveryType(String kind, String good, String bad) throws Exception {
    var type = switch (kind) {
      case "BOOLEAN" -> BOOLEAN();
      case "INTEGER" -> INT();
      case "BIGINT" -> BIGINT();
      case "DATE" -> DATE();
      case "TIME" -> TIME(3);
      case "DOUBLE" -> DOUBLE();
      case "FLOAT" -> FLOAT();
      case "TIMESTAMP" -> TIMESTAMP(3);
      case "BINARY" -> BINARY(2);
      default -> TINYINT();
    };
    String name = "hand_" + kind;
    create(name, describe(Schema.newBuilder().column("v", INT()).column("p", type).build()).partitionedBy("p").distributedBy(1));
    get(admin.createPartition(path(name), spec("p", good), false));
    assertEquals(List.of(good), names(name));
    // The Java server takes nearly any text, though no value of the column has it.
    Errors expected = OURS || kind.equals("TIME") ? Errors.PARTITION_SPEC_INVALID_EXCEPTION : Errors.NONE;
    assertRefused(expected, () -> admin.createPartition(path(name), spec("p", bad), false));
  }

  @ParameterizedTest
  @CsvSource({"DECIMAL", "ARRAY"})
  void columnsThatCannotPartition(String kind) {
    var type = kind.equals("DECIMAL") ? DECIMAL(5, 2) : ARRAY(INT());
    Schema schema = Schema.newBuilder().column("v", INT()).column("p", type).build();
    assertRefused(Errors.INVALID_TABLE_EXCEPTION,
        () -> admin.createTable(path("cannot"), describe(schema).partitionedBy("p").distributedBy(1).build(), false));
  }

  @Test
  void tablesThatCannotBe() {
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> admin.createTable(path("t"),
        describe(LOG).partitionedBy("nowhere").distributedBy(1).build(), false));
    Schema partitionNotInKey = Schema.newBuilder().column("k", INT()).column("day", STRING()).primaryKey("k").build();
    assertRefused(Errors.UNKNOWN_SERVER_ERROR, () -> admin.createTable(path("t"),
        describe(partitionNotInKey).partitionedBy("day").distributedBy(1).build(), false));
  }

  @ParameterizedTest
  @CsvSource({"YEAR, yyyy", "QUARTER, yyyyQ", "MONTH, yyyyMM", "DAY, yyyyMMdd", "HOUR, yyyyMMddHH"})
  void byTime(String unit, String format) throws Exception {
    TableDescriptor.Builder descriptor = byDay(LOG).property("table.auto-partition.enabled", "true")
        .property("table.auto-partition.time-unit", unit).property("table.auto-partition.time-zone", "Asia/Shanghai");
    create("by_" + unit, descriptor);
    String now = ZonedDateTime.now(ZoneId.of("Asia/Shanghai")).format(DateTimeFormatter.ofPattern(format));
    for (int i = 0; i < 100 && names("by_" + unit).isEmpty(); i++) {
      Thread.sleep(100);
    }
    assertTrue(names("by_" + unit).contains(now), names("by_" + unit) + " without " + now);
  }
}
