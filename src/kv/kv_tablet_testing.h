#pragma once
#include <optional>

#include "kv/tablet_fixture.h"

namespace sluice::kv {

/// A bucket over stores in memory, whose flushes run when the test says so.
class KvTabletTest : public testing::Test {
 protected:
  TestBucket& Open(std::map<std::string, std::string> properties = {},
                   size_t bytes_max = 16 << 20) {
    bucket_.emplace(stores_, "kv-0", TestTable(std::move(properties)), &pool_, bytes_max);
    EXPECT_OK(bucket_->Reopen());
    return *bucket_;
  }
  void Flush() {
    bucket_->tablet().StartFlush();
    pool_.RunAll();
    bucket_->loop().RunPosted();
  }

  ~KvTabletTest() override { pool_.RunAll(); }  // A tablet waits for its running flush.

  static Status Targets(TestBucket& bucket, std::vector<int> targets) {
    return bucket.Prepare({Up({9, "x", {}, {}})}, std::move(targets)).status();
  }

  MemoryKeyStores stores_;
  ManualPool pool_;
  std::optional<TestBucket> bucket_;
};

}  // namespace sluice::kv
