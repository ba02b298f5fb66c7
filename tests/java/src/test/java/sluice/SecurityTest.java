package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static sluice.Rows.row;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.rpc.protocol.Errors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Logins by SASL/PLAIN, at the address of the system property {@code sasl}: users admin and alice. */
class SecurityTest extends ServerTest {
  private static final String SASL = System.getProperty("sasl", "");
  private static final String MODULE = "org.apache.fluss.security.auth.sasl.plain.PlainLoginModule";

  @BeforeAll
  static void needsAListener() {
    assumeTrue(!SASL.isEmpty(), "no listener with logins is given");
  }

  private static Connection openAs(String user, String password) {
    return open("bootstrap.servers", SASL, "client.security.protocol", "SASL", "client.security.sasl.mechanism", "PLAIN",
        "client.security.sasl.username", user, "client.security.sasl.password", password);
  }

  private static Set<Integer> ports(Admin admin) throws Exception {
    return get(admin.getServerNodes()).stream().map(node -> node.port()).collect(Collectors.toSet());
  }

  @Test
  void whoLogsInWorksByTheAddressesOfThatListener() throws Exception {
    try (Connection alice = openAs("alice", "alice-secret"); Admin hers = alice.getAdmin()) {
      get(hers.createTable(path("hers"), describe(Schema.newBuilder().column("a", INT()).build()).distributedBy(1).build(), false));
      Table table = alice.getTable(path("hers"));
      Rows.append(table, row(1), row(2));
      assertEquals(List.of("+A[1]", "+A[2]"), Rows.changes(table));
      assertEquals(2, ports(hers).size());
      assertNotEquals(ports(admin), ports(hers));
    }
  }

  @Test
  void aJaasTextNamesTheUserToo() throws Exception {
    String jaas = MODULE + " required username=\"admin\" password=\"admin-secret\";";
    try (Connection connection = open("bootstrap.servers", SASL, "client.security.protocol", "sasl",
        "client.security.sasl.jaas.config", jaas)) {
      assertFalse(get(connection.getAdmin().listDatabases()).isEmpty());
    }
  }

  private static Object ask(Connection connection) throws Exception {
    try (connection) {
      return get(connection.getAdmin().listDatabases());
    }
  }

  @ParameterizedTest
  @CsvSource({"alice, wrong", "mallory, alice-secret", "alice, alice-secret2", "Alice, alice-secret"})
  void whoIsNotKnownIsRefused(String user, String password) {
    assertRefused(Errors.AUTHENTICATE_EXCEPTION, () -> ask(openAs(user, password)));
  }

  @Test
  void withoutALoginNothingIsAnswered() {
    assertRefused(Errors.AUTHENTICATE_EXCEPTION, () -> ask(open("bootstrap.servers", SASL)));
  }

  @Test
  void aLoginWhereNoneIsAskedForIsRefused() {
    assertRefused(Errors.AUTHENTICATE_EXCEPTION, () -> ask(open("client.security.protocol", "SASL",
        "client.security.sasl.username", "alice", "client.security.sasl.password", "alice-secret")));
  }
}
