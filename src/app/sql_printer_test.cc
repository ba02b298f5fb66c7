#include "app/sql_printer.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/visible_text.h"
#include "base/testing.h"

namespace sluice::app {
namespace {

using nlohmann::json;

std::string Print(const std::string& format, const json& columns, const json& rows) {
  std::ostringstream out;
  auto printer = SqlPrinter::Make(format, out).ValueOrDie();
  printer->Columns(columns);
  EXPECT_OK(printer->Rows(rows));
  printer->End(-1);
  return out.str();
}

const json kColumns = {{{"name", "id"}, {"type", "BIGINT"}}, {{"name", "名"}, {"type", "STRING"}}};

TEST(SqlPrinterTest, TableAlignsNumbersAndWideText) {
  EXPECT_EQ(Print("table", kColumns, {{7, "湖流"}, {12345, nullptr}}),
            "+-------+------+\n"
            "|    id | 名   |\n"
            "+-------+------+\n"
            "|     7 | 湖流 |\n"
            "| 12345 | NULL |\n"
            "+-------+------+\n"
            "2 rows\n");
}

TEST(SqlPrinterTest, TableSplitsCellsOfSeveralLines) {
  EXPECT_EQ(Print("table", {{{"name", "plan"}, {"type", "STRING"}}}, {{"one\ntwo and more"}}),
            "+--------------+\n"
            "| plan         |\n"
            "+--------------+\n"
            "| one          |\n"
            "| two and more |\n"
            "+--------------+\n"
            "1 row\n");
}

TEST(SqlPrinterTest, TableShowsNestedValuesAndBytesAsFlinksShell) {
  const json columns = {{{"name", "m"}, {"type", "MAP<INT NOT NULL, DECIMAL(10, 2)> NOT NULL"}},
                        {{"name", "r"}, {"type", "ROW<`b` ARRAY<STRING>, `a` BYTES>"}},
                        {{"name", "x"}, {"type", "VARBINARY(3)"}}};
  const json rows = {
      {json::array({{1, "2.50"}, {3, nullptr}}), {{"a", "0x01"}, {"b", {"y", nullptr}}}, "0x00ff"},
      {json::array(), nullptr, nullptr}};
  EXPECT_EQ(Print("table", columns, rows),
            "+------------------+--------------------+---------+\n"
            "| m                | r                  | x       |\n"
            "+------------------+--------------------+---------+\n"
            "| {1=2.50, 3=NULL} | ([y, NULL], x'01') | x'00ff' |\n"
            "| {}               | NULL               | NULL    |\n"
            "+------------------+--------------------+---------+\n"
            "2 rows\n");
}

TEST(SqlPrinterTest, TableWritesControlCharactersOut) {
  const json columns = {{{"name", "a\x1b[2J"}, {"type", "STRING"}},
                        {{"name", "m"}, {"type", "MAP<STRING, STRING>"}}};
  const json map = json::array({json::array({std::string("\0", 1), "\xc2\x9b\xe2\x80\xae"})});
  const json rows = json::array({json::array({"\x1b]0;t\x07\r\tx", map})});
  EXPECT_EQ(Print("table", columns, rows),
            "+-------------------+---------------------+\n"
            "| a\\x1b[2J          | m                   |\n"
            "+-------------------+---------------------+\n"
            "| \\x1b]0;t\\x07\\r\\tx | {\\x00=\\u009b\\u202e} |\n"
            "+-------------------+---------------------+\n"
            "1 row\n");
}

TEST(VisibleTextTest, KeepsWhatIsTextAndCutsWhatIsLong) {
  const std::string text = "a\\ é 湖 \U0001f30a";
  EXPECT_EQ(VisibleText(text), text);
  EXPECT_EQ(VisibleText("\xff\x80\xc0\xaf\xed\xa0\x80 \xe6\xb9"),
            "\\xff\\x80\\xc0\\xaf\\xed\\xa0\\x80 \\xe6\\xb9");
  EXPECT_EQ(VisibleText("a\nb\x7f"), "a\\nb\\x7f");
  EXPECT_EQ(VisibleLines("a\nb\x1b"), "a\nb\\x1b");
  EXPECT_EQ(VisibleText(std::string(1000, 'x'), 10), std::string(10, 'x') + "…");
}

TEST(SqlPrinterTest, CsvTellsNullFromAnEmptyText) {
  EXPECT_EQ(Print("csv", kColumns, {{1, ""}, {2, nullptr}, {3, "a,\"b\""}}),
            "id,名\n1,\"\"\n2,\n3,\"a,\"\"b\"\"\"\n");
}

TEST(SqlPrinterTest, JsonKeepsTheOrderAndNamesEachColumnOnce) {
  json columns = json::array();
  for (const char* name : {"b", "a", "b", "b_1", "b", "b_1"})
    columns.push_back({{"name", name}, {"type", "INT"}});
  EXPECT_EQ(Print("json", columns, {{1, 2, 3, 4, 5, 6}}),
            "{\"b\":1,\"a\":2,\"b_2\":3,\"b_1\":4,\"b_3\":5,\"b_1_1\":6}\n");
}

TEST(SqlPrinterTest, RowsOfAnotherWidthAreRefused) {
  for (const char* format : {"table", "csv", "json"}) {
    for (const json& row : {json::array(), json{1}, json{1, 2, 3}}) {
      std::ostringstream out;
      auto printer = SqlPrinter::Make(format, out).ValueOrDie();
      printer->Columns(kColumns);
      EXPECT_CODE(ErrorCode::kNetwork, printer->Rows(json::array({row})));
    }
  }
}

TEST(SqlPrinterTest, RefusesAnUnknownFormatByName) {
  std::ostringstream out;
  const auto made = SqlPrinter::Make("xml", out);
  EXPECT_CODE(ErrorCode::kInvalidConfig, made);
  EXPECT_NE(made.status().message().find("xml"), std::string::npos);
}

}  // namespace
}  // namespace sluice::app
