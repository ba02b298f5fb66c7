#include "types/byte_size.h"

#include "base/testing.h"

namespace sluice::types {
namespace {

TEST(ByteSizeTest, ReadsUnits) {
  const std::pair<const char*, int64_t> good[] = {
      {"4096", 4096},   {"64mb", 64 << 20}, {"1 G", 1 << 30},
      {" 2 KB ", 2048}, {"7 bytes", 7},     {"8388607 tb", int64_t{8388607} << 40}};
  for (const auto& [text, bytes] : good) {
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const int64_t parsed, ParseByteSize(text));
    EXPECT_EQ(parsed, bytes);
  }
  for (const char* text : {"", "-1", "mb", "5 parsecs", "8388608 tb", "9223372036854775808",
                           "1.5 g", "1 m b", "5 5kb"}) {
    SCOPED_TRACE(text);
    EXPECT_CODE(ErrorCode::kInvalidConfig, ParseByteSize(text));
  }
}

}  // namespace
}  // namespace sluice::types
