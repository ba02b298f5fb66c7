package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static sluice.Rows.row;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.GenericRow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the clients' writers may be set to, and that rows arrive once and in order. */
class WriterTest extends ServerTest {
  private static final Schema LOG = Schema.newBuilder().column("a", INT()).column("b", STRING()).build();
  private static final Schema KEYED =
      Schema.newBuilder().column("k", INT()).column("v", STRING().copy(false)).primaryKey("k").build();

  private static GenericRow[] rows(int count) {
    return IntStream.range(0, count).mapToObj(i -> row(i, "text " + i)).toArray(GenericRow[]::new);
  }

  @ParameterizedTest
  @CsvSource({"0, false", "1, false", "all, false", "all, true"})
  void acksAndIdempotence(String acks, String idempotent) throws Exception {
    String name = "acks_" + acks + "_" + idempotent;
    Table table = create(name, describe(LOG).distributedBy(1));
    try (Connection other = open("client.writer.acks", acks, "client.writer.enable-idempotence", idempotent)) {
      Rows.append(other.getTable(path(name)), rows(500));
    }
    for (int i = 0; i < 100 && offsets(table, new OffsetSpec.LatestSpec()).get(0) < 500; i++) {
      Thread.sleep(50);  // acks 0 answers before the rows are there.
    }
    List<String> expected = IntStream.range(0, 500).mapToObj(i -> "+A[" + i + ", text " + i + "]").toList();
    assertEquals(expected, Rows.changes(table));
  }

  /** Five batches at a time stay in order, whatever the answers' order. */
  @Test
  void manySmallBatchesInOrder() throws Exception {
    Table table = create("in_order", describe(LOG).distributedBy(1));
    try (Connection other = open("client.writer.batch-size", "1kb", "client.writer.buffer.page-size", "1kb",
        "client.writer.batch-timeout", "0ms", "client.writer.max-inflight-requests-per-bucket", "5")) {
      Rows.append(other.getTable(path("in_order")), rows(5000));
    }
    List<String> expected = IntStream.range(0, 5000).mapToObj(i -> "+A[" + i + ", text " + i + "]").toList();
    assertEquals(expected, Rows.changes(table));
  }

  @Test
  void writersSideBySide() throws Exception {
    Table table = create("side_by_side", describe(LOG).distributedBy(3));
    List<Connection> connections = List.of(open(), open(), open());
    List<CompletableFuture<?>> answers = new ArrayList<>();
    for (int round = 0; round < 200; round++) {
      for (int i = 0; i < 3; i++) {
        AppendWriter writer = connections.get(i).getTable(path("side_by_side")).newAppend().createWriter();
        answers.add(writer.append(row(i * 1000 + round, "w" + i)));
      }
    }
    for (CompletableFuture<?> answer : answers) {
      get(answer);
    }
    for (Connection each : connections) {
      each.close();
    }
    List<String> found = Rows.changes(table);
    assertEquals(600, found.size());
    assertEquals(600, found.stream().distinct().count());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sticky", "round_robin"})
  void bucketsWithoutAKey(String assigner) throws Exception {
    Table table = create("no_key_" + assigner, describe(LOG).distributedBy(3));
    try (Connection other = open("client.writer.bucket.no-key-assigner", assigner)) {
      Rows.append(other.getTable(path("no_key_" + assigner)), rows(90));
    }
    assertEquals(90, offsets(table, new OffsetSpec.LatestSpec()).values().stream().mapToLong(n -> n).sum());
    if (assigner.equals("round_robin")) {
      assertEquals("{0=30, 1=30, 2=30}", offsets(table, new OffsetSpec.LatestSpec()).toString());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "1", "all"})
  void acksOfUpserts(String acks) throws Exception {
    create("upsert_" + acks, describe(KEYED).distributedBy(1));
    try (Connection other = open("client.writer.acks", acks, "client.writer.enable-idempotence", "false")) {
      Table table = other.getTable(path("upsert_" + acks));
      Rows.upsert(table, row(1, "a"), row(1, "b"));
      for (int i = 0; i < 100 && !Rows.lookup(table, 1).equals("[1, b]"); i++) {
        Thread.sleep(50);
      }
      assertEquals("[1, b]", Rows.lookup(table, 1));
      assertEquals(List.of("+I[1, a]", "-U[1, a]", "+U[1, b]"), Rows.changes(table));
    }
  }

  /** One batch of changes of one key keeps each of them. */
  @Test
  void upsertsAndDeletesInOneBatch() throws Exception {
    Table table = create("one_batch", describe(KEYED).distributedBy(1));
    try (Connection slow = open("client.writer.batch-timeout", "1s")) {
      UpsertWriter writer = slow.getTable(path("one_batch")).newUpsert().createWriter();
      List<CompletableFuture<?>> answers = List.of(writer.upsert(row(1, "a")), writer.upsert(row(1, "b")),
          writer.delete(row(1, "b")), writer.upsert(row(1, "c")), writer.delete(row(2, "x")));
      Rows.await(writer::flush, answers);
    }
    assertEquals(List.of("+I[1, a]", "-U[1, a]", "+U[1, b]", "-D[1, b]", "+I[1, c]"), Rows.changes(table));
    assertEquals("[1, c]", Rows.lookup(table, 1));
  }

  @Test
  void rowsThatDoNotFit() throws Exception {
    Table table = create("fit", describe(KEYED).distributedBy(1));
    assertThrows(Exception.class, () -> table.newUpsert().createWriter().upsert(row(1)));
    assertThrows(Exception.class, () -> table.newUpsert().createWriter().upsert(row(1, "a", 2)));
    try (Connection small = open("client.writer.request-max-size", "10kb", "client.writer.batch-size", "10kb",
        "client.writer.buffer.page-size", "1kb")) {
      Rows.upsert(small.getTable(path("fit")), row(7, "x".repeat(5000)));
    }
    assertEquals("[7, " + "x".repeat(5000) + "]", Rows.lookup(table, 7));
  }
}
