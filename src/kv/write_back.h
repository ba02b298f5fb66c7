#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kv/arena.h"
#include "kv/key_store.h"
#include "kv/ordered_entries.h"

namespace sluice::kv {

/// What a place knows of a key. Views.
struct Found {
  bool known = false;                     ///< False: ask the next place.
  std::optional<std::string_view> value;  ///< nullopt = the key was removed.
};

/// Newest versions of keys, in the order in which they are to be put: of one that stands twice the
/// later counts. Views into `bytes`.
struct Changes {
  std::shared_ptr<const Arena> bytes;
  std::vector<KeyStore::Change> list;
};

/// One version per key, in key order, with the memory that it takes. Looks go by hash: a hot key
/// costs two cache misses, not one per level of the order.
class Layer {
 public:
  Found Find(std::string_view key) const;
  /// A known key's value is written over where it stands.
  void Put(std::string_view key, std::optional<std::string_view> value);

  const OrderedEntries& versions() const { return versions_; }
  bool empty() const { return versions_.empty(); }
  size_t size_bytes() const { return size_bytes_; }

 private:
  // Open addressing over the entries, which stay where they are and are never removed.
  struct Place {
    size_t hash = 0;
    Entry* entry = nullptr;
  };
  Entry* EntryOf(std::string_view key, size_t hash) const;
  void AddToIndex(Place place);

  OrderedEntries versions_;
  std::vector<Place> index_;  // A power of two, at most half of it taken.
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

  /// Newest version, staged ones included. Lives until the next change.
  Found FindNewest(std::string_view key) const;
  /// Newest visible version. Lives until the next change.
  Found FindVisible(std::string_view key) const;

  void Stage(uint64_t ticket, Changes changes);
  /// Make the oldest staged batch visible.
  void Commit(uint64_t ticket, Applied upto);
  /// Drop the newest staged batch.
  void Abort(uint64_t ticket);
  /// Make versions visible at once (recovery).
  void Apply(const Changes& changes, Applied upto);

  /// Newest visible version of every key that starts with `prefix`, in key order, until `limit` of
  /// them are no removals.
  Layer VisibleIn(std::string_view prefix, size_t limit) const;

  /// Turn the active layer into a frozen one; nothing when it is empty.
  void Freeze();
  /// Freeze a layer without versions, for an end of the log that changed none.
  void FreezeEmpty();
  /// Forget the `count` oldest frozen layers.
  void DropFrozen(size_t count);

  const Layer& active() const { return active_; }
  /// Oldest first.
  const std::deque<std::shared_ptr<const Frozen>>& frozen() const { return frozen_; }
  const Applied& upto() const { return upto_; }
  size_t size_bytes() const;

 private:
  struct Staged {
    uint64_t ticket;
    Changes changes;
    size_t size_bytes() const;
    Found Find(std::string_view key) const;
    // Made by the first look: mostly a batch commits before the next one asks.
    mutable std::unordered_map<std::string_view, size_t> index;
  };
  std::deque<Staged> staged_;  // Oldest first.
  Layer active_;
  std::deque<std::shared_ptr<const Frozen>> frozen_;
  Applied upto_;  // What the visible layers complete.
};

}  // namespace sluice::kv
