#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::tiering {

/// Records of one bucket that expired before they were in the lake, while the table's tiering was
/// switched off: those from `from` up to `to`.
struct LogGap {
  std::string partition;  ///< Name, empty when the table has no partitions.
  int32_t bucket = 0;
  int64_t from = 0;
  int64_t to = 0;
  bool operator==(const LogGap&) const = default;
};

/// The property of a tiering snapshot that holds all gaps of the table so far.
inline constexpr std::string_view kGapsProperty = "sluice-gaps";
/// More than these are not kept: the oldest go.
inline constexpr size_t kGapsMax = 1000;

/// Add the newest gap; what is kept is what a snapshot keeps.
void AddGap(LogGap gap, std::vector<LogGap>* gaps);
/// Format: a line per gap, "bucket from to partition".
std::string GapsToText(const std::vector<LogGap>& gaps);
/// Errors: kCorruptRecord.
Result<std::vector<LogGap>> GapsFromText(std::string_view text);

}  // namespace sluice::tiering
