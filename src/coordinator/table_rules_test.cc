#include "coordinator/table_rules.h"

#include "base/testing.h"
#include "coordinator/assignment.h"
#include "coordinator/partition_rules.h"
#include "coordinator/table_options.h"

namespace sluice::coordinator {
namespace {

using types::DataType;
using types::TableDescriptor;
using types::TypeKind;

ClusterSettings Settings() {
  ClusterSettings settings;
  settings.default_bucket_number = 3;
  settings.lake_format = "paimon";
  settings.lake_enabled = true;
  return settings;
}

TableDescriptor Table(std::vector<std::string> primary_key = {}) {
  TableDescriptor descriptor;
  descriptor.schema.columns = {
      {.name = "id", .type = DataType::Of(TypeKind::kInteger)},
      {.name = "day", .type = DataType::Of(TypeKind::kString)},
      {.name = "tags", .type = DataType::Array(DataType::Of(TypeKind::kString))},
      {.name = "price", .type = DataType::Decimal(10, 2)}};
  descriptor.schema.primary_key = std::move(primary_key);
  return descriptor;
}

Status Check(TableDescriptor descriptor, const ClusterSettings& settings = Settings()) {
  RETURN_NOT_OK(FillTableDefaults(settings, &descriptor));
  return ValidateTable(settings, descriptor);
}

TableDescriptor With(TableDescriptor descriptor, const std::string& key, const std::string& value) {
  descriptor.properties[key] = value;
  return descriptor;
}

TEST(TableRulesTest, FillsWhatClientsReadBack) {
  TableDescriptor log = Table();
  ASSERT_OK(FillTableDefaults(Settings(), &log));
  EXPECT_EQ(log.bucket_count, 3);
  EXPECT_TRUE(log.bucket_keys.empty());
  EXPECT_EQ(log.properties,
            (std::map<std::string, std::string>{{"table.replication.factor", "1"},
                                                {"table.datalake.format", "paimon"}}));
  EXPECT_EQ(log.schema.columns[3].id, 3);

  TableDescriptor keyed = Table({"day", "id"});
  keyed.partition_keys = {"day"};
  ASSERT_OK(FillTableDefaults(Settings(), &keyed));
  EXPECT_EQ(keyed.bucket_keys, std::vector<std::string>{"id"});
  EXPECT_FALSE(keyed.schema.columns[0].type->nullable());
  EXPECT_FALSE(keyed.schema.columns[1].type->nullable());
  EXPECT_TRUE(keyed.schema.columns[3].type->nullable());
  EXPECT_EQ(keyed.Property("table.kv.format-version"), "2");
  EXPECT_EQ(keyed.Property("table.delete.behavior", "none"), "none");

  TableDescriptor merging = With(Table({"id"}), "table.merge-engine", "first_row");
  ASSERT_OK(FillTableDefaults(Settings(), &merging));
  EXPECT_EQ(merging.Property("table.delete.behavior"), "IGNORE");
}

TEST(TableRulesTest, AcceptsOrdinaryTables) {
  EXPECT_OK(Check(Table()));
  EXPECT_OK(Check(Table({"id"})));
  EXPECT_OK(Check(With(Table(), "table.datalake.enabled", "true")));
  EXPECT_OK(Check(
      With(With(Table(), "table.datalake.enabled", "TRUE"), "table.datalake.freshness", "5 s")));
  EXPECT_OK(Check(With(Table(), "table.log.ttl", "7 d")));
}

TEST(TableRulesTest, ATableHasSoManyColumns) {
  TableDescriptor descriptor;
  for (size_t i = 0; i < kColumnsMax; ++i) {
    descriptor.schema.columns.push_back(
        {.name = "c" + std::to_string(i), .type = DataType::Of(TypeKind::kInteger)});
  }
  EXPECT_OK(Check(descriptor));
  descriptor.schema.columns.push_back({.name = "more", .type = DataType::Of(TypeKind::kInteger)});
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(descriptor));
}

TEST(TableRulesTest, RefusesBrokenColumns) {
  for (const char* name : {"__offset", "__timestamp", "__bucket", "_change_type", "_log_offset",
                           "_commit_timestamp"}) {
    TableDescriptor reserved = Table();
    reserved.schema.columns[0].name = name;
    SCOPED_TRACE(name);
    EXPECT_CODE(ErrorCode::kInvalidTable, Check(reserved));
  }
  TableDescriptor twice = Table();
  twice.schema.columns[1].name = "id";
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(twice));
  TableDescriptor none;
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(none));
  TableDescriptor wide = Table();
  wide.schema.columns[3].type = DataType::Decimal(39, 2);
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(wide));
  wide.schema.columns[3].type = DataType::Array(DataType::Timestamp(10));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(wide));
  for (const auto& type : {DataType::Binary(65536), DataType::Char(INT32_MAX),
                           DataType::Array(DataType::Binary(65536)), DataType::Char(0)}) {
    wide.schema.columns[3].type = type;
    EXPECT_CODE(ErrorCode::kInvalidTable, Check(wide));
  }
  wide.schema.columns[3].type = DataType::Binary(65535);
  EXPECT_OK(Check(wide));
}

TEST(TableRulesTest, RefusesBrokenKeys) {
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(Table({"none"})));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(Table({"id", "id"})));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(Table({"tags"})));
  TableDescriptor table = Table({"id"});
  table.partition_keys = {"day"};  // Not in the primary key.
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
  table = Table({"day"});
  table.partition_keys = {"day"};  // Nothing left of the key.
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
  table = Table({"id"});
  table.bucket_keys = {"day"};
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
  table = Table();
  table.bucket_keys = {"tags"};
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
  table = Table();
  table.partition_keys = {"day"};
  table.bucket_keys = {"day"};
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
  table = Table();
  table.partition_keys = {"price"};
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
}

TEST(TableRulesTest, ChecksPartitionsByTime) {
  TableDescriptor table = With(Table(), "table.auto-partition.enabled", "true");
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(table));  // Not partitioned.
  table.partition_keys = {"day"};
  EXPECT_OK(Check(table));
  EXPECT_OK(Check(With(table, "table.auto-partition.key", "day")));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(With(table, "table.auto-partition.key", "id")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(table, "table.auto-partition.time-unit", "WEEK")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(table, "table.auto-partition.time-zone", "Mars/Phobos")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(table, "table.auto-partition.num-precreate", "two")));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              Check(With(table, "table.auto-partition.time-format", "yyyyMM")));
  table.partition_keys = {"day", "id"};
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));  // Which one?
  table = With(table, "table.auto-partition.key", "day");
  ASSERT_OK(FillTableDefaults(Settings(), &table));
  EXPECT_EQ(table.properties.at("table.auto-partition.num-precreate"), "0");
  EXPECT_OK(Check(table));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              Check(With(table, "table.auto-partition.num-precreate", "1")));
}

TEST(TableRulesTest, BoundsTheBuckets) {
  TableDescriptor table = Table();
  table.bucket_count = 4096;
  EXPECT_OK(Check(table));
  table.bucket_count = 4097;
  EXPECT_CODE(ErrorCode::kBucketMaxNum, Check(table));
  table.bucket_count = 0;
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table));
}

TEST(TableRulesTest, RefusesOptionsThatItDoesNotKnowOrRead) {
  const std::pair<const char*, const char*> refused[] = {
      {"table.nonsense", "1"},
      {"bucket.num", "4"},
      {"table.replication.factor", "0"},
      {"table.replication.factor", "one"},
      {"table.log.format", "AVRO"},
      {"table.log.arrow.compression.zstd.level", "23"},
      {"table.log.tiered.local-segments", "0"},
      {"table.log.ttl", "soon"},
      {"table.datalake.enabled", "yes"},
      {"table.datalake.format", "orc"},
      {"table.auto-partition.enabled", "true"},
      {"table.merge-engine", "first_row"},        // No primary key.
      {"table.delete.behavior", "IGNORE"},        // The same.
      {"table.statistics.columns", " , "},        // No column.
      {"table.statistics.columns", "id,gone"},    // Not there.
      {"table.log.local-ttl", "8 d"},             // More than in all.
      {"table.datalake.database-name", "other"},  // Of 1.0.0.
  };
  for (const auto& [key, value] : refused) {
    SCOPED_TRACE(key);
    EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table(), key, value)));
  }
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(Table({"id"}), "table.kv.format-version", "3")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(Table({"id"}), "table.statistics.columns", "*")));
  EXPECT_OK(Check(With(Table(), "table.statistics.columns", "*")));
  EXPECT_OK(Check(With(Table(), "table.statistics.columns", "id, id")));
}

TEST(TableRulesTest, LogsHaveFormats) {
  for (const char* format : {"arrow", "indexed", "compacted"}) {
    EXPECT_OK(Check(With(Table(), "table.log.format", format)));
    EXPECT_OK(
        Check(With(With(Table({"id"}), "table.log.format", format), "table.kv.format", "indexed")));
  }
  EXPECT_OK(Check(With(Table({"id"}), "table.log.format", "compacted")));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table({"id"}), "table.log.format", "indexed")));
}

TEST(TableRulesTest, ChecksMergeEngines) {
  EXPECT_OK(Check(With(Table({"id"}), "table.merge-engine", "FIRST_ROW")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(With(Table({"id"}), "table.merge-engine", "first_row"),
                         "table.delete.behavior", "ALLOW")));
  const TableDescriptor versioned = With(Table({"id"}), "table.merge-engine", "versioned");
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(versioned));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(versioned, "table.merge-engine.versioned.ver-column", "day")));
  EXPECT_OK(Check(With(versioned, "table.merge-engine.versioned.ver-column", "id")));
}

TEST(TableRulesTest, ChecksAggregateFunctions) {
  const auto table = [](const std::string& function, size_t column) {
    TableDescriptor descriptor = With(Table({"id"}), "table.merge-engine", "aggregation");
    descriptor.schema.columns[column].agg_function = function;
    return descriptor;
  };
  EXPECT_OK(Check(With(Table({"id"}), "table.merge-engine", "aggregation")));
  EXPECT_OK(Check(table("sum", 3)));
  EXPECT_OK(Check(With(table("sum", 3), "table.delete.behavior", "allow")));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(table("sum", 1)));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table("max", 0)));  // The key.
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(table("sum", 3), "table.merge-engine", "first_row")));
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(table("sum", 3), "table.changelog.image", "wal")));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table(), "table.merge-engine", "aggregation")));
  TableDescriptor counting = table("max", 3);
  counting.schema.columns.push_back({.name = "n", .type = DataType::Of(TypeKind::kInteger)});
  counting.schema.auto_increment = {"n"};
  EXPECT_OK(Check(counting));
}

TEST(TableRulesTest, ChecksAutoIncrement) {
  TableDescriptor counting = Table({"day"});
  counting.schema.auto_increment = {"id"};
  EXPECT_OK(Check(counting));
  for (const char* size : {"1", "1000000000"})
    EXPECT_OK(Check(With(counting, "table.auto-increment.cache-size", size)));
  for (const char* size : {"1000000001", "9223372036854775807"}) {
    EXPECT_CODE(ErrorCode::kInvalidConfig,
                Check(With(counting, "table.auto-increment.cache-size", size)));
  }
  EXPECT_CODE(ErrorCode::kInvalidConfig,
              Check(With(counting, "table.auto-increment.cache-size", "0")));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(With(counting, "table.merge-engine", "first_row")));
  counting.schema.columns[0].type = DataType::Of(TypeKind::kInteger, /*nullable=*/false);
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(counting));
}

TEST(TableRulesTest, ChecksTheLake) {
  const TableDescriptor table = With(Table(), "table.datalake.enabled", "true");
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(table, ClusterSettings()));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(table, "table.datalake.format", "iceberg")));
  EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(table, "table.datalake.freshness", "0 s")));
  EXPECT_OK(Check(With(Table(), "table.datalake.format", "iceberg")));  // Not enabled.
}

TEST(TableRulesTest, TimesAreBounded) {
  for (const char* key : {"table.datalake.freshness", "table.log.ttl"}) {
    EXPECT_OK(Check(With(Table(), key, "36500 d")));
    EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table(), key, "36501 d")));
    EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table(), key, "500000 d")));
    EXPECT_CODE(ErrorCode::kInvalidConfig, Check(With(Table(), key, "-1 ms")));
  }
}

TEST(TableRulesTest, HonoursTheClusterSwitches) {
  ClusterSettings settings = Settings();
  settings.allow_create_kv_tables = false;
  EXPECT_OK(Check(Table(), settings));
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(Table({"id"}), settings));
  settings.allow_create_log_tables = false;
  EXPECT_CODE(ErrorCode::kInvalidTable, Check(Table(), settings));
}

types::TableInfo PartitionedInfo() {
  types::TableInfo info{.path = {"db", "t"}, .descriptor = Table()};
  info.descriptor.schema.columns.push_back({.name = "n", .type = DataType::Of(TypeKind::kInteger)});
  info.descriptor.partition_keys = {"day", "n"};
  return info;
}

TEST(PartitionRulesTest, PutsValuesInKeyOrder) {
  ASSERT_OK_AND_ASSIGN(const auto values,
                       PartitionValues(PartitionedInfo(), {{"n", "7"}, {"day", "mon"}}, true));
  EXPECT_THAT(values, testing::ElementsAre("mon", "7"));
  ASSERT_OK_AND_ASSIGN(const auto partial, PartialPartitionSpec(PartitionedInfo(), {{"n", "7"}}));
  EXPECT_EQ(partial.at("n"), "7");
}

// JDK 17 prints 1e23 with all its digits, later ones shortly.
TEST(PartitionRulesTest, TakesTheDigitsOfEachJava) {
  types::TableInfo info{.path = {"db", "t"}, .descriptor = Table()};
  info.descriptor.schema.columns[0].type = types::DataType::Of(types::TypeKind::kDouble);
  info.descriptor.partition_keys = {info.descriptor.schema.columns[0].name};
  const std::string& column = info.descriptor.partition_keys[0];
  for (const std::string text : {"1_0E23", "9_999999999999999E22", "4_9E-324"}) {
    EXPECT_OK(PartitionValues(info, {{column, text}}, true));
  }
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, PartitionValues(info, {{column, "1_0F"}}, true));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, PartitionValues(info, {{column, "1"}}, true));
}

TEST(PartitionRulesTest, RefusesWrongSpecs) {
  const PartitionSpec wrong[] = {{},
                                 {{"day", "mon"}},
                                 {{"day", "mon"}, {"n", "7"}, {"id", "1"}},
                                 {{"day", "mon"}, {"day", "tue"}},
                                 {{"day", "a b"}, {"n", "7"}},
                                 {{"day", "__x"}, {"n", "7"}},
                                 {{"day", ""}, {"n", "7"}},
                                 {{"day", "mon"}, {"n", "seven"}},
                                 {{"day", "mon"}, {"n", "07"}}};
  for (const PartitionSpec& spec : wrong) {
    EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, PartitionValues(PartitionedInfo(), spec, true));
  }
  types::TableInfo plain{.path = {"db", "t"}, .descriptor = Table()};
  EXPECT_CODE(ErrorCode::kTableNotPartitioned, PartitionValues(plain, {{"day", "mon"}}, true));
}

TEST(AssignmentTest, SpreadsBucketsAndNeverPutsTwoReplicasOnOneServer) {
  io::SeededRandom random(1);
  const std::vector<int32_t> servers = {3, 5, 9};
  ASSERT_OK_AND_ASSIGN(const auto buckets, AssignBuckets(9, 3, servers, 4, random));
  std::map<int32_t, int> leaders;
  for (const meta::BucketState& bucket : buckets) {
    EXPECT_EQ(std::set<int32_t>(bucket.replicas.begin(), bucket.replicas.end()).size(), 3u);
    EXPECT_EQ(bucket.leader, bucket.replicas[0]);
    EXPECT_EQ(bucket.isr, bucket.replicas);
    EXPECT_EQ(bucket.coordinator_epoch, 4);
    EXPECT_EQ(bucket.leader_epoch, 0);
    ++leaders[bucket.leader];
  }
  EXPECT_THAT(leaders, testing::UnorderedElementsAre(testing::Pair(3, 3), testing::Pair(5, 3),
                                                     testing::Pair(9, 3)));
  EXPECT_CODE(ErrorCode::kInvalidReplicationFactor, AssignBuckets(1, 4, servers, 1, random));
}

}  // namespace
}  // namespace sluice::coordinator
