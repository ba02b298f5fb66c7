#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kv {

/// A value of a key, or nullopt: the key was removed.
using Version = std::optional<std::string>;

/// A key with its newest version.
struct Entry {
  std::string key;
  Version version;
};

/// Entries in key order. Two levels of sorted arrays, whose items begin with the first bytes of the
/// key: a search reads a few lines of memory, where a tree would read one per level.
///
/// Entries stay where they are and are never removed. Threads: many readers, or one writer.
class OrderedEntries {
  struct Item {
    uint64_t head;  // The key's first bytes as a number, so that most comparisons end here.
    Entry* entry;
  };
  using Leaf = std::vector<Item>;

 public:
  /// Lives until the next Add.
  class Iterator {
   public:
    const Entry& operator*() const { return *(*leaves_)[leaf_][at_].entry; }
    const Entry* operator->() const { return &**this; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const {
      return leaf_ == other.leaf_ && at_ == other.at_;
    }

   private:
    friend class OrderedEntries;
    Iterator(const std::vector<Leaf>* leaves, size_t leaf, size_t at)
        : leaves_(leaves), leaf_(leaf), at_(at) {}
    const std::vector<Leaf>* leaves_;
    size_t leaf_;  // The end is behind the last leaf.
    size_t at_;
  };

  Iterator begin() const { return {&leaves_, 0, 0}; }
  Iterator end() const { return {&leaves_, leaves_.size(), 0}; }
  /// The first entry whose key is at or above `key`.
  Iterator LowerBound(std::string_view key) const;
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  /// Add a key that is not there yet.
  Entry* Add(std::string_view key, std::optional<std::string_view> value);

 private:
  struct Place {
    size_t leaf;
    size_t at;
  };
  // Before which item of which leaf `key` belongs.
  Place PlaceOf(std::string_view key) const;
  void Split(size_t leaf);

  std::vector<std::unique_ptr<Entry>> entries_;  // In the order in which they came.
  std::vector<Leaf> leaves_;                     // None is empty.
  std::vector<Item> firsts_;                     // The first item of each leaf.
};

}  // namespace sluice::kv
