#pragma once
#include <mutex>
#include <set>

#include "types/ids.h"

namespace sluice::sql {

/// Lake tables that were read without a pin, so that each is told of once.
///
/// Threads: any.
class UnpinnedTables {
 public:
  /// True when the table is new here.
  bool Add(const types::TablePath& path) {
    const std::lock_guard lock(mutex_);
    return paths_.insert(path).second;
  }

 private:
  std::mutex mutex_;  // Guards what follows.
  std::set<types::TablePath> paths_;
};

}  // namespace sluice::sql
