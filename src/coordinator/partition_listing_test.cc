#include "coordinator/catalog_reads.h"
#include "coordinator/coordinator_testing.h"
#include "coordinator/partition_rules.h"

namespace sluice::coordinator {
namespace {

using types::DataType;
using types::TypeKind;

struct TypeCase {
  types::DataTypePtr type;
  std::vector<std::string> texts;
  std::vector<std::string> wrong;  ///< No values of the type, or not as writers spell them.
};

std::vector<TypeCase> AllTypes() {
  return {
      {DataType::Char(3), {"abc", "a"}, {"", "a b", "a$b", "a.b", "__x"}},
      {DataType::Of(TypeKind::kString),
       {"mon", "1", "-", std::string(200, 'x')},
       {"", "ä", "a/b", "__historical__", std::string(201, 'x')}},
      {DataType::Of(TypeKind::kBoolean), {"true", "false"}, {"TRUE", "1", "yes"}},
      {DataType::Binary(2), {"0aff"}, {"0AFF", "0af", "xy"}},
      {DataType::Of(TypeKind::kBytes), {"00", "0aff00"}, {"0A", "0", ""}},
      {DataType::Of(TypeKind::kTinyInt), {"127", "-128", "0"}, {"128", "01", "+1", "-0", "1_0"}},
      {DataType::Of(TypeKind::kSmallInt), {"32767", "-32768"}, {"32768", "1e3"}},
      {DataType::Of(TypeKind::kInteger), {"2147483647", "-2147483648"}, {"2147483648", "x"}},
      {DataType::Of(TypeKind::kBigInt), {"9223372036854775807"}, {"9223372036854775808"}},
      {DataType::Of(TypeKind::kFloat),
       {"1_5", "-0_0", "NaN", "Inf", "-Inf", "1_0E10"},
       {"1", "1.5", "nan", "inf", "1_50"}},
      {DataType::Of(TypeKind::kDouble), {"0_1", "1_0E-5", "100_0"}, {"0_10", "1e5", "Infinity"}},
      {DataType::Of(TypeKind::kDate),
       {"2025-02-28", "1969-12-31"},
       {"2025-02-29", "2025-2-28", "20250228"}},
      {DataType::Time(3),
       {"23-59-59_999", "00-00-00_000"},
       {"24-00-00_000", "10-00-00", "1-2-3_4"}},
      {DataType::Timestamp(6),
       {"2025-05-12-10-00-00_", "2025-05-12-10-00-00_123456"},
       {"2025-05-12-10-00-00_1230", "2025-05-12-10-00-00_1234567", "2025-05-12"}},
      {DataType::TimestampLtz(3), {"1969-12-31-23-59-59_999"}, {"2025-13-01-00-00-00_"}},
  };
}

class PartitionListingTest : public testing::Test {
 protected:
  void SetUp() override { h_.Start(); }
  // Names of the partitions that agree with a spec.
  Result<std::vector<std::string>> List(const types::TablePath& path, const Harness::Spec& spec) {
    wire::ListPartitionInfosRequest list;
    Harness::SetPath(path, list.mutable_table_path());
    if (!spec.empty()) Harness::SetSpec(spec, list.mutable_partial_partition_spec());
    ASSIGN_OR_RAISE(const auto reply, ListPartitions(*h_.state(), list));
    std::vector<std::string> names;
    for (const auto& info : reply.partitions_info()) {
      std::string name;
      for (const auto& pair : info.partition_spec().partition_key_values())
        name += (name.empty() ? "" : "$") + pair.value();
      names.push_back(name);
    }
    return names;
  }
  Harness h_;
};

TEST_F(PartitionListingTest, EveryTypeHasItsTexts) {
  int number = 0;
  for (const TypeCase& one : AllTypes()) {
    SCOPED_TRACE(one.type->ToString());
    const types::TablePath path{"fluss", "t" + std::to_string(number++)};
    types::TableDescriptor table = PartitionedTable();
    table.schema.columns[1].type = one.type;
    ASSERT_OK(h_.CreateTable(path, table));
    for (const std::string& text : one.texts) {
      SCOPED_TRACE(text);
      ASSERT_OK(h_.CreatePartition(path, {{"name", text}}));
      EXPECT_CODE(ErrorCode::kPartitionAlreadyExists, h_.CreatePartition(path, {{"name", text}}));
      ASSERT_OK_AND_ASSIGN(const auto listed, List(path, {{"name", text}}));
      EXPECT_THAT(listed, testing::ElementsAre(text));
    }
    for (const std::string& text : one.wrong) {
      SCOPED_TRACE(text);
      EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, h_.CreatePartition(path, {{"name", text}}));
    }
    ASSERT_OK_AND_ASSIGN(const auto all, List(path, {}));
    EXPECT_THAT(all, testing::UnorderedElementsAreArray(one.texts));
    h_.Restart();
    EXPECT_EQ(List(path, {}).ValueOrDie(), all);
    for (const std::string& text : one.texts) ASSERT_OK(h_.DropPartition(path, {{"name", text}}));
    EXPECT_TRUE(List(path, {})->empty());
  }
}

TEST_F(PartitionListingTest, AFilterNamesAnyOfTheColumns) {
  const types::TablePath path{"fluss", "several"};
  types::TableDescriptor table = LogTable();
  table.schema.columns.push_back({.name = "day", .type = DataType::Of(TypeKind::kDate)});
  table.schema.columns.push_back({.name = "hot", .type = DataType::Of(TypeKind::kBoolean)});
  table.partition_keys = {"name", "day", "hot"};
  ASSERT_OK(h_.CreateTable(path, table));
  for (const char* name : {"a", "b"}) {
    for (const char* day : {"2025-01-01", "2025-01-02"}) {
      for (const char* hot : {"true", "false"}) {
        // In any order.
        ASSERT_OK(h_.CreatePartition(path, {{"hot", hot}, {"name", name}, {"day", day}}));
      }
    }
  }
  using testing::ElementsAre;
  EXPECT_EQ(List(path, {})->size(), 8u);
  EXPECT_EQ(List(path, {{"name", "a"}})->size(), 4u);
  EXPECT_EQ(List(path, {{"hot", "true"}})->size(), 4u);
  EXPECT_THAT(*List(path, {{"hot", "true"}, {"day", "2025-01-02"}}),
              ElementsAre("a$2025-01-02$true", "b$2025-01-02$true"));
  EXPECT_THAT(*List(path, {{"day", "2025-01-01"}, {"name", "b"}, {"hot", "false"}}),
              ElementsAre("b$2025-01-01$false"));
  EXPECT_THAT(*List(path, {{"name", "c"}}), ElementsAre());
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, List(path, {{"id", "1"}}));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, List(path, {{"name", "a"}, {"name", "b"}}));
  EXPECT_CODE(ErrorCode::kTableNotExist, List({"fluss", "none"}, {}));
  ASSERT_OK(h_.CreateTable({"fluss", "plain"}, LogTable()));
  EXPECT_CODE(ErrorCode::kTableNotPartitioned, List({"fluss", "plain"}, {}));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              h_.DropPartition(path, {{"name", "a"}, {"day", "2025-01-01"}}));
  ASSERT_OK(h_.DropPartition(path, {{"day", "2025-01-01"}, {"hot", "true"}, {"name", "a"}}));
  EXPECT_EQ(List(path, {{"name", "a"}})->size(), 3u);
}

}  // namespace
}  // namespace sluice::coordinator
