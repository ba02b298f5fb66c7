package sluice;

import static org.apache.fluss.types.DataTypes.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static sluice.Rows.row;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.fluss.client.admin.RegisterResult;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.cluster.ServerNode;
import org.apache.fluss.cluster.rebalance.GoalType;
import org.apache.fluss.cluster.rebalance.ServerTag;
import org.apache.fluss.config.cluster.AlterConfig;
import org.apache.fluss.config.cluster.AlterConfigOpType;
import org.apache.fluss.config.cluster.ConfigEntry;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.rpc.protocol.Errors;
import org.apache.fluss.security.acl.AccessControlEntry;
import org.apache.fluss.security.acl.AclBinding;
import org.apache.fluss.security.acl.AclBindingFilter;
import org.apache.fluss.security.acl.FlussPrincipal;
import org.apache.fluss.security.acl.OperationType;
import org.apache.fluss.security.acl.PermissionType;
import org.apache.fluss.security.acl.Resource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Servers, settings at run time, tags, rebalance, producer offsets, ACLs. */
class ClusterTest extends ServerTest {
  @Test
  void servers() throws Exception {
    List<ServerNode> nodes = get(admin.getServerNodes());
    assertEquals("[COORDINATOR, TABLET_SERVER]", nodes.stream().map(n -> n.serverType().name()).sorted().toList().toString());
    for (ServerNode node : nodes) {
      assertEquals("127.0.0.1", node.host());
      assertTrue(node.port() > 0);
    }
  }

  private static Map<String, ConfigEntry> configs() throws Exception {
    return get(admin.describeClusterConfigs()).stream().collect(Collectors.toMap(ConfigEntry::key, c -> c));
  }

  private static Object alter(String key, String value, AlterConfigOpType type) {
    return admin.alterClusterConfigs(List.of(new AlterConfig(key, value, type)));
  }

  /** Code 64, which the older client and the older server do not know. */
  private static final Errors NOT_DYNAMIC = Stream.of(Errors.values())
      .filter(error -> OURS && error.code() == 64).findFirst().orElse(Errors.UNKNOWN_SERVER_ERROR);

  @Test
  void settingsAreShownWithoutSecrets() throws Exception {
    Map<String, ConfigEntry> configs = configs();
    assertEquals(ConfigEntry.ConfigSource.INITIAL_SERVER_CONFIG, configs.get("datalake.format").source());
    assertEquals("paimon", configs.get("datalake.format").value());
    assertTrue(configs.containsKey("remote.data.dir"));
  }

  private static void change(String key, String value, AlterConfigOpType type) throws Exception {
    get((java.util.concurrent.CompletableFuture<?>) alter(key, value, type));
  }

  @ParameterizedTest
  @CsvSource({"kv.rocksdb.shared-rate-limiter.bytes-per-sec, 64mb"})
  void settingsChangeAtRunTime(String key, String value) throws Exception {
    change(key, value, AlterConfigOpType.SET);
    assertEquals(value, configs().get(key).value());
    assertEquals(ConfigEntry.ConfigSource.DYNAMIC_SERVER_CONFIG, configs().get(key).source());
    change(key, null, AlterConfigOpType.DELETE);
    assertTrue(!configs().containsKey(key) || configs().get(key).source() == ConfigEntry.ConfigSource.INITIAL_SERVER_CONFIG);
  }

  @Test
  void entriesComeAndGoInListsAlone() throws Exception {
    String key = "kv.rocksdb.shared-rate-limiter.bytes-per-sec";
    for (AlterConfigOpType type : List.of(AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT)) {
      assertRefused(NOT_DYNAMIC, () -> alter(key, "64mb", type));
    }
    if (OURS) {
      String users = "security.sasl.plain.credentials";
      change(users, "carol:carol-secret", AlterConfigOpType.APPEND);
      assertRefused(NOT_DYNAMIC, () -> alter(users, "carol:other", AlterConfigOpType.APPEND));
      assertFalse(configs().get(users).value().contains("carol-secret"));
      change(users, "carol:carol-secret", AlterConfigOpType.SUBTRACT);
      change(users, null, AlterConfigOpType.DELETE);
      assertFalse(configs().containsKey(users));
    }
  }

  @ParameterizedTest
  @CsvSource({"data.dir, /elsewhere", "no.such.key, 1", "default.bucket.number, 3", "log.replica.min-in-sync-replicas-number, many"})
  void settingsThatAreFixed(String key, String value) throws Exception {
    assertRefused(NOT_DYNAMIC, () -> alter(key, value, AlterConfigOpType.SET));
    assertFalse(configs().containsKey(key) && configs().get(key).source() == ConfigEntry.ConfigSource.DYNAMIC_SERVER_CONFIG);
  }

  @Test
  void serverTags() throws Exception {
    int server = get(admin.getServerNodes()).stream().filter(n -> n.serverType().name().equals("TABLET_SERVER")).findFirst()
        .orElseThrow().id();
    assertRefused(Errors.SERVER_NOT_EXIST_EXCEPTION,
        () -> admin.addServerTag(List.of(77), ServerTag.TEMPORARY_OFFLINE));
    assertRefused(OURS ? Errors.UNSUPPORTED_VERSION : Errors.NONE,
        () -> admin.addServerTag(List.of(server), ServerTag.TEMPORARY_OFFLINE));
    assertRefused(OURS ? Errors.UNSUPPORTED_VERSION : Errors.NONE,
        () -> admin.removeServerTag(List.of(server), ServerTag.TEMPORARY_OFFLINE));
  }

  @Test
  void rebalance() {
    assertRefused(OURS ? Errors.REBALANCE_FAILURE_EXCEPTION : Errors.NONE, () -> admin.rebalance(List.of(GoalType.REPLICA_DISTRIBUTION)));
    assertRefused(Errors.NONE, () -> admin.listRebalanceProgress(null));
    assertRefused(Errors.NO_REBALANCE_IN_PROGRESS_EXCEPTION,
        () -> admin.cancelRebalance("no-such"));
  }

  @Test
  void producerOffsets() throws Exception {
    Table table = create("producer", describe(Schema.newBuilder().column("a", INT()).build()).distributedBy(1));
    Rows.append(table, row(1), row(2));
    TableBucket bucket = bucket(table, 0);
    String producer = database + "-sink";
    assertRefused(Errors.NONE, () -> admin.deleteProducerOffsets(producer));
    assertNull(get(admin.getProducerOffsets(producer)));
    assertEquals(RegisterResult.CREATED, get(admin.registerProducerOffsets(producer, Map.of(bucket, 2L))));
    assertEquals(RegisterResult.ALREADY_EXISTS, get(admin.registerProducerOffsets(producer, Map.of(bucket, 1L))));
    var offsets = get(admin.getProducerOffsets(producer));
    assertEquals(Map.of(bucket.getTableId(), Map.of(bucket, 2L)), offsets.getTableOffsets());
    assertEquals(producer, offsets.getProducerId());
    assertTrue(offsets.getExpirationTime() > System.currentTimeMillis());
    get(admin.deleteProducerOffsets(producer));
    assertNull(get(admin.getProducerOffsets(producer)));
    for (String bad : List.of("", "a/b", "..")) {
      Errors expected = OURS && !bad.isEmpty() ? Errors.NONE : Errors.INVALID_PRODUCER_ID_EXCEPTION;
      assertRefused(expected, () -> admin.registerProducerOffsets(bad, Map.of(bucket, 1L)));
    }
  }

  @Test
  void aclsAreOff() {
    var entry = new AccessControlEntry(new FlussPrincipal("u", "User"), "*", OperationType.READ, PermissionType.ALLOW);
    var binding = new AclBinding(Resource.table(database, "t"), entry);
    assertRefused(Errors.SECURITY_DISABLED_EXCEPTION, () -> admin.listAcls(AclBindingFilter.ANY));
    assertRefused(Errors.SECURITY_DISABLED_EXCEPTION, () -> admin.createAcls(List.of(binding)).all());
    assertRefused(Errors.SECURITY_DISABLED_EXCEPTION, () -> admin.dropAcls(List.of(AclBindingFilter.ANY)).all());
  }
}
