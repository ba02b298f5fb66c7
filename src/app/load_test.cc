#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>

#include "app/load_options.h"
#include "app/load_source.h"
#include "base/testing.h"
#include "io/file.h"

namespace sluice::app {
namespace {

using types::DataType;
using types::TypeKind;
using Rows = std::shared_ptr<arrow::RecordBatch>;

std::vector<types::Column> Columns() {
  return {{"id", DataType::Of(TypeKind::kInteger)}, {"name", DataType::Of(TypeKind::kString)},
          {"price", DataType::Decimal(10, 2)},      {"day", DataType::Of(TypeKind::kDate)},
          {"at", DataType::TimestampLtz(0)},        {"flag", DataType::Of(TypeKind::kBoolean)}};
}

LoadOptions Defaults() {
  LoadOptions options;
  options.nulls = {"", "NA"};
  return options;
}

class LoadSourceTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = io::JoinPath(folder_.path(), name);
    EXPECT_OK(io::LocalFileSystem().ReplaceFile(path, text));
    return path;
  }

  Result<Rows> ReadAll(const std::string& path, const std::vector<types::Column>& columns,
                       const LoadOptions& options) {
    ASSIGN_OR_RAISE(const auto source, LoadSource::Open(path, columns, options));
    arrow::RecordBatchVector all;
    for (;;) {
      ASSIGN_OR_RAISE(const Rows rows, source->Next());
      if (rows == nullptr) break;
      all.push_back(rows);
    }
    return arrow::ConcatenateRecordBatches(all);
  }

  void ExpectRows(const Rows& rows, const std::vector<types::Column>& columns,
                  const std::string& json) {
    arrow::FieldVector fields;
    for (const auto& column : columns)
      fields.push_back(arrow::field(column.name, column.type->ToArrow()));
    const auto expected =
        arrow::json::ArrayFromJSONString(arrow::struct_(fields), json).ValueOrDie();
    EXPECT_TRUE(rows->ToStructArray().ValueOrDie()->Equals(*expected)) << rows->ToString();
  }

  TempDir folder_;
};

TEST_F(LoadSourceTest, CsvValuesTakeTheTypesOfTheTable) {
  const auto path = Write("a.csv",
                          "name,id,at,price,day,flag\n"
                          "x,1,2013-01-01T10:00:00Z,1.50,2013-01-02,true\n"
                          "NA,NA,NA,NA,NA,NA\n"
                          "\"\",,2013-01-01 10:00:01,2,,false\n");
  ASSERT_OK_AND_ASSIGN(const Rows rows, ReadAll(path, Columns(), Defaults()));
  ExpectRows(
      rows, Columns(),
      R"([[1,"x","1.50",15707,1357034400,true],[null,null,null,null,null,null],[null,"","2.00",null,1357034401,false]])");
}

TEST_F(LoadSourceTest, NullTextsCanBeChosen) {
  auto options = Defaults();
  options.nulls = {"\\N"};
  const std::vector<types::Column> columns = {{"name", DataType::Of(TypeKind::kString)}};
  ASSERT_OK_AND_ASSIGN(const Rows rows,
                       ReadAll(Write("a.csv", "name\nNA\n\\N\n"), columns, options));
  ExpectRows(rows, columns, R"([["NA"],[null]])");
}

TEST_F(LoadSourceTest, CsvWithoutHeaderAndWithAnotherDelimiter) {
  auto options = Defaults();
  options.header = false;
  options.delimiter = '\t';
  const std::vector<types::Column> columns = {{"id", DataType::Of(TypeKind::kInteger)},
                                              {"name", DataType::Of(TypeKind::kString)}};
  ASSERT_OK_AND_ASSIGN(const Rows rows, ReadAll(Write("a.tsv", "1\ta\n2\tb\n"), columns, options));
  ExpectRows(rows, columns, R"([[1,"a"],[2,"b"]])");
}

TEST_F(LoadSourceTest, MistakesNameFileAndColumn) {
  const std::vector<types::Column> columns = {{"id", DataType::Of(TypeKind::kInteger)}};
  const auto extra = ReadAll(Write("extra.csv", "id,other\n1,2\n"), columns, Defaults());
  EXPECT_CODE(ErrorCode::kInvalidTable, extra);
  EXPECT_THAT(extra.status().message(),
              testing::AllOf(testing::HasSubstr("column=other"), testing::HasSubstr("extra.csv")));
  auto options = Defaults();
  options.ignore_extra = true;
  ASSERT_OK_AND_ASSIGN(const Rows rows,
                       ReadAll(Write("extra.csv", "id,other\n1,2\n"), columns, options));
  ExpectRows(rows, columns, "[[1]]");
  const auto text = ReadAll(Write("text.csv", "id\nten\n"), columns, Defaults());
  EXPECT_CODE(ErrorCode::kInvalidTable, text);
  EXPECT_THAT(text.status().message(), testing::HasSubstr("ten"));
  EXPECT_CODE(ErrorCode::kInvalidTable, ReadAll(folder_.path() + "/none.csv", columns, Defaults()));
  EXPECT_CODE(
      ErrorCode::kInvalidTable,
      ReadAll(Write("n.csv", "l\n1\n"), {{"l", DataType::Array(columns[0].type)}}, Defaults()));
}

TEST_F(LoadSourceTest, ParquetColumnsAreCastWithoutLoss) {
  const auto schema =
      arrow::schema({arrow::field("id", arrow::int64()),
                     arrow::field("at", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
                     arrow::field("list", arrow::list(arrow::int32()))});
  const auto write = [&](const std::string& json) {
    const auto rows =
        arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json).ValueOrDie();
    const auto batch = arrow::RecordBatch::FromStructArray(rows).ValueOrDie();
    const auto table = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
    const std::string path = folder_.path() + "/a.parquet";
    const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    EXPECT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out));
    EXPECT_OK(out->Close());
    return path;
  };
  const std::vector<types::Column> columns = {
      {"id", DataType::Of(TypeKind::kInteger)},
      {"at", DataType::TimestampLtz(3)},
      {"list", DataType::Array(DataType::Of(TypeKind::kInteger))},
      {"absent", DataType::Of(TypeKind::kString)}};
  ASSERT_OK_AND_ASSIGN(const Rows rows,
                       ReadAll(write(R"([[7, 1700000000123000, [1, null]], [null, null, null]])"),
                               columns, Defaults()));
  EXPECT_TRUE(rows->column(1)->type()->Equals(arrow::timestamp(arrow::TimeUnit::MILLI)));
  ExpectRows(rows, columns, R"([[7, 1700000000123, [1, null], null], [null, null, null, null]])");
  EXPECT_CODE(ErrorCode::kInvalidTable,
              ReadAll(write("[[3000000000, 0, []]]"), columns, Defaults()));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              ReadAll(write("[[1, 1700000000123456, []]]"), columns, Defaults()));
}

TEST_F(LoadSourceTest, TwoColumnsOfOneNameAreRefused) {
  const std::string csv = Write("twins.csv", "id,name,name\n1,a,b\n");
  const auto twins =
      arrow::schema({arrow::field("id", arrow::int32()), arrow::field("name", arrow::utf8()),
                     arrow::field("name", arrow::utf8())});
  const std::string parquet = io::JoinPath(folder_.path(), "twins.parquet");
  const auto file = arrow::io::FileOutputStream::Open(parquet).ValueOrDie();
  const auto table = arrow::Table::MakeEmpty(twins).ValueOrDie();
  ASSERT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file));
  ASSERT_OK(file->Close());
  for (const bool ignore_extra : {false, true}) {
    LoadOptions options = Defaults();
    options.ignore_extra = ignore_extra;
    for (const std::string& path : {csv, parquet}) {
      const Status status = LoadSource::Open(path, Columns(), options).status();
      EXPECT_CODE(ErrorCode::kInvalidTable, status);
      EXPECT_THAT(status.message(),
                  testing::AllOf(testing::HasSubstr("column=name"), testing::HasSubstr(path)));
    }
  }
}

TEST_F(LoadSourceTest, ARowThatIsTooLongIsNamedSo) {
  const std::string path =
      Write("long.csv", "id,name\n1,a\n2," + std::string(10 << 20, 'x') + "\n3,b\n");
  const Status status = ReadAll(path, Columns(), Defaults()).status();
  EXPECT_CODE(ErrorCode::kInvalidTable, status);
  EXPECT_THAT(status.message(), testing::HasSubstr("row of the file is too long bytes_max="));
}

TEST(LoadOptionsTest, KnowsItsArguments) {
  LoadOptions options;
  EXPECT_FALSE(ParseLoadOptions({"--bootstrap-servers", "h:1", "--table", "db.t", "--json",
                                 "--batch-rows", "10", "a.csv", "b.csv"},
                                &options));
  EXPECT_EQ(options.files, (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(options.batch_rows, 10);
  EXPECT_EQ(options.nulls, (std::vector<std::string>{"", "NA"}));
  EXPECT_TRUE(options.json);
  LoadOptions chosen;
  EXPECT_FALSE(ParseLoadOptions({"--bootstrap-servers", "h:1", "--table", "t", "--null", "-",
                                 "--null", "none", "--delimiter", "\\t", "a"},
                                &chosen));
  EXPECT_EQ(chosen.nulls, (std::vector<std::string>{"-", "none"}));
  EXPECT_EQ(chosen.delimiter, '\t');
  EXPECT_TRUE(ParseLoadOptions({"--table", "t", "a"}, &chosen).has_value());
}

}  // namespace
}  // namespace sluice::app
