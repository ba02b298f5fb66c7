package sluice;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.batch.BatchScanner;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalArray;
import org.apache.fluss.row.InternalMap;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.ArrayType;
import org.apache.fluss.types.DataType;
import org.apache.fluss.types.MapType;
import org.apache.fluss.types.RowType;
import org.apache.fluss.utils.CloseableIterator;

/** Rows in and rows out; what was read is text, so that it outlives the client's buffers and is easy to compare. */
final class Rows {
  static final Duration PATIENCE = Duration.ofSeconds(20);

  private Rows() {}

  /** A row of plain values; strings become the client's own kind. */
  static GenericRow row(Object... values) {
    GenericRow row = new GenericRow(values.length);
    for (int i = 0; i < values.length; i++) {
      row.setField(i, values[i] instanceof String text ? BinaryString.fromString(text) : values[i]);
    }
    return row;
  }

  /** A row as text, say {@code [1, abc, null]}. */
  static String text(RowType type, InternalRow row) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < type.getFieldCount(); i++) {
      values.add(text(type.getTypeAt(i), InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row)));
    }
    return values.toString();
  }

  private static String text(DataType type, Object value) {
    if (value == null) {
      return "null";
    }
    return switch (type.getTypeRoot()) {
      case ARRAY -> elements(((ArrayType) type).getElementType(), (InternalArray) value).toString();
      case MAP -> map((MapType) type, (InternalMap) value);
      case ROW -> text((RowType) type, (InternalRow) value);
      case BINARY, BYTES -> HexFormat.of().formatHex((byte[]) value);
      default -> value.toString();
    };
  }

  private static List<String> elements(DataType type, InternalArray array) {
    InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
    List<String> elements = new ArrayList<>();
    for (int i = 0; i < array.size(); i++) {
      elements.add(text(type, getter.getElementOrNull(array, i)));
    }
    return elements;
  }

  private static String map(MapType type, InternalMap map) {
    List<String> keys = elements(type.getKeyType(), map.keyArray());
    List<String> values = elements(type.getValueType(), map.valueArray());
    TreeMap<String, String> sorted = new TreeMap<>();
    for (int i = 0; i < keys.size(); i++) {
      sorted.put(keys.get(i), values.get(i));
    }
    return sorted.toString();
  }

  // Writing.

  /** Append rows in one go and wait until all are acknowledged. */
  static void append(Table table, GenericRow... rows) throws Exception {
    AppendWriter writer = table.newAppend().createWriter();
    List<CompletableFuture<?>> answers = new ArrayList<>();
    for (GenericRow row : rows) {
      answers.add(writer.append(row));
    }
    await(writer::flush, answers);
  }

  /** Upsert rows, each acknowledged before the next, so that each is a batch of its own. */
  static void upsert(Table table, GenericRow... rows) throws Exception {
    upsert(table.newUpsert().createWriter(), rows);
  }

  static void upsert(UpsertWriter writer, GenericRow... rows) throws Exception {
    for (GenericRow row : rows) {
      await(writer::flush, List.of(writer.upsert(row)));
    }
  }

  static void delete(Table table, GenericRow... rows) throws Exception {
    UpsertWriter writer = table.newUpsert().createWriter();
    for (GenericRow row : rows) {
      await(writer::flush, List.of(writer.delete(row)));
    }
  }

  /** The client's flush waits but tells no failure; the futures do. */
  static void await(Runnable flush, List<? extends CompletableFuture<?>> answers) throws Exception {
    flush.run();
    for (CompletableFuture<?> answer : answers) {
      ServerTest.get(answer);
    }
  }

  // Reading.

  /** Every change of every bucket from its beginning to its present end, bucket by bucket. */
  static List<String> changes(Table table) throws Exception {
    List<String> changes = new ArrayList<>();
    for (int bucket : ServerTest.buckets(table)) {
      long end = ServerTest.offsets(table, new OffsetSpec.LatestSpec()).get(bucket);
      try (LogScanner scanner = table.newScan().createLogScanner()) {
        scanner.subscribeFromBeginning(bucket);
        changes.addAll(until(scanner, end, table.getTableInfo().getRowType()));
      }
    }
    return changes;
  }

  /** The same of a partition. */
  static List<String> changes(Table table, long partition, String name) throws Exception {
    List<String> changes = new ArrayList<>();
    for (int bucket : ServerTest.buckets(table)) {
      long end = ServerTest.offsets(table, name, new OffsetSpec.LatestSpec()).get(bucket);
      try (LogScanner scanner = table.newScan().createLogScanner()) {
        scanner.subscribeFromBeginning(partition, bucket);
        changes.addAll(until(scanner, end, table.getTableInfo().getRowType()));
      }
    }
    return changes;
  }

  /** Changes of the one subscribed bucket below offset `end`, say {@code +I[1, a]}. */
  static List<String> until(LogScanner scanner, long end, RowType type) {
    List<String> changes = new ArrayList<>();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    long next = 0;
    while (next < end && System.nanoTime() < deadline) {
      for (ScanRecord record : scanner.poll(Duration.ofMillis(500))) {
        if (record.logOffset() < end) {
          changes.add(record.getChangeType().shortString() + text(type, record.getRow()));
        }
        next = record.logOffset() + 1;
      }
    }
    if (next < end) {
      throw new AssertionError("no record at or behind offset " + next + " of " + end + ": " + changes);
    }
    return changes;
  }

  /** Poll until `count` records of any bucket have come; each as {@code offset:+I[1, a]}. */
  static List<String> poll(LogScanner scanner, int count, RowType type) {
    List<String> changes = new ArrayList<>();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (changes.size() < count && System.nanoTime() < deadline) {
      for (ScanRecord record : scanner.poll(Duration.ofMillis(500))) {
        changes.add(record.logOffset() + ":" + record.getChangeType().shortString() + text(type, record.getRow()));
      }
    }
    if (changes.size() < count) {
      throw new AssertionError("only " + changes.size() + " of " + count + " records: " + changes);
    }
    return changes;
  }

  /** What a batch scan gives, to its end. */
  static List<String> batch(BatchScanner scanner, RowType type) throws Exception {
    List<String> rows = new ArrayList<>();
    try (scanner) {
      for (CloseableIterator<InternalRow> batch; (batch = scanner.pollBatch(PATIENCE)) != null; batch.close()) {
        while (batch.hasNext()) {
          rows.add(text(type, batch.next()));
        }
      }
    }
    return rows;
  }

  /** The row that a primary-key lookup finds, or "none". */
  static String lookup(Table table, Object... key) throws Exception {
    return lookup(table, table.newLookup().createLookuper(), row(key));
  }

  static String lookup(Table table, Lookuper lookuper, GenericRow key) throws Exception {
    List<String> found = lookupAll(table, lookuper, key);
    return found.isEmpty() ? "none" : found.get(0);
  }

  static List<String> lookupAll(Table table, Lookuper lookuper, GenericRow key) throws Exception {
    List<String> found = new ArrayList<>();
    for (InternalRow row : ServerTest.get(lookuper.lookup(key)).getRowList()) {
      if (row != null) {
        found.add(text(table.getTableInfo().getRowType(), row));
      }
    }
    return found;
  }
}
