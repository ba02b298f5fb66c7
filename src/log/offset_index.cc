#include "log/offset_index.h"

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::log {

Result<OffsetIndex> OffsetIndex::Parse(int64_t base_offset, std::string_view image) {
  if (image.size() % kEntryBytes != 0) {
    return Corrupt("offset index ends in a partial entry size_bytes=", image.size());
  }
  OffsetIndex index(base_offset);
  index.entries_.reserve(image.size() / kEntryBytes);
  for (; !image.empty(); image.remove_prefix(kEntryBytes)) {
    const Raw entry{LoadBe<uint32_t>(image.data()), LoadBe<uint32_t>(image.data() + 4)};
    const Raw last = index.entries_.empty() ? Raw{0, 0} : index.entries_.back();
    if (entry.relative_offset <= last.relative_offset ||
        entry.position_bytes <= last.position_bytes) {
      return Corrupt("offset index goes backwards offset=", base_offset + entry.relative_offset);
    }
    index.entries_.push_back(entry);
  }
  return index;
}

std::string OffsetIndex::Append(Entry entry) {
  CHECK(entry.offset >= base_ && entry.offset - base_ <= INT32_MAX);
  // A repeat means that the segment lost count of its records.
  CHECK(entries_.empty() ||
        (entry.offset > Last().offset && entry.position_bytes > Last().position_bytes));
  entries_.push_back({static_cast<uint32_t>(entry.offset - base_), entry.position_bytes});
  std::string bytes;
  AppendBe(&bytes, entries_.back().relative_offset);
  AppendBe(&bytes, entries_.back().position_bytes);
  return bytes;
}

void OffsetIndex::TruncateTo(int64_t offset) {
  while (!entries_.empty() && Last().offset >= offset) entries_.pop_back();
}

OffsetIndex::Entry OffsetIndex::Before(std::vector<Raw>::const_iterator above) const {
  return above == entries_.begin() ? Entry{base_, 0}
                                   : At(static_cast<size_t>(std::prev(above) - entries_.begin()));
}

OffsetIndex::Entry OffsetIndex::Floor(int64_t offset) const {
  return Before(std::upper_bound(
      entries_.begin(), entries_.end(), offset - base_,
      [](int64_t value, const Raw& entry) { return value < entry.relative_offset; }));
}

OffsetIndex::Entry OffsetIndex::FloorPosition(uint64_t position_bytes) const {
  return Before(std::upper_bound(
      entries_.begin(), entries_.end(), position_bytes,
      [](uint64_t value, const Raw& entry) { return value < entry.position_bytes; }));
}

}  // namespace sluice::log
