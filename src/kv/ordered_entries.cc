#include "kv/ordered_entries.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace sluice::kv {
namespace {

constexpr size_t kLeafItemsMax = 512;
// A walk asks for the memory of the entries to come: they lie in the order in which they were put.
constexpr size_t kEntriesAhead = 8;
constexpr size_t kValuesAhead = 4;

// Shorter keys are filled up with zeros; keys of one head are compared whole.
uint64_t HeadOf(std::string_view key) {
  char bytes[sizeof(uint64_t)] = {};
  std::memcpy(bytes, key.data(), std::min(key.size(), sizeof(bytes)));
  return LoadBe<uint64_t>(bytes);
}

}  // namespace

OrderedEntries::Iterator& OrderedEntries::Iterator::operator++() {
  const Leaf& leaf = (*leaves_)[leaf_];
  if (at_ + kEntriesAhead < leaf.size()) {
    __builtin_prefetch(leaf[at_ + kEntriesAhead].entry);
    const Version& version = leaf[at_ + kValuesAhead].entry->version;
    if (version.has_value()) __builtin_prefetch(version->data());
  }
  if (++at_ == leaf.size()) {
    ++leaf_;
    at_ = 0;
  }
  return *this;
}

OrderedEntries::Place OrderedEntries::PlaceOf(std::string_view key) const {
  const uint64_t head = HeadOf(key);
  const auto below = [&](const Item& item) {
    return item.head != head ? item.head < head : item.entry->key < key;
  };
  const auto above = std::ranges::partition_point(firsts_, below);
  const size_t leaf = above == firsts_.begin() ? 0 : above - firsts_.begin() - 1;
  if (leaf == leaves_.size()) return {leaf, 0};
  const auto at = std::ranges::partition_point(leaves_[leaf], below);
  return {leaf, static_cast<size_t>(at - leaves_[leaf].begin())};
}

OrderedEntries::Iterator OrderedEntries::LowerBound(std::string_view key) const {
  const Place place = PlaceOf(key);
  const bool in_next = place.leaf < leaves_.size() && place.at == leaves_[place.leaf].size();
  return in_next ? Iterator(&leaves_, place.leaf + 1, 0) : Iterator(&leaves_, place.leaf, place.at);
}

Entry* OrderedEntries::Add(std::string_view key, std::optional<std::string_view> value) {
  const Place place = PlaceOf(key);
  entries_.push_back(std::make_unique<Entry>(Entry{std::string(key), Version(value)}));
  Entry* entry = entries_.back().get();
  const Item item{HeadOf(key), entry};
  if (leaves_.empty()) {
    leaves_.emplace_back();
    firsts_.push_back(item);
  }
  Leaf& leaf = leaves_[place.leaf];
  leaf.insert(leaf.begin() + static_cast<std::ptrdiff_t>(place.at), item);
  if (place.at == 0) firsts_[place.leaf] = item;
  if (leaf.size() > kLeafItemsMax) Split(place.leaf);
  return entry;
}

// In the middle; the last one at its end, so that keys that come in order fill their leaves.
void OrderedEntries::Split(size_t leaf) {
  Leaf& left = leaves_[leaf];
  const bool last = leaf + 1 == leaves_.size();
  const auto middle =
      left.begin() + static_cast<std::ptrdiff_t>(last ? left.size() - 1 : left.size() / 2);
  Leaf right(middle, left.end());
  left.erase(middle, left.end());
  const auto next = static_cast<std::ptrdiff_t>(leaf) + 1;
  firsts_.insert(firsts_.begin() + next, right.front());
  leaves_.insert(leaves_.begin() + next, std::move(right));
}

}  // namespace sluice::kv
