#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sql/session_testing_internal.h"

namespace sluice::sql {

namespace {

// The users' guide as it stands, from guide-sql/ of the folder that SLUICE_EXTRA_INPUTS names:
// statements, rows, results of real Flink.
class GuideTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* extra = std::getenv("SLUICE_EXTRA_INPUTS");
    folder_ = std::string(extra == nullptr ? "" : extra) + "/guide-sql";
    if (!std::filesystem::is_directory(folder_))
      GTEST_SKIP() << "SLUICE_EXTRA_INPUTS has no guide-sql";
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".sql") && name[0] >= '0' && name[0] <= '9')
        files_[name.substr(0, 2)] = entry.path().string();
    }
    std::ifstream types(folder_ + "/expected/TYPES.tsv");
    for (std::string line; std::getline(types, line);) types_[line.substr(0, 2)] = line.substr(3);
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  Answer Run(const std::string& sql) {
    auto answer = session_.Run(sql);
    EXPECT_TRUE(answer.ok()) << sql << "\n" << answer.status().ToString();
    return answer.ok() ? *std::move(answer) : Answer{};
  }
  Answer RunNumber(const std::string& number) { return Run(Read(files_.at(number))); }

  void RunScript(const std::string& path) {
    const std::string script = Read(path);
    for (const StatementText& statement : SplitStatements(script)) Run(std::string(statement.text));
  }

  void Check(const std::string& number, const Answer& answer, bool ordered = false) {
    SCOPED_TRACE("statement " + number);
    std::vector<std::string> expected;
    std::ifstream file(folder_ + "/expected/" + number + ".jsonl");
    ASSERT_TRUE(file.good());
    for (std::string line; std::getline(file, line);) expected.push_back(line);
    std::vector<std::string> rows = answer.json;
    if (!ordered) {
      std::ranges::sort(rows);
      std::ranges::sort(expected);
    }
    EXPECT_EQ(rows, expected);
    std::string types;
    for (const ResultColumn& column : answer.columns) {
      types += (types.empty() ? "" : ", ") + column.name + " " + column.type_text;
    }
    EXPECT_EQ(types, types_.at(number));
  }

  std::string folder_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> types_;
  MemorySession session_;
};

TEST_F(GuideTest, RunsAsWrittenWithFlinksRowsAndTypes) {
  Run("CREATE CATALOG `my-catalog` WITH ('type' = 'fluss', 'bootstrap.servers' = "
      "'localhost:9123')");
  Run("USE CATALOG `my-catalog`");
  for (const char* number :
       {"01", "04", "11", "12", "21", "23", "26", "27", "28", "31", "32", "33", "34", "35"})
    RunNumber(number);
  RunScript(folder_ + "/shape.sql");
  RunScript(folder_ + "/rows.sql");

  EXPECT_EQ(RunNumber("13").written, 1);
  Check("13", Run("SELECT * FROM log_orders"));
  EXPECT_EQ(RunNumber("14").written, 1);
  Check("14", Run("SELECT * FROM pk_orders"));
  RunNumber("15");
  Check("15", Run("SELECT * FROM pk_orders"));
  RunNumber("29");
  Check("29", Run("SELECT * FROM sales_cleaned"));
  RunNumber("30");
  Check("30", Run("SELECT * FROM sales_aggregated"));
  RunNumber("36");
  Check("36", Run("SELECT * FROM sales_metrics"));
  RunNumber("37");
  Check("37", Run("SELECT * FROM vip_recommendations"));

  for (const char* number : {"05", "07", "08", "16", "17", "18", "22", "24", "25"})
    Check(number, RunNumber(number));
  for (const char* number : {"38", "39"}) Check(number, RunNumber(number), /*ordered=*/true);
  for (const char* number : {"06", "10", "19"})
    EXPECT_GE(RunNumber(number).rows.size(), 1u) << number;
  Run("USE guide_09");
  Check("09", RunNumber("09"));
  Run("USE fluss");
  const auto past = session_.Run(Read(files_.at("20")));
  ASSERT_FALSE(past.ok());
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, past);
  Answer later = Run("SELECT * FROM pk_orders$lake FOR TIMESTAMP AS OF '2030-01-01 00:00:00'");
  EXPECT_EQ(later.rows.size(), 4u);
  RunNumber("02");
  RunNumber("03");
  ASSERT_OK_AND_ASSIGN(const auto table, session_.catalog.GetTable({"fluss", "datalake_orders"}));
  EXPECT_EQ(table.descriptor.bucket_count, 4);
  EXPECT_EQ(table.descriptor.Property("table.datalake.enabled"), "false");
  EXPECT_EQ(table.descriptor.Property("table.datalake.freshness"), "30min");
}

}  // namespace

}  // namespace sluice::sql
