#include "kv/write_back.h"

#include "base/check.h"

namespace sluice::kv {
namespace {

// Map node, two strings, allocator headers: what an entry costs beside its bytes.
constexpr size_t kEntryOverheadBytes = 144;

size_t ValueBytes(const Version& version) { return version.has_value() ? version->size() : 0; }

}  // namespace

const Version* Layer::Find(std::string_view key) const {
  const auto at = versions_.find(key);
  return at == versions_.end() ? nullptr : &at->second;
}

void Layer::Put(std::string_view key, Version version) {
  size_bytes_ += ValueBytes(version);
  const auto at = versions_.lower_bound(key);
  if (at != versions_.end() && at->first == key) {
    size_bytes_ -= ValueBytes(at->second);
    at->second = std::move(version);
    return;
  }
  size_bytes_ += key.size() + kEntryOverheadBytes;
  versions_.emplace_hint(at, std::string(key), std::move(version));
}

void Layer::Absorb(Layer newer) {
  if (versions_.empty()) {
    std::swap(*this, newer);
    return;
  }
  while (!newer.versions_.empty()) {
    auto node = newer.versions_.extract(newer.versions_.begin());
    size_bytes_ += ValueBytes(node.mapped());
    const auto at = versions_.lower_bound(node.key());
    if (at != versions_.end() && at->first == node.key()) {
      size_bytes_ -= ValueBytes(at->second);
      at->second = std::move(node.mapped());
    } else {
      size_bytes_ += node.key().size() + kEntryOverheadBytes;
      versions_.insert(at, std::move(node));
    }
  }
}

const Version* WriteBack::FindNewest(std::string_view key) const {
  for (auto staged = staged_.rbegin(); staged != staged_.rend(); ++staged) {
    if (const Version* found = staged->layer.Find(key)) return found;
  }
  return FindVisible(key);
}

const Version* WriteBack::FindVisible(std::string_view key) const {
  if (const Version* found = active_.Find(key)) return found;
  for (auto frozen = frozen_.rbegin(); frozen != frozen_.rend(); ++frozen) {
    if (const Version* found = (*frozen)->layer.Find(key)) return found;
  }
  return nullptr;
}

void WriteBack::Stage(uint64_t ticket, Layer layer) {
  CHECK(staged_.empty() || staged_.back().ticket < ticket);
  staged_.push_back(Staged{ticket, std::move(layer)});
}

void WriteBack::Commit(uint64_t ticket, Applied upto) {
  CHECK(!staged_.empty() &&
        staged_.front().ticket == ticket);  // Batches commit in the order they were prepared.
  Layer layer = std::move(staged_.front().layer);
  staged_.pop_front();
  Apply(std::move(layer), upto);
}

void WriteBack::Abort(uint64_t ticket) {
  CHECK(!staged_.empty() &&
        staged_.back().ticket == ticket);  // A later batch has read what this one staged.
  staged_.pop_back();
}

void WriteBack::Apply(Layer layer, Applied upto) {
  CHECK(upto.log_offset >= upto_.log_offset);
  active_.Absorb(std::move(layer));
  upto_ = upto;
}

void WriteBack::Freeze() {
  if (active_.empty()) return;
  frozen_.push_back(std::make_shared<const Frozen>(Frozen{std::move(active_), upto_}));
  active_ = Layer();
}

void WriteBack::DropFrozen(size_t count) {
  CHECK(count <= frozen_.size());
  frozen_.erase(frozen_.begin(), frozen_.begin() + static_cast<std::ptrdiff_t>(count));
}

size_t WriteBack::size_bytes() const {
  size_t sum = active_.size_bytes();
  for (const auto& frozen : frozen_) sum += frozen->layer.size_bytes();
  for (const auto& staged : staged_) sum += staged.layer.size_bytes();
  return sum;
}

}  // namespace sluice::kv
