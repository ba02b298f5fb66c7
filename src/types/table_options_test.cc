#include "types/table_options.h"

#include "base/testing.h"

namespace sluice::types {
namespace {

TableDescriptor With(const std::string& key, const std::string& value) {
  TableDescriptor table;
  table.properties[key] = value;
  return table;
}

// What one part of the server took for tiered, another must not read without the lake.
TEST(TableOptionsTest, ValuesCountInAnyCase) {
  for (const char* yes : {"true", "TRUE", "True", " true "})
    EXPECT_TRUE(LakeEnabled(With("table.datalake.enabled", yes))) << yes;
  for (const char* no : {"false", "FALSE", "yes", "", "1"})
    EXPECT_FALSE(LakeEnabled(With("table.datalake.enabled", no))) << no;
  EXPECT_FALSE(LakeEnabled({}));
  EXPECT_TRUE(AutoCompaction({}));
  EXPECT_FALSE(AutoCompaction(With("table.datalake.auto-compaction", "False")));
  EXPECT_FALSE(AutoExpireSnapshot(With("table.datalake.auto-expire-snapshot", "FALSE")));
  for (const char* indexed : {"INDEXED", "indexed", "Indexed"})
    EXPECT_EQ(*KvFormatOf(With("table.kv.format", indexed)), RowFormat::kIndexed) << indexed;
  EXPECT_EQ(*KvFormatOf({}), RowFormat::kCompacted);
  EXPECT_CODE(ErrorCode::kInvalidTable, KvFormatOf(With("table.kv.format", "arrow")));
  EXPECT_EQ(LogFormatOf({}), LogFormat::kArrow);
  EXPECT_EQ(LogFormatOf(With("table.log.format", "arrow")), LogFormat::kArrow);
  EXPECT_EQ(LogFormatOf(With("table.log.format", "indexed")), LogFormat::kIndexed);
  EXPECT_EQ(LogFormatOf(With("table.log.format", "Compacted")), LogFormat::kCompacted);
}

TEST(TableOptionsTest, ColumnsWithStatistics) {
  TableDescriptor table = With("table.statistics.columns", " * ");
  table.schema.columns = {{.name = "a", .type = DataType::Of(TypeKind::kInteger)},
                          {.name = "b", .type = DataType::Of(TypeKind::kBytes)},
                          {.name = "c", .type = DataType::Char(3)}};
  EXPECT_EQ(StatisticsColumns(table), (std::vector<int>{0, 2}));
  table.properties["table.statistics.columns"] = "c, ,b ,gone,a";
  EXPECT_EQ(StatisticsColumns(table), (std::vector<int>{0, 2}));
  table.properties["table.statistics.columns"] = "c";
  EXPECT_EQ(StatisticsColumns(table), (std::vector<int>{2}));
  table.schema.primary_key = {"a"};
  EXPECT_TRUE(StatisticsColumns(table).empty());
  EXPECT_TRUE(StatisticsColumns({}).empty());
}

TEST(TableOptionsTest, NumbersAndDurations) {
  EXPECT_EQ(KvFormatVersion({}), 1);
  EXPECT_EQ(KvFormatVersion(With("table.kv.format-version", " 2 ")), 2);
  EXPECT_EQ(FreshnessMs({}), 180'000);
  EXPECT_EQ(FreshnessMs(With("table.datalake.freshness", "5 Min")), 300'000);
  EXPECT_EQ(FreshnessMs(With("table.datalake.freshness", "500000 d")), kDurationMaxMs);
  EXPECT_CODE(ErrorCode::kInvalidConfig, ParseInteger("2147483648"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, ParseInteger("2 apples"));
}

}  // namespace
}  // namespace sluice::types
