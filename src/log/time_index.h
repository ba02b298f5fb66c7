#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::log {

/// Sparse map from commit timestamp to record offset inside one log segment. Commit timestamps of a
/// log never fall.
///
/// Format: 12-byte entries, big-endian: i64 timestamp in ms, u32 offset - base_offset; both
/// increase. A closed segment's last entry carries its largest timestamp.
class TimeIndex {
 public:
  static constexpr size_t kEntryBytes = 12;
  struct Entry {
    int64_t timestamp_ms;
    int64_t offset;  ///< Absolute; the base offset of a batch committed then.
    bool operator==(const Entry&) const = default;
  };

  explicit TimeIndex(int64_t base_offset) : base_(base_offset) {}

  /// Decode an index file.
  /// Errors: kCorruptRecord when an entry is partial or entries do not increase.
  static Result<TimeIndex> Parse(int64_t base_offset, std::string_view image);

  /// Add an entry and return its bytes; empty when its timestamp is not above the last.
  std::string MaybeAppend(Entry entry);
  /// Drop the entries at and after `offset`.
  void TruncateTo(int64_t offset);

  /// Offset of the last entry older than `timestamp_ms`, else the segment's start: every record
  /// before that offset is older too.
  int64_t LastBefore(int64_t timestamp_ms) const;
  /// Largest timestamp that the index knows; -1 when it is empty.
  int64_t largest_timestamp_ms() const {
    return entries_.empty() ? -1 : entries_.back().timestamp_ms;
  }
  std::optional<Entry> Last() const {
    return entries_.empty() ? std::nullopt : std::optional(entries_.back());
  }
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size_bytes() const { return entries_.size() * kEntryBytes; }

 private:
  int64_t base_;                // Offset of the segment's first record.
  std::vector<Entry> entries_;  // Strictly increasing in both.
};

}  // namespace sluice::log
