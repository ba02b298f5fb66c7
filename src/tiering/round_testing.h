#pragma once
#include "tiering/memory_cluster_testing.h"
#include "tiering/round.h"

namespace sluice::tiering {

inline LogRow Row(int32_t id, std::string name) {
  return {wire::ChangeType::kAppendOnly, id, std::move(name)};
}

/// Rounds of one table after another, over a cluster in memory.
class RoundTest : public testing::Test {
 protected:
  const types::TablePath& Make(const std::string& name, bool primary_key, int32_t buckets) {
    table_ = LakeTestTable(11, name, primary_key, buckets);
    cluster_.AddTable(table_);
    lake_.Create(table_);
    return table_.path;
  }
  Result<RoundResult> Run() {
    const RoundOptions options{.link = &cluster_,
                               .lake = &lake_.catalog(),
                               .clock = &io::SystemClock(),
                               .bucket_pool = pool_.get(),
                               .bytes_max = bytes_max_,
                               .time_max = time_max_,
                               .rows = &rows_,
                               .stopping = &stopping_};
    return Round(options, cluster_.Handout(table_.path)).Run();
  }
  std::vector<TestLake::Row> ExpectedRows() {
    std::vector<TestLake::Row> rows;
    for (int32_t bucket = 0; bucket < *table_.descriptor.bucket_count; ++bucket) {
      const auto part = Expected(cluster_.LogOf(table_.path, bucket), bucket,
                                 table_.descriptor.has_primary_key());
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }
  int64_t RecordedOffset(int32_t bucket) {
    const auto recorded = cluster_.RecordedSnapshot(table_.path).ValueOrDie();
    if (!recorded) return -1;
    for (const auto& offset : recorded->buckets) {
      if (offset.bucket == bucket) return offset.log_end_offset;
    }
    return -1;
  }

  MemoryCluster cluster_;
  TestLake lake_;
  types::TableInfo table_;
  std::unique_ptr<io::Pool> pool_ = io::Pool::Start({.name = "buckets", .threads = 2});
  int64_t bytes_max_ = 64 << 20;
  std::chrono::milliseconds time_max_ = std::chrono::minutes(10);
  MemoryBudget rows_{64 << 20};
  std::atomic<bool> stopping_ = false;
};

}  // namespace sluice::tiering
