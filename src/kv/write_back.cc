#include "kv/write_back.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace sluice::kv {
namespace {

// Two strings, places in both orders, allocator headers: what an entry costs beside its bytes.
constexpr size_t kEntryOverheadBytes = 176;
constexpr size_t kFirstPlaces = 16;
// A value that shrank gives its memory back when it would keep more than this, and twice its size.
constexpr size_t kSlackBytes = 256;

size_t ValueBytes(const Version& version) { return version.has_value() ? version->size() : 0; }

void Overwrite(Version* version, std::optional<std::string_view> value) {
  if (!value.has_value()) {
    version->reset();
  } else if (!version->has_value() || (*version)->capacity() > 2 * value->size() + kSlackBytes) {
    version->emplace(*value);
  } else {
    (*version)->assign(*value);
  }
}

Found FoundIn(const Version& version) {
  Found found{.known = true};
  if (version.has_value()) found.value = *version;
  return found;
}

}  // namespace

Entry* Layer::EntryOf(std::string_view key, size_t hash) const {
  if (index_.empty()) return nullptr;
  const size_t mask = index_.size() - 1;
  for (size_t at = hash & mask; index_[at].entry != nullptr; at = (at + 1) & mask) {
    if (index_[at].hash == hash && index_[at].entry->key == key) return index_[at].entry;
  }
  return nullptr;
}

void Layer::AddToIndex(Place place) {
  const auto insert = [this](const Place& added) {
    const size_t mask = index_.size() - 1;
    size_t at = added.hash & mask;
    while (index_[at].entry != nullptr) at = (at + 1) & mask;
    index_[at] = added;
  };
  if (versions_.size() * 2 > index_.size()) {
    const std::vector<Place> before =
        std::exchange(index_, std::vector<Place>(std::max(kFirstPlaces, index_.size() * 2)));
    for (const Place& moved : before) {
      if (moved.entry != nullptr) insert(moved);
    }
  }
  insert(place);
}

Found Layer::Find(std::string_view key) const {
  const auto* entry = EntryOf(key, std::hash<std::string_view>()(key));
  return entry == nullptr ? Found{} : FoundIn(entry->version);
}

void Layer::Put(std::string_view key, std::optional<std::string_view> value) {
  size_bytes_ += value.has_value() ? value->size() : 0;
  const size_t hash = std::hash<std::string_view>()(key);
  if (auto* entry = EntryOf(key, hash)) {
    size_bytes_ -= ValueBytes(entry->version);
    return Overwrite(&entry->version, value);
  }
  size_bytes_ += key.size() + kEntryOverheadBytes;
  AddToIndex({hash, versions_.Add(key, value)});
}

size_t WriteBack::Staged::size_bytes() const {
  return changes.bytes->size_bytes() + changes.list.size() * sizeof(KeyStore::Change);
}

Found WriteBack::Staged::Find(std::string_view key) const {
  if (index.empty()) {
    for (size_t i = 0; i < changes.list.size(); ++i) index[changes.list[i].key] = i;
  }
  const auto at = index.find(key);
  return at == index.end() ? Found{}
                           : Found{.known = true, .value = changes.list[at->second].value};
}

Found WriteBack::FindNewest(std::string_view key) const {
  for (auto staged = staged_.rbegin(); staged != staged_.rend(); ++staged) {
    if (const Found found = staged->Find(key); found.known) return found;
  }
  return FindVisible(key);
}

Found WriteBack::FindVisible(std::string_view key) const {
  if (const Found found = active_.Find(key); found.known) return found;
  for (auto frozen = frozen_.rbegin(); frozen != frozen_.rend(); ++frozen) {
    if (const Found found = (*frozen)->layer.Find(key); found.known) return found;
  }
  return {};
}

Layer WriteBack::VisibleIn(std::string_view prefix, size_t limit) const {
  struct Source {
    OrderedEntries::Iterator at;
    OrderedEntries::Iterator end;
    bool done(std::string_view within) const { return at == end || !at->key.starts_with(within); }
  };
  std::vector<Source> sources;  // Newest first.
  const auto add = [&](const Layer& layer) {
    sources.push_back({layer.versions().LowerBound(prefix), layer.versions().end()});
  };
  add(active_);
  for (auto frozen = frozen_.rbegin(); frozen != frozen_.rend(); ++frozen) add((*frozen)->layer);
  Layer found;
  for (size_t live = 0; live < limit;) {
    Source* next = nullptr;
    for (Source& source : sources) {
      if (source.done(prefix)) continue;
      if (next == nullptr || source.at->key < next->at->key) next = &source;
    }
    if (next == nullptr) break;
    const auto& [key, version] = *next->at;
    found.Put(key, version);
    live += version.has_value() ? 1 : 0;
    for (Source& source : sources) {
      if (&source != next && !source.done(prefix) && source.at->key == key) ++source.at;
    }
    ++next->at;
  }
  return found;
}

void WriteBack::Stage(uint64_t ticket, Changes changes) {
  CHECK(staged_.empty() || staged_.back().ticket < ticket);
  staged_.push_back(Staged{ticket, std::move(changes), {}});
}

void WriteBack::Commit(uint64_t ticket, Applied upto) {
  CHECK(!staged_.empty() &&
        staged_.front().ticket == ticket);  // Batches commit in the order they were prepared.
  const Changes changes = std::move(staged_.front().changes);
  staged_.pop_front();
  Apply(changes, upto);
}

void WriteBack::Abort(uint64_t ticket) {
  CHECK(!staged_.empty() &&
        staged_.back().ticket == ticket);  // A later batch has read what this one staged.
  staged_.pop_back();
}

void WriteBack::Apply(const Changes& changes, Applied upto) {
  CHECK(upto.log_offset >= upto_.log_offset);
  for (const KeyStore::Change& change : changes.list) active_.Put(change.key, change.value);
  upto_ = upto;
}

void WriteBack::Freeze() {
  if (active_.empty()) return;
  frozen_.push_back(std::make_shared<const Frozen>(Frozen{std::move(active_), upto_}));
  active_ = Layer();
}

void WriteBack::FreezeEmpty() {
  CHECK(active_.empty());
  frozen_.push_back(std::make_shared<const Frozen>(Frozen{Layer(), upto_}));
}

void WriteBack::DropFrozen(size_t count) {
  CHECK(count <= frozen_.size());
  frozen_.erase(frozen_.begin(), frozen_.begin() + static_cast<std::ptrdiff_t>(count));
}

size_t WriteBack::size_bytes() const {
  size_t sum = active_.size_bytes();
  for (const auto& frozen : frozen_) sum += frozen->layer.size_bytes();
  for (const auto& staged : staged_) sum += staged.size_bytes();
  return sum;
}

}  // namespace sluice::kv
