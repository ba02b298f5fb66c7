#include "coordinator/auto_partition.h"

#include "coordinator/coordinator_testing.h"

namespace sluice::coordinator {
namespace {

using testing::ElementsAre;
using types::DataType;
using types::TypeKind;

constexpr int64_t kNow = 1700000000000;  // 2023-11-14 22:13:20 UTC
constexpr int64_t kHourMs = 3600 * 1000;

using Options = std::map<std::string, std::string>;

// Options by the ends of their names.
types::TableDescriptor ByTime(const Options& options, types::DataTypePtr type = nullptr) {
  types::TableDescriptor descriptor = PartitionedTable();
  if (type != nullptr) descriptor.schema.columns[1].type = std::move(type);
  descriptor.properties = {{"table.auto-partition.enabled", "true"},
                           {"table.auto-partition.time-zone", "UTC"}};
  for (const auto& [key, value] : options)
    descriptor.properties["table.auto-partition." + key] = value;
  return descriptor;
}

AutoPartition Rules(const Options& options, types::DataTypePtr type = nullptr) {
  return AutoPartition::Of(ByTime(options, std::move(type))).ValueOrDie();
}

TEST(AutoPartitionTest, NamesThePeriodsOfEachUnit) {
  const auto wanted = [](const std::string& unit, int64_t now_ms) {
    return Rules({{"time-unit", unit}, {"num-precreate", "3"}}).Wanted(now_ms, 100);
  };
  EXPECT_THAT(wanted("YEAR", kNow), ElementsAre("2023", "2024", "2025"));
  EXPECT_THAT(wanted("quarter", kNow), ElementsAre("20234", "20241", "20242"));
  EXPECT_THAT(wanted("MONTH", kNow), ElementsAre("202311", "202312", "202401"));
  EXPECT_THAT(wanted("DAY", kNow), ElementsAre("20231114", "20231115", "20231116"));
  EXPECT_THAT(wanted("HOUR", kNow), ElementsAre("2023111422", "2023111423", "2023111500"));
  // The last day of a long month: each month is there once.
  const int64_t end_of_january = 1706659200000;  // 2024-01-31
  EXPECT_THAT(wanted("MONTH", end_of_january), ElementsAre("202401", "202402", "202403"));
  EXPECT_THAT(wanted("QUARTER", end_of_january), ElementsAre("20241", "20242", "20243"));
  EXPECT_THAT(wanted("DAY", end_of_january + 28 * 24 * kHourMs),
              ElementsAre("20240228", "20240229", "20240301"));
  EXPECT_THAT(wanted("DAY", -1), ElementsAre("19691231", "19700101", "19700102"));
}

TEST(AutoPartitionTest, CountsInTheTablesZone) {
  EXPECT_THAT(Rules({{"time-zone", "Asia/Shanghai"}}).Wanted(kNow, 100),
              ElementsAre("20231115", "20231116"));
  // Clocks in New York go from 1:59 to 3:00, and in November twice through the hour from 1:00.
  const Options hours = {
      {"time-zone", "America/New_York"}, {"time-unit", "HOUR"}, {"num-precreate", "3"}};
  EXPECT_THAT(Rules(hours).Wanted(1710054000000, 100),  // 2024-03-10 07:00 UTC
              ElementsAre("2024031003", "2024031004", "2024031005"));
  EXPECT_THAT(Rules(hours).Wanted(1710050400000, 100),
              ElementsAre("2024031001", "2024031003", "2024031004"));
  EXPECT_THAT(Rules(hours).Wanted(1730608200000, 100),  // 2024-11-03 04:30 UTC
              ElementsAre("2024110300", "2024110301"));
}

TEST(AutoPartitionTest, KeepsSoManyPeriods) {
  EXPECT_EQ(Rules({}).FirstKept(kNow), "20231107");  // Seven days.
  EXPECT_EQ(Rules({{"num-retention", "0"}}).FirstKept(kNow), "20231114");
  EXPECT_EQ(Rules({{"num-retention", "-1"}}).FirstKept(kNow), std::nullopt);
  EXPECT_EQ(Rules({{"num-retention", "2147483647"}}).FirstKept(kNow), std::nullopt);
  EXPECT_EQ(Rules({{"num-retention", "5"}, {"time-unit", "QUARTER"}}).FirstKept(kNow), "20223");
  EXPECT_EQ(Rules({{"num-retention", "30"}, {"time-unit", "HOUR"}}).FirstKept(kNow), "2023111316");
  EXPECT_EQ(Rules({{"num-precreate", "2147483647"}}).Wanted(kNow, 10).size(), 10u);
  EXPECT_EQ(Rules({{"num-precreate", "2147483647"}, {"time-unit", "YEAR"}})
                .Wanted(kNow, 1'000'000)
                .back(),
            "9999");
  EXPECT_TRUE(Rules({{"num-precreate", "0"}}).Wanted(kNow, 10).empty());
}

TEST(AutoPartitionTest, TakesFormatsWithTheUnitsFields) {
  EXPECT_THAT(Rules({{"time-format", "yyyy-MM-dd"}}).Wanted(kNow, 1), ElementsAre("2023-11-14"));
  EXPECT_THAT(Rules({{"time-unit", "HOUR"}, {"time-format", "yyyyMMdd_HH"}}).Wanted(kNow, 1),
              ElementsAre("20231114_22"));
  for (const char* format : {"yyyy", "dd-MM-yyyy", "yyyyMMddHH", "yyyy/MM/dd", "yyMMdd", "day"})
    EXPECT_CODE(ErrorCode::kInvalidTable, AutoPartition::Of(ByTime({{"time-format", format}})));
  // The column must have such values.
  const auto date = DataType::Of(TypeKind::kDate);
  EXPECT_CODE(ErrorCode::kInvalidTable, AutoPartition::Of(ByTime({}, date)));
  EXPECT_THAT(Rules({{"time-format", "yyyy-MM-dd"}}, date).Wanted(kNow, 1),
              ElementsAre("2023-11-14"));
  EXPECT_THAT(Rules({}, DataType::Of(TypeKind::kInteger)).Wanted(kNow, 1), ElementsAre("20231114"));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              AutoPartition::Of(ByTime({}, DataType::Of(TypeKind::kBoolean))));
}

TEST(AutoPartitionTest, RefusesValuesThatAreNoTimeOrOver) {
  const AutoPartition rules = Rules({});
  for (const char* value : {"20231114", "20231107", "20991231"})
    EXPECT_OK(rules.Check(value, kNow));
  for (const char* value :
       {"20231106", "2023111", "202311141", "20231301", "20230230", "mon", "2023-11-14", ""})
    EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, rules.Check(value, kNow));
  EXPECT_OK(Rules({{"enabled", "false"}}).Check("mon", kNow));
  const AutoPartition format_only = Rules({{"enabled", "false"}, {"time-format", "yyyyMMdd"}});
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, format_only.Check("mon", kNow));
  EXPECT_OK(format_only.Check("19990101", kNow));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              Rules({{"time-unit", "QUARTER"}}).Check("20235", kNow));
}

const types::TablePath kByTime{"fluss", "t"};

class PartitionKeeperTest : public testing::Test {
 protected:
  void SetUp() override { h_.Start(); }
  std::vector<std::string> Names(const types::TablePath& path = kByTime) {
    std::vector<std::string> names;
    for (const auto& [name, partition] : h_.state()->FindTable(path)->partitions)
      names.push_back(name);
    return names;
  }
  io::Task<void> Altered(wire::AlterTableRequest request) {
    io::Call call{.api_key = static_cast<int16_t>(wire::ApiKey::kAlterTable),
                  .body = wire::Serialize(request)};
    const auto reply = co_await h_.coordinator->Handle(
        h_.client_loop(), std::make_shared<const io::Principal>(), std::move(call));
    EXPECT_OK(reply.status());
  }
  Harness h_;
};

TEST_F(PartitionKeeperTest, MakesPartitionsAtOnceAndByTheClockAndDropsThoseThatAreOver) {
  ASSERT_OK(h_.CreateTable(kByTime, ByTime({{"num-retention", "1"}})));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115"));
  EXPECT_EQ(h_.tablet->replicas.size(), 2u);
  h_.world.RunFor(std::chrono::hours(2));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115", "20231116"));
  h_.world.RunFor(std::chrono::hours(24));
  EXPECT_THAT(Names(), ElementsAre("20231115", "20231116", "20231117"));
  EXPECT_EQ(h_.tablet->files.size(), 3u);
  // The server was away for days; the start looks at once.
  h_.Stop();
  h_.world.RunFor(std::chrono::hours(24 * 3));
  h_.Start();
  h_.world.RunFor(std::chrono::seconds(1));
  EXPECT_THAT(Names(), ElementsAre("20231119", "20231120"));
  h_.world.clock().SetSkew(-std::chrono::hours(48));  // A clock set back drops nothing.
  h_.world.RunFor(std::chrono::hours(1));
  EXPECT_THAT(Names(), testing::IsSupersetOf({"20231119", "20231120"}));
}

TEST_F(PartitionKeeperTest, FollowsAlter) {
  types::TableDescriptor table = ByTime({{"enabled", "false"}});
  ASSERT_OK(h_.CreateTable(kByTime, table));
  EXPECT_THAT(Names(), ElementsAre());
  ASSERT_OK(h_.CreatePartition(kByTime, {{"name", "20220101"}}));
  ASSERT_OK(h_.SetOption(kByTime, "table.auto-partition.enabled", "true"));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115"));
  ASSERT_OK(h_.SetOption(kByTime, "table.auto-partition.num-precreate", "4"));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115", "20231116", "20231117"));
  ASSERT_OK(h_.SetOption(kByTime, "table.auto-partition.enabled", "false"));
  h_.world.RunFor(std::chrono::hours(24 * 30));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115", "20231116", "20231117"));
  EXPECT_CODE(ErrorCode::kInvalidAlterTable,
              h_.SetOption(kByTime, "table.auto-partition.time-unit", "HOUR"));
}

TEST_F(PartitionKeeperTest, AFailureIsTriedAgain) {
  h_.settings.max_partition_number = 3;
  h_.Restart();
  ASSERT_OK(h_.CreateTable(kByTime, ByTime({{"num-precreate", "5"}})));
  EXPECT_EQ(Names().size(), 3u);
  ASSERT_OK(h_.DropPartition(kByTime, {{"name", "20231114"}}));
  h_.world.RunFor(std::chrono::minutes(11));
  EXPECT_THAT(Names(), ElementsAre("20231114", "20231115", "20231116"));
}

TEST_F(PartitionKeeperTest, WithSeveralColumnsWritersMakeThemAndTimeDropsThem) {
  types::TableDescriptor table = ByTime({{"key", "name"}, {"num-retention", "1"}});
  table.schema.columns.push_back({.name = "land", .type = DataType::Of(TypeKind::kString)});
  table.partition_keys = {"land", "name"};
  ASSERT_OK(h_.CreateTable(kByTime, table));
  EXPECT_THAT(Names(), ElementsAre());
  const auto add = [&](const std::string& land, const std::string& day) {
    return h_.CreatePartition(kByTime, {{"land", land}, {"name", day}});
  };
  ASSERT_OK(add("a", "20231113"));
  ASSERT_OK(add("b", "20231113"));
  ASSERT_OK(add("a", "20231114"));
  ASSERT_OK(add("20200101", "20231114"));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, add("a", "20231112"));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, add("a", "today"));
  h_.world.RunFor(std::chrono::hours(3));
  EXPECT_THAT(Names(), ElementsAre("20200101$20231114", "a$20231114"));
}

// Each drop waits for the tablet server, and an ALTER gets its turn in between.
TEST_F(PartitionKeeperTest, DropsByTheOptionsOfItsTurn) {
  for (const auto& [option, value] : {std::pair("table.auto-partition.num-retention", "-1"),
                                      {"table.auto-partition.enabled", "false"}}) {
    const types::TablePath path{"fluss", option[21] == 'n' ? "kept" : "off"};
    h_.tablet->delay = {};
    types::TableDescriptor table = ByTime({{"key", "name"}, {"num-retention", "-1"}});
    table.schema.columns.push_back({.name = "land", .type = DataType::Of(TypeKind::kString)});
    table.partition_keys = {"land", "name"};
    ASSERT_OK(h_.CreateTable(path, table));
    for (const char* land : {"a", "b", "c", "d", "e", "f"})
      ASSERT_OK(h_.CreatePartition(path, {{"land", land}, {"name", "20231112"}}));
    h_.tablet->delay = std::chrono::seconds(1);
    wire::AlterTableRequest shorter = Harness::Alter(path);
    auto* config = shorter.add_config_changes();
    config->set_config_key("table.auto-partition.num-retention");
    config->set_config_value("1");
    config->set_op_type(0);
    io::Spawn(Altered(shorter));
    while (Names(path).size() == 6) h_.world.RunFor(std::chrono::milliseconds(100));
    ASSERT_OK(h_.SetOption(path, option, value));
    const auto left = Names(path);
    EXPECT_GE(left.size(), 3u);
    h_.world.RunFor(std::chrono::minutes(1));
    EXPECT_EQ(Names(path), left);
  }
}

}  // namespace
}  // namespace sluice::coordinator
