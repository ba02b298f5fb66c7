#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "client/cluster.h"
#include "types/row.h"
#include "wire/kv_batch.h"

// Private to the module: what writers and readers do with rows.
namespace sluice::client {

/// Rows of a batch that go to one bucket.
struct RoutedRows {
  std::string partition;      ///< Name, empty when the table has no partitions.
  int32_t bucket = -1;        ///< -1 when the table has no bucket key.
  std::vector<int64_t> rows;  ///< Positions, ascending; all of the batch when `whole`.
  bool whole = false;
};

/// Finds partition and bucket of rows by the columns that decide them.
class RowRouter {
 public:
  static Result<RowRouter> Make(const types::TableInfo& table);
  /// `positions[i]` is where the table's column i is in `rows`, -1 = not there.
  /// Errors: kInvalidTable when a column that decides is not there or NULL where it may not be.
  Result<std::vector<RoutedRows>> Route(const arrow::RecordBatch& rows,
                                        const std::vector<int>& positions) const;

  int32_t bucket_count() const { return bucket_count_; }
  bool hashes() const { return encoder_.has_value(); }

 private:
  RowRouter() = default;
  Result<std::vector<std::string>> PartitionNames(const arrow::RecordBatch& rows,
                                                  const std::vector<int>& positions) const;
  Result<std::vector<int32_t>> Buckets(const arrow::RecordBatch& rows,
                                       const std::vector<int>& positions) const;

  std::vector<types::Column> columns_;
  std::vector<int> partition_columns_;
  std::vector<int> bucket_columns_;
  std::optional<types::KeyEncoder> encoder_;
  std::string lake_format_;
  int32_t bucket_count_ = 1;
};

/// Check that the columns of `rows` have the types of `columns`, and no NULL where none may be.
/// Errors: kInvalidTable naming the column.
Status CheckRows(const arrow::RecordBatch& rows, const std::vector<types::Column>& columns);

/// Rows at some positions.
Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int64_t>& positions);

/// 0, 1, …, count - 1.
std::vector<int> AllPositions(size_t count);

/// Rows of schema `from` as rows of schema `to`: columns are matched by id, missing ones are NULL.
Result<std::shared_ptr<arrow::RecordBatch>> AdaptRows(const arrow::RecordBatch& rows,
                                                      const types::Schema& from,
                                                      const types::Schema& to);

/// Decode stored values, each with its schema, into rows of the table's schema, in their order.
io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> DecodeValues(
    io::Loop& loop, ClusterPtr cluster, TableMetaPtr table, std::vector<wire::StoredValue> values);

/// Join batches of one schema; of none an empty batch.
Result<std::shared_ptr<arrow::RecordBatch>> Concatenate(
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
    const std::shared_ptr<arrow::Schema>& schema);

/// The partition with this name; makes it when it does not exist and `create` says so.
io::Task<Result<PartitionMetaPtr>> FindPartition(io::Loop& loop, ClusterPtr cluster,
                                                 TableMetaPtr table, std::string name, bool create);

}  // namespace sluice::client
