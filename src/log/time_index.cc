#include "log/time_index.h"

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::log {

Result<TimeIndex> TimeIndex::Parse(int64_t base_offset, std::string_view image) {
  if (image.size() % kEntryBytes != 0) {
    return Corrupt("time index ends in a partial entry size_bytes=", image.size());
  }
  TimeIndex index(base_offset);
  index.entries_.reserve(image.size() / kEntryBytes);
  for (; !image.empty(); image.remove_prefix(kEntryBytes)) {
    const Entry entry{LoadBe<int64_t>(image.data()),
                      base_offset + LoadBe<uint32_t>(image.data() + 8)};
    if (!index.entries_.empty() && (entry.timestamp_ms <= index.entries_.back().timestamp_ms ||
                                    entry.offset <= index.entries_.back().offset)) {
      return Corrupt("time index goes backwards offset=", entry.offset);
    }
    index.entries_.push_back(entry);
  }
  return index;
}

std::string TimeIndex::MaybeAppend(Entry entry) {
  CHECK(entry.offset >= base_ && entry.offset - base_ <= INT32_MAX);
  if (entry.timestamp_ms <= largest_timestamp_ms()) return {};
  CHECK(entries_.empty() || entry.offset > entries_.back().offset);
  entries_.push_back(entry);
  std::string bytes;
  AppendBe(&bytes, entry.timestamp_ms);
  AppendBe(&bytes, static_cast<uint32_t>(entry.offset - base_));
  return bytes;
}

void TimeIndex::TruncateTo(int64_t offset) {
  while (!entries_.empty() && entries_.back().offset >= offset) entries_.pop_back();
}

int64_t TimeIndex::LastBefore(int64_t timestamp_ms) const {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), timestamp_ms,
      [](const Entry& entry, int64_t value) { return entry.timestamp_ms < value; });
  return at == entries_.begin() ? base_ : std::prev(at)->offset;
}

}  // namespace sluice::log
