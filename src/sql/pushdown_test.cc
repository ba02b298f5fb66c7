// Which conditions reach a scan; that they say no more there than in the query is for
// testdata/pushdown.test.
#include "sql/session_testing_internal.h"

namespace sluice::sql {
namespace {

TEST(Pushdown, ConditionsOnColumnsReachTheScan) {
  MemorySession memory;
  ASSERT_OK(memory
                .Run("CREATE TABLE p (i INT, l BIGINT, s STRING, c CHAR(3), w DECIMAL(10, 2), "
                     "m DECIMAL(38, 30), t TIMESTAMP(1), d DATE, x DOUBLE, q BOOLEAN)")
                .status());
  const std::pair<const char*, int> cases[] = {
      {"i = 1", 1},
      {"1 < i AND i <= 3", 2},
      {"i BETWEEN 1 AND 3", 2},
      {"l = 1 AND i = 5000000000", 1},
      {"i IN (1, 2)", 1},
      {"i IN (1, NULL)", 0},
      {"i IN (1, 2.5)", 0},
      {"i = 1 OR i = 2", 0},
      {"(i = 1) IS TRUE", 0},
      {"i + 1 = 2", 0},
      {"s = 'a' AND s >= '' AND s IS NOT NULL", 3},
      {"s LIKE 'a%'", 0},
      {"c = 'a'", 0},
      {"c IS NULL", 1},
      {"w = 1", 1},
      {"w = 1.5 AND w = 1.555", 1},
      {"m = 1.5", 1},
      {"m = 1", 0},
      {"t = TIMESTAMP '2024-01-01 00:00:00.1'", 1},
      {"t = '2024-01-01 00:00:00.1'", 1},
      {"t = '2024-01-01 00:00:00.12'", 0},
      {"d = '2024-01-01'", 1},
      {"d = '2024-1-1'", 0},
      {"x = 1", 0},
      {"x IS NULL", 1},
      {"i > 1.5E0", 0},
      {"q = TRUE", 1},
  };
  for (const auto& [condition, count] : cases) {
    SCOPED_TRACE(condition);
    ASSERT_OK_AND_ASSIGN(
        const Answer answer,
        memory.Run(std::string("EXPLAIN SELECT COUNT(*) FROM p WHERE ") + condition));
    std::string text;
    for (const auto& row : answer.rows) text += row.front().value_or("") + "\n";
    EXPECT_NE(text.find(" predicates=" + std::to_string(count) + "\n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sluice::sql
