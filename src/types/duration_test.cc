#include "types/duration.h"

#include "base/testing.h"

namespace sluice::types {
namespace {

TEST(DurationTest, ReadsUnits) {
  const std::pair<const char*, int64_t> good[] = {
      {"5s", 5000},        {"5 s", 5000},  {"30min", 1800000},  {"30 MIN", 1800000},
      {"7 d", 604800000},  {"250", 250},   {"250 ms", 250},     {"2 hours", 7200000},
      {"-1 d", -86400000}, {"1500 us", 1}, {"5 Seconds", 5000}, {" 7 d ", 604800000},
      {"-1", -1}};
  for (const auto& [text, ms] : good) {
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const int64_t parsed, ParseDurationMs(text));
    EXPECT_EQ(parsed, ms);
  }
  for (const char* text : {"", "s", "5 fortnights", "5.5 s", "d", "7 weeks",
                           "9223372036854775807 d", "99999999999999 d", "99999999999999999999 s"}) {
    SCOPED_TRACE(text);
    EXPECT_CODE(ErrorCode::kInvalidConfig, ParseDurationMs(text));
  }
}

}  // namespace
}  // namespace sluice::types
