#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key_store.h"
#include "kv/write_back.h"

namespace sluice::kv {

/// Walks layers over a store in key order: the newest version of each key, removed keys left out.
///
/// Lifetime: the layers' bytes are kept alive by the caller.
/// Threads: one at a time.
class MergeCursor {
 public:
  /// `layers` newest first.
  MergeCursor(std::vector<const Layer*> layers, std::unique_ptr<KeyStore::Cursor> store);

  /// Go to the first live key at or above `key`.
  void Seek(std::string_view key);
  bool valid() const { return valid_; }
  std::string_view key() const { return key_; }      ///< Lives until the next call.
  std::string_view value() const { return value_; }  ///< Lives until the next call.
  void Next();
  /// Not OK when the walk ended early because the store could not be read.
  Status status() const { return store_->status(); }
  /// The walk ended early because the rest of the store is not in memory.
  bool missed() const { return store_->missed(); }

 private:
  struct Source {
    const Layer* layer;
    OrderedEntries::Iterator at;
    bool done() const { return at == layer->versions().end(); }
  };
  // Find the smallest key of all sources; step over it where it is removed.
  void Settle();
  // Step over the current key wherever it stands.
  void Step();
  void StepStore();
  void LookAtStore();

  std::vector<Source> sources_;  // Newest first.
  std::unique_ptr<KeyStore::Cursor> store_;
  bool store_valid_ = false;
  bool store_failed_ = false;
  bool valid_ = false;
  bool in_store_alone_ = false;  // No layer knows the current key.
  std::string_view key_;         // Of a layer, or the store's where only the store has it.
  std::string_view value_;
};

}  // namespace sluice::kv
