package sluice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.DatabaseInfo;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DatabasesTest extends ServerTest {
  @Test
  void createdDatabasesKeepWhatWasSaid() throws Exception {
    String name = database + "_said";
    DatabaseDescriptor descriptor = DatabaseDescriptor.builder().comment("sales, 流").customProperty("owner", "me").build();
    assertFalse(get(admin.databaseExists(name)));
    long before = System.currentTimeMillis();
    get(admin.createDatabase(name, descriptor, false));
    assertTrue(get(admin.databaseExists(name)));
    assertTrue(get(admin.listDatabases()).contains(name));

    DatabaseInfo info = get(admin.getDatabaseInfo(name));
    assertEquals("sales, 流", info.getDatabaseDescriptor().getComment().orElseThrow());
    assertEquals(Map.of("owner", "me"), info.getDatabaseDescriptor().getCustomProperties());
    assertTrue(info.getCreatedTime() >= before && info.getModifiedTime() >= info.getCreatedTime());
    get(admin.dropDatabase(name, false, false));
    assertFalse(get(admin.databaseExists(name)));
  }

  @Test
  void theDefaultDatabaseIsThere() throws Exception {
    assertTrue(get(admin.databaseExists("fluss")));
  }

  @Test
  void creatingTwice() throws Exception {
    String name = database + "_twice";
    get(admin.createDatabase(name, DatabaseDescriptor.EMPTY, false));
    assertRefused(Errors.DATABASE_ALREADY_EXIST, () -> admin.createDatabase(name, DatabaseDescriptor.EMPTY, false));
    DatabaseDescriptor other = DatabaseDescriptor.builder().comment("other").build();
    get(admin.createDatabase(name, other, true));
    assertTrue(get(admin.getDatabaseInfo(name)).getDatabaseDescriptor().getComment().isEmpty());
    get(admin.dropDatabase(name, false, false));
  }

  @Test
  void missingDatabases() throws Exception {
    assertRefused(Errors.DATABASE_NOT_EXIST, () -> admin.getDatabaseInfo("not_there"));
    assertRefused(Errors.DATABASE_NOT_EXIST, () -> admin.dropDatabase("not_there", false, true));
    assertRefused(Errors.DATABASE_NOT_EXIST, () -> admin.listTables("not_there"));
    assertRefused(Errors.DATABASE_NOT_EXIST, () -> admin.createTable(TablePath.of("not_there", "t"), oneColumn(), false));
    get(admin.dropDatabase("not_there", true, true));
  }

  @Test
  void dropOfAFullDatabase() throws Exception {
    String name = database + "_full";
    get(admin.createDatabase(name, DatabaseDescriptor.EMPTY, false));
    get(admin.createTable(TablePath.of(name, "t"), oneColumn(), false));
    assertRefused(Errors.DATABASE_NOT_EMPTY, () -> admin.dropDatabase(name, false, false));
    get(admin.dropDatabase(name, false, true));
    assertFalse(get(admin.databaseExists(name)));
    assertRefused(Errors.TABLE_NOT_EXIST, () -> admin.getTableInfo(TablePath.of(name, "t")));
  }

  @Test
  void summariesCountTables() throws Exception {
    String name = database + "_counted";
    get(admin.createDatabase(name, DatabaseDescriptor.EMPTY, false));
    for (String table : List.of("a", "b", "c")) {
      get(admin.createTable(TablePath.of(name, table), oneColumn(), false));
    }
    assertEquals(List.of("a", "b", "c"), get(admin.listTables(name)).stream().sorted().toList());
    var summary = get(admin.listDatabaseSummaries()).stream().filter(s -> s.getDatabaseName().equals(name)).findFirst()
        .orElseThrow();
    assertEquals(3, summary.getTableCount());
    assertTrue(summary.getCreatedTime() > 0);
    get(admin.dropDatabase(name, false, true));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "with space", "with.dot", "ümlaut", "__own", "slash/ed"})
  void namesThatCannotBe(String name) {
    assertRefused(Errors.INVALID_DATABASE_EXCEPTION, () -> admin.createDatabase(name, DatabaseDescriptor.EMPTY, false));
  }

  @Test
  void lengthOfNames() throws Exception {
    String longest = (database + "_" + "n".repeat(200)).substring(0, 200);
    get(admin.createDatabase(longest, DatabaseDescriptor.EMPTY, false));
    get(admin.dropDatabase(longest, false, false));
    assertRefused(Errors.INVALID_DATABASE_EXCEPTION,
        () -> admin.createDatabase(longest + "n", DatabaseDescriptor.EMPTY, false));
  }

  private static org.apache.fluss.metadata.TableDescriptor oneColumn() {
    return describe(Schema.newBuilder().column("a", DataTypes.INT()).build()).distributedBy(1).build();
  }
}
