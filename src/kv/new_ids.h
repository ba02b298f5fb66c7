#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace sluice::kv {

/// Values for the auto-increment column of new rows, handed in by ranges that nobody else has.
class NewIds {
 public:
  void Add(int64_t first, int64_t count) {
    ranges_.emplace_back(first, first + count);
    left_ += count;
  }
  int64_t left() const { return left_; }
  /// The next one, never the same again. There is one.
  int64_t Take() {
    CHECK(left_ > 0);
    --left_;
    const int64_t id = ranges_.front().first++;
    if (ranges_.front().first == ranges_.front().second) ranges_.erase(ranges_.begin());
    return id;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // First, and past the last; none empty.
  int64_t left_ = 0;
};

}  // namespace sluice::kv
