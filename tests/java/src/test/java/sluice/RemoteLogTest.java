package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Scans of logs whose older segments lie in remote storage only, from where the client downloads them. The server runs
 * with small segments and a short {@code remote.log.task-interval-duration}; the property {@code data} is its data folder.
 */
@EnabledIfSystemProperty(named = "data", matches = ".+")
class RemoteLogTest extends ServerTest {
  private static final Schema SCHEMA = Schema.newBuilder().column("a", INT()).column("b", STRING()).build();
  private static final int ROWS = 3000;
  private static final long PATIENCE_MS = 120_000;

  private static GenericRow numbered(int i) {
    return row(i, ("b" + i + "-").repeat(20));
  }

  /** Small batches, so that segments have many. */
  private static void append(Table table, int from, int to) throws Exception {
    for (int i = from; i < to; i += 100) {
      Rows.append(table, IntStream.range(i, i + 100).mapToObj(RemoteLogTest::numbered).toArray(GenericRow[]::new));
    }
  }

  private static Table filled(String name) throws Exception {
    Table table = create(name, describe(SCHEMA).distributedBy(1).property("table.log.arrow.compression.type", "NONE"));
    append(table, 0, ROWS);
    return table;
  }

  /** Until the server has let go of the first segment. */
  private static void waitUntilMoved(Table table) throws Exception {
    String folder = table.getTableInfo().getTablePath().getTableName() + "-" + table.getTableInfo().getTableId();
    Path first = Path.of(System.getProperty("data"), database, folder, "log-0", "00000000000000000000.log");
    long deadline = System.currentTimeMillis() + PATIENCE_MS;
    while (Files.exists(first)) {
      assertTrue(System.currentTimeMillis() < deadline, first + " is still there");
      Thread.sleep(50);
    }
  }

  private static List<String> expected(int from, int to, RowType type) {
    List<String> rows = new ArrayList<>();
    for (int i = from; i < to; i++) {
      rows.add(i + ":+A" + Rows.text(type, numbered(i)));
    }
    return rows;
  }

  @Test
  void scansFromTheStartAndFromTheMiddle() throws Exception {
    Table table = filled("scan");
    waitUntilMoved(table);
    RowType type = table.getTableInfo().getRowType();
    assertEquals(Map.of(0, 0L), offsets(table, new OffsetSpec.EarliestSpec()));
    for (int start : new int[] {0, 1, 333, 1777}) {
      try (LogScanner scanner = table.newScan().createLogScanner()) {
        scanner.subscribe(0, start);
        assertEquals(expected(start, ROWS, type), Rows.poll(scanner, ROWS - start, type));
      }
    }
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      append(table, ROWS, ROWS + 200);
      assertEquals(expected(0, ROWS + 200, type), Rows.poll(scanner, ROWS + 200, type));
    }
  }

  @Test
  void projectionOfDownloadedSegments() throws Exception {
    Table table = filled("projection");
    waitUntilMoved(table);
    try (LogScanner scanner = table.newScan().project(new int[] {0}).createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      List<String> found = Rows.poll(scanner, ROWS, ROW(FIELD("a", INT())));
      for (int i = 0; i < ROWS; i++) {
        assertEquals(i + ":+A[" + i + "]", found.get(i));
      }
    }
  }

  @Test
  void offsetsByTimestamp() throws Exception {
    Table table = filled("timestamps");
    waitUntilMoved(table);
    List<ScanRecord> records = new ArrayList<>();
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      while (records.size() < ROWS) {
        scanner.poll(Rows.PATIENCE).forEach(records::add);
      }
    }
    for (int i = 0; i < ROWS; i += 500) {
      long at = records.get(i).timestamp();
      long first = records.stream().filter(one -> one.timestamp() >= at).findFirst().orElseThrow().logOffset();
      long found = offsets(table, new OffsetSpec.TimestampSpec(at)).get(0);
      // The Java server finds the last record before it.
      assertEquals(first, OURS || found == first ? found : found + 1);
    }
  }

  @Test
  void partitions() throws Exception {
    Schema schema = Schema.newBuilder().column("a", INT()).column("b", STRING()).column("day", STRING()).build();
    Table table = create("parts", describe(schema).distributedBy(1).partitionedBy("day")
        .property("table.log.arrow.compression.type", "NONE"));
    get(admin.createPartition(path("parts"), new org.apache.fluss.metadata.PartitionSpec(Map.of("day", "monday")), false));
    long id = get(admin.listPartitionInfos(path("parts"))).get(0).getPartitionId();
    for (int i = 0; i < ROWS; i += 100) {
      Rows.append(table, IntStream.range(i, i + 100).mapToObj(n -> row(n, ("b" + n + "-").repeat(20), "monday"))
          .toArray(GenericRow[]::new));
    }
    Path first = Path.of(System.getProperty("data"), database, "parts-" + table.getTableInfo().getTableId(),
        "monday-p" + id, "log-0", "00000000000000000000.log");
    long deadline = System.currentTimeMillis() + PATIENCE_MS;
    while (Files.exists(first)) {
      assertTrue(System.currentTimeMillis() < deadline, first + " is still there");
      Thread.sleep(50);
    }
    try (LogScanner scanner = table.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(id, 0);
      List<String> found = Rows.poll(scanner, ROWS, table.getTableInfo().getRowType());
      for (int i = 0; i < ROWS; i++) {
        assertTrue(found.get(i).startsWith(i + ":+A[" + i + ","), found.get(i));
      }
    }
  }

  @Test
  void dropRemovesWhatIsThere() throws Exception {
    Table table = filled("dropped");
    waitUntilMoved(table);
    get(admin.dropTable(path("dropped"), false));
    Table again = filled("dropped");
    RowType type = again.getTableInfo().getRowType();
    try (LogScanner scanner = again.newScan().createLogScanner()) {
      scanner.subscribeFromBeginning(0);
      assertEquals(expected(0, ROWS, type), Rows.poll(scanner, ROWS, type));
    }
  }
}
