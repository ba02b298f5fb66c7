#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lake/lake_testing.h"

namespace sluice::lake {

/// A table under test with what a reader must find in it. Rows come from a seed, go through writers
/// as tiering sends them, and are kept as JSON lines beside.
class LakeWorkload {
 public:
  struct Options {
    types::TablePath path;
    types::TableDescriptor descriptor;
    int64_t keys = 100;  ///< Ids are below it.
  };
  static Result<std::unique_ptr<LakeWorkload>> Create(LakeCatalog* catalog, Options options,
                                                      uint64_t seed);

  /// One round: `rows` rows in several batches, spread over buckets and partitions, then one
  /// commit. Primary-key tables get inserts, updates (-U, +U) and deletes.
  Result<int64_t> Round(int64_t rows);
  /// The rows that a read of the snapshot must give, sorted.
  std::vector<std::string> ExpectedRows() const;
  /// Rows as of an older snapshot that Round returned.
  const std::vector<std::string>& ExpectedRowsAt(int64_t snapshot_id) const {
    return history_.at(snapshot_id);
  }
  /// Count of changelog records written so far.
  int64_t changes() const { return changes_; }
  const std::map<int64_t, std::vector<std::string>>& history() const { return history_; }

  LakeTable& table() { return *table_; }
  /// Open the table anew, after ALTER.
  Status Reopen();
  std::vector<std::string> AllColumns() const { return Names(table_->schema().columns); }

 private:
  LakeWorkload(LakeCatalog* catalog, Options options, uint64_t seed)
      : catalog_(catalog), options_(std::move(options)), random_(seed) {}
  Status WriteBucket(const std::string& partition, int32_t bucket,
                     const std::shared_ptr<arrow::RecordBatch>& rows,
                     std::vector<std::unique_ptr<PreparedFiles>>* prepared);
  Result<std::vector<int32_t>> BucketsOf(const arrow::RecordBatch& rows) const;
  // Records of a log.
  struct Changes {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<RowKind> kinds;
  };
  // The rows as log records: keyed rows become changes of what is stored.
  Result<Changes> ChangesOf(const std::string& partition,
                            const std::shared_ptr<arrow::RecordBatch>& rows);
  // What a reader finds once these records are in the lake.
  void Apply(const std::string& partition, int32_t bucket, const Changes& changes,
             int64_t base_offset, int64_t timestamp_ms);

  LakeCatalog* catalog_;
  Options options_;
  io::SeededRandom random_;
  std::unique_ptr<LakeTable> table_;
  std::map<std::pair<std::string, int32_t>, int64_t> offsets_;
  std::vector<std::string> rows_;                                      // Append tables.
  std::map<std::string, std::string> by_key_;                          // "partition/id" to line.
  std::map<std::string, std::shared_ptr<arrow::RecordBatch>> stored_;  // Those rows.
  std::map<int64_t, std::vector<std::string>> history_;
  int64_t changes_ = 0;
  int64_t timestamp_ms_ = 1'790'000'000'000;
};

/// A descriptor over AllTypeColumns. `primary_key` and `bucket_keys` may be empty; `partitioned`
/// adds dt STRING.
types::TableDescriptor AllTypesTable(bool primary_key, bool bucket_key, bool partitioned,
                                     int32_t buckets, bool with_nested);

/// A descriptor of id INT NOT NULL, the key if there is one, and s STRING.
types::TableDescriptor TwoColumnTable(bool primary_key, int32_t buckets = 1);

}  // namespace sluice::lake
