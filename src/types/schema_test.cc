#include "types/schema.h"

#include <arrow/type.h>

#include "base/check.h"
#include "base/testing.h"

namespace sluice::types {
namespace {

DataTypePtr I(bool nullable = true) { return DataType::Of(TypeKind::kInteger, nullable); }
DataTypePtr S(bool nullable = true) { return DataType::Of(TypeKind::kString, nullable); }

std::vector<std::pair<DataTypePtr, std::string>> TypesAsJson() {
  return {
      {DataType::Char(3), R"({"type":"CHAR","length":3})"},
      {S(), R"({"type":"STRING"})"},
      {DataType::Of(TypeKind::kBoolean, false), R"({"type":"BOOLEAN","nullable":false})"},
      {DataType::Binary(4), R"({"type":"BINARY","length":4})"},
      {DataType::Of(TypeKind::kBytes), R"({"type":"BYTES"})"},
      {DataType::Decimal(10, 2), R"({"type":"DECIMAL","precision":10,"scale":2})"},
      {DataType::Of(TypeKind::kTinyInt), R"({"type":"TINYINT"})"},
      {DataType::Of(TypeKind::kSmallInt), R"({"type":"SMALLINT"})"},
      {I(false), R"({"type":"INTEGER","nullable":false})"},
      {DataType::Of(TypeKind::kBigInt), R"({"type":"BIGINT"})"},
      {DataType::Of(TypeKind::kFloat), R"({"type":"FLOAT"})"},
      {DataType::Of(TypeKind::kDouble), R"({"type":"DOUBLE"})"},
      {DataType::Of(TypeKind::kDate), R"({"type":"DATE"})"},
      {DataType::Time(0), R"({"type":"TIME_WITHOUT_TIME_ZONE","precision":0})"},
      {DataType::Timestamp(6), R"({"type":"TIMESTAMP_WITHOUT_TIME_ZONE","precision":6})"},
      {DataType::TimestampLtz(3, false),
       R"({"type":"TIMESTAMP_WITH_LOCAL_TIME_ZONE","nullable":false,"precision":3})"},
      {DataType::Array(S()), R"({"type":"ARRAY","element_type":{"type":"STRING"}})"},
      {DataType::Map(I(false), S()),
       R"({"type":"MAP","key_type":{"type":"INTEGER","nullable":false},"value_type":{"type":"STRING"}})"},
      {DataType::Row({{"a", I(), "first", 4}, {"b", DataType::Array(I()), "", 5}}),
       R"({"type":"ROW","fields":[{"name":"a","field_type":{"type":"INTEGER"},"description":"first","field_id":4},)"
       R"({"name":"b","field_type":{"type":"ARRAY","element_type":{"type":"INTEGER"}},"field_id":5}]})"},
  };
}

TEST(DataTypeTest, WritesAndReadsTheJsonOfEachKind) {
  for (const auto& [type, json] : TypesAsJson()) {
    EXPECT_EQ(type->ToJson(), json);
    ASSERT_OK_AND_ASSIGN(const DataTypePtr back, DataType::FromJson(json));
    EXPECT_TRUE(back->Equals(*type)) << json;
  }
}

TEST(DataTypeTest, RefusesBadJsonAndSaysWhat) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not json"},
      {"[]", "not a json object"},
      {R"({"nullable":false})", "lacks its type"},
      {R"({"type":"INT"})", "type=INT"},
      {R"({"type":"DECIMAL","precision":39,"scale":0})", "precision"},
      {R"({"type":"DECIMAL","precision":4,"scale":5})", "scale"},
      {R"({"type":"CHAR"})", "length"},
      {R"({"type":"CHAR","length":"3"})", "length"},
      {R"({"type":"CHAR","length":99999999999})", "length"},
      {R"({"type":"TIMESTAMP_WITHOUT_TIME_ZONE","precision":10})", "precision"},
      {R"({"type":"ARRAY"})", "element_type"},
      {R"({"type":"MAP","key_type":{"type":"STRING"}})", "value_type"},
      {R"({"type":"ROW","fields":[{"name":"a"}]})", "field_type"},
      {R"({"type":"ROW","fields":[{"name":"a","field_type":{"type":"STRING"}},{"name":"a","field_type":{"type":"DATE"}}]})",
       "field=a"},
  };
  for (const auto& [json, word] : cases) {
    const auto type = DataType::FromJson(json);
    SCOPED_TRACE(json);
    EXPECT_CODE(ErrorCode::kInvalidTable, type);
    EXPECT_THAT(type.status().message(), testing::HasSubstr(word)) << json;
  }
}

TEST(DataTypeTest, BoundsTheNestingOfJson) {
  std::string json;
  for (int i = 0; i < 100000; ++i) json += R"({"type":"ARRAY","element_type":)";
  json += R"({"type":"STRING"})" + std::string(100000, '}');
  EXPECT_CODE(ErrorCode::kInvalidTable, DataType::FromJson(json));
}

TEST(DataTypeTest, PrintsAsSql) {
  EXPECT_EQ(DataType::Decimal(10, 2, false)->ToString(), "DECIMAL(10, 2) NOT NULL");
  EXPECT_EQ(DataType::TimestampLtz(3)->ToString(), "TIMESTAMP_LTZ(3)");
  EXPECT_EQ(DataType::Array(I(false))->ToString(), "ARRAY<INT NOT NULL>");
  EXPECT_EQ(DataType::Map(S(), I())->ToString(), "MAP<STRING, INT>");
  EXPECT_EQ(DataType::Row({{"a`b", I(), "it's", -1}, {"c", S(), "", -1}})->ToString(),
            "ROW<`a``b` INT 'it''s', `c` STRING>");
}

TEST(DataTypeTest, MapsToArrow) {
  const auto text = [](const DataTypePtr& type) { return type->ToArrow()->ToString(); };
  EXPECT_EQ(text(DataType::Time(0)), "time32[s]");
  EXPECT_EQ(text(DataType::Time(3)), "time32[ms]");
  EXPECT_EQ(text(DataType::Time(4)), "time64[us]");
  EXPECT_EQ(text(DataType::Time(9)), "time64[ns]");
  EXPECT_EQ(text(DataType::Timestamp(0)), "timestamp[s]");
  EXPECT_EQ(text(DataType::TimestampLtz(6)), "timestamp[us]");
  EXPECT_EQ(text(DataType::Timestamp(9)), "timestamp[ns]");
  EXPECT_EQ(text(DataType::Decimal(38, 3)), "decimal128(38, 3)");
  EXPECT_EQ(text(DataType::Binary(7)), "fixed_size_binary[7]");
  EXPECT_EQ(text(DataType::Array(I(false))), "list<element: int32 not null>");
  EXPECT_EQ(text(DataType::Map(S(), I())), "map<string, int32>");
}

TEST(DataTypeTest, EqualityMindsNullabilityAndIds) {
  EXPECT_FALSE(I()->Equals(*I(false)));
  EXPECT_FALSE(DataType::Row({{"a", I(), "", 1}})->Equals(*DataType::Row({{"a", I(), "", 2}})));
  EXPECT_TRUE(DataType::Row({{"a", I(), "x", 1}})->Equals(*DataType::Row({{"a", I(), "y", 1}})));
  EXPECT_TRUE(I(false)->WithNullable(true)->Equals(*I()));
}

constexpr std::string_view kTable =
    R"({"version":1,"schema":{"version":1,"columns":[)"
    R"({"name":"d","data_type":{"type":"STRING","nullable":false},"id":0},)"
    R"({"name":"id","data_type":{"type":"BIGINT","nullable":false},"comment":"key","id":1},)"
    R"({"name":"n","data_type":{"type":"INTEGER"},"agg_function":{"type":"listagg","parameters":{"delimiter":";"}},"id":2}],)"
    R"("primary_key":["d","id"],"highest_field_id":2},"comment":"orders","partition_key":["d"],"bucket_key":["id"],)"
    R"("bucket_count":3,"properties":{"table.kv.format":"COMPACTED"},"custom_properties":{"owner":"me"}})";

TEST(TableDescriptorTest, ComesBackByteForByte) {
  ASSERT_OK_AND_ASSIGN(const auto table, TableDescriptor::FromJson(kTable));
  EXPECT_EQ(table.ToJson(), kTable);
  EXPECT_EQ(table.PhysicalPrimaryKey(), std::vector<std::string>{"id"});
  EXPECT_EQ(table.Property("table.kv.format"), "COMPACTED");
  EXPECT_EQ(table.schema.columns[2].agg_parameters.at("delimiter"), ";");
}

TEST(TableDescriptorTest, FillsInTheBucketKeyAndMakesKeysNotNull) {
  ASSERT_OK_AND_ASSIGN(
      const auto table,
      TableDescriptor::FromJson(
          R"({"version":1,"schema":{"version":1,"columns":[{"name":"p","data_type":{"type":"STRING"}},)"
          R"({"name":"k","data_type":{"type":"INTEGER"}}],"primary_key":["p","k"]},"partition_key":["p"],)"
          R"("properties":{},"custom_properties":{}})"));
  EXPECT_EQ(table.bucket_keys, std::vector<std::string>{"k"});
  EXPECT_FALSE(table.schema.columns[1].type->nullable());
  EXPECT_FALSE(table.bucket_count.has_value());
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  CHECK(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(TableDescriptorTest, RefusesWhatDoesNotFitTogether) {
  const std::string good(kTable);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {Replace(good, R"("bucket_key":["id"],)", ""), "bucket_key"},
      {Replace(good, R"("bucket_key":["id"])", R"("bucket_key":["n"])"), "column=n"},
      {Replace(good, R"("bucket_key":["id"])", R"("bucket_key":["d"])"), "column=d"},
      {Replace(good, R"("bucket_key":["id"])", R"("bucket_key":["x"])"), "column=x"},
      {Replace(good, R"("partition_key":["d"])", R"("partition_key":["n"])"), "column=n"},
      {Replace(good, R"("primary_key":["d","id"])", R"("primary_key":["d","id","id"])"),
       "column=id"},
      {Replace(good, R"("primary_key":["d","id"])", R"("primary_key":["d","gone"])"),
       "column=gone"},
      {Replace(good, R"("primary_key":["d","id"])", R"("primary_key":["d","id","n"])"), "column=n"},
      {Replace(good, R"("name":"n")", R"("name":"id")"), "column=id"},
      {Replace(good, "listagg", "median"), "median"},
      {Replace(good, R"("bucket_count":3)", R"("bucket_count":0)"), "bucket_count=0"},
      {Replace(good, R"("version":1)", R"("version":2)"), "version=2"},
      {Replace(good, R"("properties":{"table.kv.format":"COMPACTED"})", R"("properties":{"a":1})"),
       "properties"},
      {R"({"version":1})", "schema"},
  };
  for (const auto& [json, word] : cases) {
    const auto table = TableDescriptor::FromJson(json);
    SCOPED_TRACE(json);
    EXPECT_CODE(ErrorCode::kInvalidTable, table);
    EXPECT_THAT(table.status().message(), testing::HasSubstr(word)) << json;
  }
}

TEST(SchemaTest, GivesIdsInOrderToColumnsAndNestedFields) {
  Schema schema;
  schema.columns.push_back({"a", I()});
  schema.columns.push_back(
      {"r", DataType::Array(DataType::Row({{"x", DataType::Row({{"y", I()}})}, {"z", S()}}))});
  schema.columns.push_back({"b", S()});
  ASSERT_OK(schema.AssignIds());
  EXPECT_EQ(schema.columns[1].id, 1);
  const auto& row = *schema.columns[1].type->element();
  EXPECT_EQ(row.fields()[0].field_id, 2);
  EXPECT_EQ(row.fields()[0].type->fields()[0].field_id, 3);
  EXPECT_EQ(row.fields()[1].field_id, 4);
  EXPECT_EQ(schema.columns[2].id, 5);
  EXPECT_EQ(schema.highest_field_id, 5);
}

TEST(SchemaTest, KeepsGivenIdsAndRefusesMixedOrRepeatedOnes) {
  Schema schema;
  schema.columns = {{"a", I(), "", 3}, {"b", I(), "", 7}};
  schema.highest_field_id = 9;
  ASSERT_OK(schema.AssignIds());
  EXPECT_EQ(schema.columns[0].id, 3);
  EXPECT_EQ(schema.highest_field_id, 9);
  schema.columns[1].id = 3;
  EXPECT_CODE(ErrorCode::kInvalidTable, schema.AssignIds());
  schema.columns[1].id = -1;
  EXPECT_CODE(ErrorCode::kInvalidTable, schema.AssignIds());
}

TEST(DatabaseDescriptorTest, ReadsWritesAndRefuses) {
  ASSERT_OK_AND_ASSIGN(
      const auto database,
      DatabaseDescriptor::FromJson(R"({"version":1,"comment":"c","custom_properties":{"a":"b"}})"));
  EXPECT_EQ(database.ToJson(), R"({"version":1,"comment":"c","custom_properties":{"a":"b"}})");
  EXPECT_CODE(ErrorCode::kInvalidDatabase, DatabaseDescriptor::FromJson("x"));
  EXPECT_CODE(ErrorCode::kInvalidDatabase, DatabaseDescriptor::FromJson(R"({"comment":1})"));
}

TEST(NameTest, AllowsTheNamesThatJavaAllows) {
  EXPECT_EQ(NameProblem("Table_1-x", true), "");
  EXPECT_EQ(NameProblem(std::string(200, 'a'), true), "");
  EXPECT_NE(NameProblem(std::string(201, 'a'), false), "");
  EXPECT_NE(NameProblem("", false), "");
  EXPECT_NE(NameProblem("..", false), "");
  EXPECT_NE(NameProblem("a.b", false), "");
  EXPECT_NE(NameProblem("\xc3\xa4", false), "");
  EXPECT_NE(NameProblem("__x", true), "");
  EXPECT_EQ(NameProblem("__x", false), "");
}

TEST(IdsTest, PrintThePlaceOfABucket) {
  EXPECT_EQ((BucketId{3, 7, 0}).ToString(), "table_id=3 partition_id=7 bucket=0");
  EXPECT_EQ((BucketId{3, std::nullopt, 2}).ToString(), "table_id=3 bucket=2");
  EXPECT_EQ((PartitionInfo{1, {"2024", "eu"}}).Name(), "2024$eu");
}

}  // namespace
}  // namespace sluice::types
