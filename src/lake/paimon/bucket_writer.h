#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lake/paimon/data_writer.h"

namespace sluice::lake::paimon {

/// Files of one bucket, written and synced.
class PreparedBucket : public PreparedFiles {
 public:
  std::string partition;  ///< Row of the partition columns, arity in front.
  int32_t bucket = 0;
  int32_t total_buckets = -1;
  std::string folder;
  std::vector<DataFileMeta> data;
  std::vector<DataFileMeta> changelog;

  int64_t record_count() const override;
  int64_t size_bytes() const override;
  std::vector<ManifestEntry> Entries(const std::vector<DataFileMeta>& files) const;
};

/// Where a writer's rows go.
struct BucketPlace {
  std::string partition;  ///< Serialized row.
  std::string folder;
  int32_t bucket = 0;  ///< Of the lake.
  int32_t total_buckets = -1;
  int32_t fluss_bucket = 0;  ///< For __bucket.
  int64_t first_sequence = 0;
};

/// Turns log batches into file-form columns of the table: by name, system columns filled, missing
/// ones NULL.
class RowShaper {
 public:
  /// Errors: kInvalidTable when a column is not in the lake table, names it.
  static Result<RowShaper> Make(std::shared_ptr<const LakeSchema> schema,
                                const std::vector<std::string>& columns);
  Result<std::vector<std::shared_ptr<arrow::Array>>> Shape(const LakeRows& rows,
                                                           int32_t fluss_bucket) const;

 private:
  std::shared_ptr<const LakeSchema> schema_;
  std::vector<int> sources_;  // Per lake column: position in the batch, -1 = not there.
};

/// Rows go to files as they come.
Result<std::unique_ptr<BucketWriter>> MakeAppendWriter(std::shared_ptr<const WriteContext> context,
                                                       RowShaper shaper, BucketPlace place);

/// Rows are gathered, sorted by key, and written as level-0 files with the newest row of each key,
/// beside changelog files with all of them where the table's changelog producer is `input`.
Result<std::unique_ptr<BucketWriter>> MakeKeyWriter(std::shared_ptr<const WriteContext> context,
                                                    RowShaper shaper, BucketPlace place);

/// Rows `rows` of the columns. Arrow's Take, column by column.
Result<std::vector<std::shared_ptr<arrow::Array>>> TakeRows(
    const std::vector<std::shared_ptr<arrow::Array>>& columns, const std::vector<uint32_t>& rows);

}  // namespace sluice::lake::paimon
