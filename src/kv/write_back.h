#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key_store.h"

namespace sluice::kv {

/// A value of a key, or nullopt: the key was removed.
using Version = std::optional<std::string>;

/// One version per key, in key order, with the memory that it takes.
class Layer {
 public:
  using Map = std::map<std::string, Version, std::less<>>;

  /// nullptr when this layer says nothing about `key`.
  const Version* Find(std::string_view key) const;
  void Put(std::string_view key, Version version);
  /// Take all of `newer`; its versions win.
  void Absorb(Layer newer);

  const Map& versions() const { return versions_; }
  bool empty() const { return versions_.empty(); }
  size_t size_bytes() const { return size_bytes_; }

 private:
  Map versions_;
  size_t size_bytes_ = 0;
};

/// A layer that changes no more, with the log prefix whose newest versions it completes.
struct Frozen {
  Layer layer;
  Applied upto;
};

/// What the store does not hold yet of one bucket: staged batches over the active layer over frozen
/// layers.
///
/// Visible = active and frozen. Staged batches become visible oldest first. Frozen layers are
/// shared with scans and the flusher; once the store has them, the oldest are dropped. Threads:
/// confined to the bucket's shard, Frozen apart.
class WriteBack {
 public:
  explicit WriteBack(Applied start) : upto_(start) {}

  /// Newest version, staged ones included.
  const Version* FindNewest(std::string_view key) const;
  /// Newest visible version.
  const Version* FindVisible(std::string_view key) const;

  void Stage(uint64_t ticket, Layer layer);
  /// Make the oldest staged batch visible.
  void Commit(uint64_t ticket, Applied upto);
  /// Drop the newest staged batch.
  void Abort(uint64_t ticket);
  /// Make versions visible at once (recovery).
  void Apply(Layer layer, Applied upto);

  /// Turn the active layer into a frozen one; nothing when it is empty and the store lacks nothing.
  void Freeze();
  /// Forget the `count` oldest frozen layers.
  void DropFrozen(size_t count);

  const Layer& active() const { return active_; }
  /// Oldest first.
  const std::deque<std::shared_ptr<const Frozen>>& frozen() const { return frozen_; }
  size_t staged_count() const { return staged_.size(); }
  const Applied& upto() const { return upto_; }
  size_t size_bytes() const;

 private:
  struct Staged {
    uint64_t ticket;
    Layer layer;
  };
  std::deque<Staged> staged_;  // Oldest first.
  Layer active_;
  std::deque<std::shared_ptr<const Frozen>> frozen_;
  Applied upto_;  // What the visible layers complete.
};

}  // namespace sluice::kv
