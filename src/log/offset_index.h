#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::log {

/// Sparse map from record offset to byte position inside one log segment.
///
/// Format: 8-byte entries, big-endian: u32 offset - base_offset, u32 position of its batch; both
/// increase.
class OffsetIndex {
 public:
  static constexpr size_t kEntryBytes = 8;
  struct Entry {
    int64_t offset;           ///< Absolute; the base offset of a batch.
    uint32_t position_bytes;  ///< Start of that batch in the segment file.
    bool operator==(const Entry&) const = default;
  };

  explicit OffsetIndex(int64_t base_offset) : base_(base_offset) {}

  /// Decode an index file.
  /// Errors: kCorruptRecord when an entry is partial or entries do not increase.
  static Result<OffsetIndex> Parse(int64_t base_offset, std::string_view image);

  /// Add an entry beyond the last and return its bytes.
  std::string Append(Entry entry);
  /// Drop the entries at and after `offset`.
  void TruncateTo(int64_t offset);

  /// Last entry at or below `offset`, else the segment's start.
  Entry Floor(int64_t offset) const;
  /// Last entry whose position is at or below `position_bytes`, else the segment's start.
  Entry FloorPosition(uint64_t position_bytes) const;
  Entry Last() const { return entries_.empty() ? Entry{base_, 0} : At(entries_.size() - 1); }
  size_t size_bytes() const { return entries_.size() * kEntryBytes; }

 private:
  struct Raw {
    uint32_t relative_offset;
    uint32_t position_bytes;
  };
  Entry At(size_t i) const {
    return {base_ + entries_[i].relative_offset, entries_[i].position_bytes};
  }
  Entry Before(std::vector<Raw>::const_iterator above) const;

  int64_t base_;              // Offset of the segment's first record.
  std::vector<Raw> entries_;  // Strictly increasing in both.
};

}  // namespace sluice::log
