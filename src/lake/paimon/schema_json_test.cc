#include "lake/paimon/schema_json.h"

#include <nlohmann/json.hpp>

#include "base/testing.h"
#include "io/file.h"
#include "lake/paimon/snapshot_json.h"

namespace sluice::lake::paimon {
namespace {

using types::DataType;
using types::TypeKind;

std::string Sample(const std::string& path) {
  return io::LocalFileSystem().ReadFile("lake/testdata/sample.db/" + path).ValueOrDie();
}

TEST(SchemaJsonTest, WritesWhatJavaWroteAgain) {
  for (const char* table : {"log_all", "pk_all", "log_part", "pk_part", "log_bkey"}) {
    const std::string text = Sample(std::string(table) + "/schema/schema-0");
    ASSERT_OK_AND_ASSIGN(const LakeSchema schema, ParseSchema(text));
    EXPECT_EQ(nlohmann::json::parse(SchemaToJson(schema)), nlohmann::json::parse(text)) << table;
  }
}

TEST(SchemaJsonTest, ParsesTypeTexts) {
  const auto text_of = [](std::string_view text) {
    const auto type = ParseTypeText(text);
    return type.ok() ? (*type)->ToString() : "";
  };
  EXPECT_EQ(text_of("TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"), "TIMESTAMP_LTZ(3) NOT NULL");
  EXPECT_EQ(text_of("timestamp_ltz(9)"), "TIMESTAMP_LTZ(9)");
  EXPECT_EQ(text_of("TIMESTAMP"), "TIMESTAMP(6)");
  EXPECT_EQ(text_of("TIMESTAMP WITHOUT TIME ZONE"), "TIMESTAMP(6)");
  EXPECT_EQ(text_of("NUMERIC(5,2)"), "DECIMAL(5, 2)");
  EXPECT_EQ(text_of("VARCHAR(10)"), "STRING");
  EXPECT_EQ(text_of("DOUBLE PRECISION"), "DOUBLE");
  EXPECT_CODE(ErrorCode::kInvalidTable, ParseTypeText("VARIANT"));
  EXPECT_CODE(ErrorCode::kInvalidTable, ParseTypeText("DECIMAL(x, 2)"));
}

// Ids by Java's schema builder: a column before what is nested in it, a row's field behind what is
// nested in that.
TEST(SchemaJsonTest, AssignsIdsAsJavaDoes) {
  const auto inner = DataType::Row({{"x", DataType::Of(TypeKind::kInteger), ""}});
  std::vector<types::Column> columns{
      {"a", DataType::Of(TypeKind::kInteger), ""},
      {"r", DataType::Row({{"p", inner, ""}, {"q", DataType::Of(TypeKind::kString), ""}}), ""},
      {"b", DataType::Of(TypeKind::kInteger), ""}};
  int32_t highest = -1;
  AssignIds(&columns, &highest);
  EXPECT_EQ(columns[0].id, 0);
  EXPECT_EQ(columns[1].id, 1);
  const types::RowField& p = columns[1].type->fields()[0];
  EXPECT_EQ(p.type->fields()[0].field_id, 2);
  EXPECT_EQ(p.field_id, 3);
  EXPECT_EQ(columns[1].type->fields()[1].field_id, 4);
  EXPECT_EQ(columns[2].id, 5);
  EXPECT_EQ(highest, 5);
}

TEST(SchemaJsonTest, EditPutsColumnsBeforeTheSystemColumnsAndKeepsTheRest) {
  std::string text = Sample("pk_part/schema/schema-0");
  text.insert(text.find('{') + 1, "\"fromTheFuture\": [1],");
  SchemaEdit edit{.id = 1,
                  .time_ms = 5,
                  .added = {{"extra", DataType::Of(TypeKind::kDouble), "new"}},
                  .set_options = {{"fluss.k", "v"}},
                  .reset_options = {"fluss.bucket.num"}};
  ASSERT_OK_AND_ASSIGN(const std::string edited, EditSchemaJson(text, edit));
  ASSERT_OK_AND_ASSIGN(const LakeSchema schema, ParseSchema(edited));
  EXPECT_EQ(schema.id, 1);
  EXPECT_EQ(schema.columns[4].name, "extra");
  EXPECT_EQ(schema.columns[4].id, 7);
  EXPECT_EQ(schema.highest_field_id, 7);
  EXPECT_EQ(schema.columns[5].name, kBucketColumn);
  EXPECT_EQ(schema.Option("fluss.k"), "v");
  EXPECT_EQ(schema.Option("fluss.bucket.num", "gone"), "gone");
  EXPECT_TRUE(nlohmann::json::parse(edited).contains("fromTheFuture"));
}

TEST(SchemaJsonTest, BrokenFilesAreErrors) {
  const std::string text = Sample("pk_part/schema/schema-0");
  for (size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, ParseSchema(std::string_view(text).substr(0, size)));
  }
  EXPECT_CODE(ErrorCode::kCorruptRecord, ParseSchema(R"({"id":"0"})"));
}

TEST(SnapshotJsonTest, KeepsWhatJavaWrote) {
  ASSERT_OK_AND_ASSIGN(const LakeSnapshot snapshot,
                       ParseSnapshot(Sample("pk_all/snapshot/snapshot-3")));
  EXPECT_EQ(snapshot.id, 3);
  EXPECT_EQ(snapshot.commit_kind, "APPEND");
  EXPECT_EQ(snapshot.commit_identifier, INT64_MAX);
  EXPECT_EQ(snapshot.total_records, 5);
  EXPECT_EQ(snapshot.changelog_records, 1);
  ASSERT_OK_AND_ASSIGN(const LakeSnapshot again, ParseSnapshot(SnapshotToJson(snapshot)));
  EXPECT_EQ(SnapshotToJson(again), SnapshotToJson(snapshot));
  EXPECT_CODE(ErrorCode::kCorruptRecord, ParseSnapshot("{}"));
  EXPECT_CODE(ErrorCode::kCorruptRecord, ParseSnapshot("{\"id\":1"));
}

}  // namespace
}  // namespace sluice::lake::paimon
