#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

#include "client/cluster.h"

namespace sluice::client {

/// Rows found for keys.
struct LookupRows {
  std::shared_ptr<arrow::RecordBatch> rows;  ///< All columns of the table.
  std::vector<std::vector<int64_t>>
      of_key;  ///< Per key its positions in `rows`; empty = nothing found.
};

/// Looks up rows of a primary-key table. Keys of one call that go to the same server share a
/// request.
///
/// Threads: any loop; calls do not disturb each other.
class Lookuper {
 public:
  /// `columns` empty = by the whole primary key; else by these: the bucket key, after any partition
  /// columns. Errors: kTableNotExist; kNonPrimaryKeyTable; kInvalidTable when the columns are no
  /// prefix that lookups take.
  static io::Task<Result<std::shared_ptr<Lookuper>>> Open(io::Loop& loop, ClusterPtr cluster,
                                                          types::TablePath path,
                                                          std::vector<std::string> columns = {});

  /// Names of the columns that `keys` has to have, in order: the primary key (partition columns
  /// among it), or those of a prefix lookup.
  const std::vector<std::string>& key_columns() const;
  const TableMeta& table() const;
  io::Task<Result<LookupRows>> Lookup(io::Loop& loop, std::shared_ptr<arrow::RecordBatch> keys);

 private:
  struct Plan;
  Lookuper() = default;
  static Result<std::shared_ptr<Lookuper>> Make(ClusterPtr cluster, TableMetaPtr table,
                                                std::vector<std::string> columns);
  static io::Task<Result<LookupRows>> LookupIn(std::shared_ptr<const Plan> plan, io::Loop& loop,
                                               std::shared_ptr<arrow::RecordBatch> keys);
  std::shared_ptr<const Plan> plan_;
};

}  // namespace sluice::client
