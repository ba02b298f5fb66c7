#include "sql/session_testing_internal.h"

namespace sluice::sql {

namespace {

// Statements that outgrow the engine's memory. Its exception comes out of whatever asks for room,
// our functions and scans too, and must end the statement and not the process.
class MemoryLimitTest : public testing::Test {
 protected:
  // 1,000 rows with texts of 100 characters; 40 with texts of a million.
  void SetUp() override {
    const std::string digits = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";
    Must("CREATE TABLE big (v INT, t STRING)");
    Must(
        "INSERT INTO big SELECT v, LPAD(CAST(v AS STRING), 100, 'x') FROM (SELECT a.d * 100 + b.d "
        "* 10 + c.d AS v FROM " +
        digits + " AS a(d), " + digits + " AS b(d), " + digits + " AS c(d)) AS n");
    Must(
        "CREATE TABLE wide (v INT, t STRING, b BYTES, l ARRAY<STRING>, m MAP<INT, STRING>, r ROW<t "
        "STRING>)");
    for (int v = 0; v < 40; ++v) {
      Must(
          "INSERT INTO wide SELECT v, t, CAST(t AS BYTES), ARRAY[t], MAP[v, t], ROW(t) FROM "
          "(SELECT v, "
          "LPAD(CAST(v AS STRING), 1000000, 'x') AS t FROM (VALUES (" +
          std::to_string(v) + ")) AS n(v)) AS n");
    }
  }

  void Must(const std::string& sql) {
    const auto answer = session_.Run(sql);
    ASSERT_TRUE(answer.ok()) << sql << "\n" << answer.status().message();
  }

  void IsRefused(const std::string& sql) {
    SCOPED_TRACE(sql);
    const auto answer = session_.Run(sql);
    EXPECT_CODE(ErrorCode::kStorageBackpressure, answer);
    EXPECT_THAT(answer.status().message(), testing::HasSubstr("statement needs more memory than"));
    const auto after = session_.Run("SELECT COUNT(*), MAX(t || 'x') FROM big");
    ASSERT_TRUE(after.ok()) << after.status().message();
    EXPECT_EQ(after->rows[0][0], "1000");
  }

  // No folder: nothing can be put aside.
  Engine engine_{{.threads = 1, .memory_bytes_max = 24u << 20}};
  MemorySession session_{engine_};
};

TEST_F(MemoryLimitTest, FunctionsEndTheStatementAlone) {
  const std::string both = "CAST(a.v * 1000 + b.v AS STRING)";
  for (const std::string& value :
       {std::string("a.t || b.t"), std::string("CONCAT(a.t, b.t)"),
        std::string("CONCAT_WS('-', a.t, b.t)"), std::string("UPPER(a.t) || b.t"),
        std::string("CAST(a.t AS BYTES) || CAST(b.t AS BYTES)"),
        std::string("ARRAY_JOIN(ARRAY[a.t, b.t], '-')"), "REPEAT(" + both + ", 40)",
        "LPAD(" + both + ", 200, 'x')", "REPLACE(" + both + ", '1', a.t)",
        "REGEXP_REPLACE(" + both + ", '1', a.t)", "CAST(CAST(" + both + " AS DOUBLE) AS STRING)",
        std::string("CAST(a.v AS DECIMAL(20, 2)) * 1000 + CAST(b.v AS DECIMAL(20, 2))")}) {
    IsRefused("SELECT COUNT(DISTINCT " + value + ") FROM big AS a, big AS b");
  }
}

TEST_F(MemoryLimitTest, ScansEndTheStatementAlone) {
  for (const char* sql :
       {"SELECT COUNT(DISTINCT t) FROM wide", "SELECT COUNT(DISTINCT b) FROM wide",
        "SELECT COUNT(DISTINCT l) FROM wide", "SELECT COUNT(DISTINCT m[v]) FROM wide",
        "SELECT COUNT(DISTINCT r.t) FROM wide", "SELECT t FROM wide ORDER BY t",
        "SELECT MAX(a.t) FROM wide AS a JOIN wide AS b ON a.t = b.t"}) {
    IsRefused(sql);
  }
}

// 40 MB pass through 24, a few rows at a time.
TEST_F(MemoryLimitTest, WideRowsPassInSmallPieces) {
  const auto answer = session_.Run("SELECT v, t FROM wide");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->rows.size(), 40u);
}

}  // namespace

}  // namespace sluice::sql
