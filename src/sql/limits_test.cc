#include <functional>

#include "sql/session_testing_internal.h"

namespace sluice::sql {

namespace {

// Statements that programs write: long, or deep. Each is answered, or refused at its place.

constexpr std::string_view kFrom =
    " FROM (SELECT 1 AS i, 'a' AS s, CAST(1.5 AS DECIMAL(10, 2)) AS d, CAST(1 AS DOUBLE) AS f) AS "
    "t";

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string List(int count, std::string_view separator,
                 const std::function<std::string(int)>& item) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += separator;
    out += item(i);
  }
  return out;
}

std::string Chain(int count, std::string_view separator, std::string_view item) {
  return List(count, separator, [item](int) { return std::string(item); });
}

std::string Number(int i) { return std::to_string(i); }

struct LimitCase {
  std::string name;
  std::string sql;
  std::string first;  // First cell of the answer, or
  std::string error;  // part of the message.
};

std::vector<LimitCase> LimitCases() {
  const std::string from(kFrom);
  const auto exists = [](int depth) {
    return Repeat("SELECT EXISTS (", depth) + "SELECT 1" + Repeat(")", depth);
  };
  const auto equal = [](std::string_view op) {
    return [op](int i) { return "i " + std::string(op) + " " + std::to_string(i + 2); };
  };
  const std::string deep = "nested too deep, limit=200 line=1, column=";
  return {
      {"Exists16", exists(16), "true", ""},
      {"Exists17", exists(17), "",
       "queries in expressions are nested too deep, limit=16 line=1, column="},
      {"Exists130", exists(130), "", deep},
      {"Exists5000", exists(5000), "", deep},
      {"Plus190", "SELECT " + Chain(190, " + ", "1"), "190", ""},
      {"Plus950", "SELECT " + Chain(950, " + ", "1"), "", deep},
      {"Plus300000", "SELECT " + Chain(300000, "+", "1"), "", deep},
      {"PlusOfColumns", "SELECT " + Chain(190, " + ", "i") + from, "190", ""},
      {"PlusOfDecimals", "SELECT " + Chain(190, " + ", "d") + from, "285.00", ""},
      {"PlusOfDoubles", "SELECT " + Chain(190, " + ", "f") + from, "190.0", ""},
      {"DivideDecimals",
       "SELECT CAST(" + Chain(190, " / ", "CAST(1 AS DECIMAL(2, 0))") + " AS INT)", "1", ""},
      {"Concatenate5000", "SELECT CHAR_LENGTH(" + Chain(5000, " || ", "s") + ")" + from, "5000",
       ""},
      {"ConcatenateLiterals", "SELECT CHAR_LENGTH(" + Chain(3000, " || ", "'a'") + ")", "3000", ""},
      {"And5000", "SELECT 1" + from + " WHERE " + List(5000, " AND ", equal("<>")), "1", ""},
      {"Or5000", "SELECT COUNT(*)" + from + " WHERE " + List(5000, " OR ", equal("=")), "0", ""},
      {"Or10001", "SELECT 1" + from + " WHERE " + List(10001, " OR ", equal("=")), "",
       "OR has too many operands, limit=10000 line=1, column="},
      {"In10000", "SELECT 1" + from + " WHERE i IN (" + List(10000, ", ", Number) + ")", "1", ""},
      {"Union1000",
       "SELECT COUNT(*) FROM (" +
           List(1000, " UNION ALL ", [](int i) { return "SELECT " + std::to_string(i); }) +
           ") AS u",
       "1000", ""},
      {"Union1001", Chain(1001, " UNION ALL ", "SELECT 1"), "",
       "UNION has too many queries, limit=1000 line=1, column="},
      {"UnionDistinct", Chain(1000, " UNION ", "SELECT 1"), "1", ""},
      {"Except150", "SELECT 0 EXCEPT " + Chain(150, " EXCEPT ", "SELECT 1"), "0", ""},
      {"Except400", "SELECT 0 EXCEPT " + Chain(400, " EXCEPT ", "SELECT 1"), "", deep},
      {"Case4000",
       "SELECT CASE i " +
           List(4000, " ",
                [](int i) {
                  return "WHEN " + std::to_string(i) + " THEN 'v" + std::to_string(i) + "'";
                }) +
           " END" + from,
       "v1", ""},
      {"Values10000",
       "SELECT SUM(a) FROM (VALUES " +
           List(10000, ", ", [](int i) { return "(" + std::to_string(i) + ", 'abc', 1.50)"; }) +
           ") AS t(a, b, c)",
       "49995000", ""},
      {"Literal9Mb", "SELECT '" + std::string(9 << 20, 'x') + "'", "",
       "literal is too long, bytes="},
      {"Columns1000",
       "SELECT " + List(1000, ", ", [](int i) { return "i + " + std::to_string(i); }) + from, "1",
       ""},
      {"WithDoubling",
       "WITH t0 AS (SELECT 1 AS a)" +
           List(30, "",
                [](int i) {
                  const std::string t = "t" + std::to_string(i);
                  return ", t" + std::to_string(i + 1) + " AS (SELECT x.a FROM " + t + " AS x, " +
                         t + " AS y)";
                }) +
           " SELECT * FROM t30",
       "", "query is too large once views and WITH are written out"},
      {"NullIfDoubling", "SELECT " + Repeat("NULLIF(", 40) + "i" + Repeat(", 2)", 40) + from, "",
       "expression is too large once its functions are written out"},
      {"Calls190", "SELECT " + Repeat("ABS(", 190) + "i" + Repeat(")", 190) + from, "1", ""},
      {"Calls210", "SELECT " + Repeat("ABS(", 210) + "i" + Repeat(")", 210) + from, "", deep},
      {"Parentheses190", "SELECT " + Repeat("(", 190) + "i" + Repeat(")", 190) + from, "1", ""},
      {"Parentheses100000", "SELECT " + Repeat("(", 100000) + "i" + Repeat(")", 100000), "", deep},
      {"From60",
       "SELECT * FROM " + Repeat("(SELECT * FROM ", 60) + "(VALUES (1)) AS v" +
           Repeat(") AS w", 60),
       "1", ""},
      {"Joins39",
       "SELECT COUNT(*) FROM (SELECT 1 AS a) AS t0 " + List(38, " ",
                                                            [](int i) {
                                                              const std::string t =
                                                                  "t" + std::to_string(i + 1);
                                                              return "JOIN (SELECT 1 AS a) AS " +
                                                                     t + " ON t0.a = " + t + ".a";
                                                            }),
       "1", ""},
      {"Tables41", "SELECT 1 FROM " + Chain(41, ", ", "t"), "",
       "FROM has too many tables, limit=40 line=1, column="},
      {"Casts180",
       "SELECT " + Repeat("CAST(CAST(", 90) + "i" + Repeat(" AS STRING) AS INT)", 90) + from, "1",
       ""},
      {"Not190", "SELECT " + Repeat("NOT ", 190) + "TRUE", "true", ""},
      {"Not100000", "SELECT " + Repeat("NOT ", 100000) + "TRUE", "", deep},
      {"Minus190", "SELECT " + Repeat("- ", 190) + "1", "1", ""},
      {"Comparisons100", "SELECT " + Chain(101, " = ", "TRUE"), "true", ""},
      {"Comparisons100000", "SELECT " + Chain(100000, " = ", "TRUE"), "", deep},
      {"Indexes100000", "SELECT a" + Repeat("[1]", 100000) + from, "", deep},
      {"Types100000", "SELECT CAST(i AS " + Repeat("ARRAY<", 100000) + "INT", "", deep},
      {"FirstOperandsDeep",
       "SELECT " + Repeat("(", 150) + "1" + Repeat(Repeat(" + 1", 100) + ")", 150), "", deep},
  };
}

class LimitsTest : public testing::TestWithParam<LimitCase> {};

TEST_P(LimitsTest, IsAnsweredOrRefusedAtItsPlace) {
  MemorySession session;
  const Result<Answer> answer = session.Run(GetParam().sql);
  if (!GetParam().error.empty()) {
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.status().message().find(GetParam().error), std::string::npos)
        << answer.status().message();
    return;
  }
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_FALSE(answer->rows.empty());
  EXPECT_EQ(answer->rows[0][0].value_or("NULL"), GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(Statements, LimitsTest, testing::ValuesIn(LimitCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace

}  // namespace sluice::sql
