package sluice;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInfo;

/**
 * One connection and one fresh database for each test class.
 *
 * <p>System properties: {@code bootstrap} is the address of the server, {@code server} says which one it is: {@code
 * sluice} or {@code java}. Tests ask {@link #OURS} only where docs/compatibility.md lists a difference.
 */
abstract class ServerTest {
  static final String BOOTSTRAP = System.getProperty("bootstrap", "127.0.0.1:9123");
  static final boolean OURS = System.getProperty("server", "sluice").equals("sluice");
  static final long CALL_SECONDS = 20;

  static Connection connection;
  static Admin admin;
  static String database;

  @BeforeAll
  static void connect(TestInfo test) throws Exception {
    connection = open();
    admin = connection.getAdmin();
    database = "java_" + test.getTestClass().orElseThrow().getSimpleName().toLowerCase() + "_"
        + Long.toString(System.nanoTime(), 36);
    get(admin.createDatabase(database, DatabaseDescriptor.EMPTY, false));
  }

  @AfterAll
  static void disconnect() throws Exception {
    get(admin.dropDatabase(database, true, true));
    connection.close();
  }

  /** A further connection with its own settings, given as key, value, key, value. */
  static Connection open(String... settings) {
    Configuration configuration = new Configuration();
    configuration.setString("bootstrap.servers", BOOTSTRAP);
    for (int i = 0; i < settings.length; i += 2) {
      configuration.setString(settings[i], settings[i + 1]);
    }
    return ConnectionFactory.createConnection(configuration);
  }

  static TablePath path(String table) {
    return TablePath.of(database, table);
  }

  static TableDescriptor.Builder describe(Schema schema) {
    return TableDescriptor.builder().schema(schema);
  }

  /** Create a table and open it. */
  static Table create(String name, TableDescriptor.Builder descriptor) throws Exception {
    get(admin.createTable(path(name), descriptor.build(), false));
    return connection.getTable(path(name));
  }

  static <T> T get(CompletableFuture<T> answer) throws Exception {
    return answer.get(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Something that asks the server and may throw instead of answering. */
  interface Call {
    Object ask() throws Exception;
  }

  /** The call fails, now or when its future is asked, with this error of the protocol; NONE says that it succeeds. */
  static void assertRefused(Errors expected, Call call) {
    Throwable failure = failure(call);
    if (code(failure) != expected) {
      throw new AssertionError("expected " + expected + " but was " + code(failure) + ": " + failure, failure);
    }
  }

  /** The protocol's error that a call ends with; NONE when it succeeds. */
  static Errors refusal(Call call) {
    return code(failure(call));
  }

  private static Errors code(Throwable failure) {
    return failure == null ? Errors.NONE : Errors.forException(failure);
  }

  /** What a call failed with, as near to the protocol's own error as it can be found; null when it succeeds. */
  private static Throwable failure(Call call) {
    try {
      Object answer = call.ask();
      if (answer instanceof CompletableFuture<?> future) {
        get(future);
      }
      return null;
    } catch (TimeoutException failure) {
      throw new AssertionError("no answer", failure);
    } catch (Throwable failure) {
      Throwable cause = Errors.maybeUnwrapException(failure);
      while (code(cause) == Errors.UNKNOWN_SERVER_ERROR && cause.getCause() != null) {
        cause = cause.getCause();
      }
      return cause;
    }
  }

  static Map<Integer, Long> offsets(Table table, OffsetSpec spec) throws Exception {
    return new TreeMap<>(get(admin.listOffsets(table.getTableInfo().getTablePath(), buckets(table), spec).all()));
  }

  static Map<Integer, Long> offsets(Table table, String partition, OffsetSpec spec) throws Exception {
    TablePath path = table.getTableInfo().getTablePath();
    return new TreeMap<>(get(admin.listOffsets(path, partition, buckets(table), spec).all()));
  }

  static Collection<Integer> buckets(Table table) {
    return IntStream.range(0, table.getTableInfo().getNumBuckets()).boxed().toList();
  }

  static TableBucket bucket(Table table, int bucket) {
    return new TableBucket(table.getTableInfo().getTableId(), bucket);
  }

  static <T> List<T> list(Iterable<T> values) {
    List<T> all = new ArrayList<>();
    values.forEach(all::add);
    return all;
  }
}
