#pragma once
#include <arrow/type_fwd.h>

#include <memory>

#include "client/cluster.h"
#include "client/writer_options.h"

namespace sluice::client {

/// Upserts and deletes rows of a primary-key table, with the same promises as AppendWriter.
///
/// Threads: confined to the loop that it was opened on.
class UpsertWriter {
 public:
  /// Errors: kTableNotExist; kNonPrimaryKeyTable; kInvalidTargetColumn when target columns lack the
  /// primary key.
  static io::Task<Result<std::unique_ptr<UpsertWriter>>> Open(io::Loop& loop, ClusterPtr cluster,
                                                              types::TablePath path,
                                                              WriterOptions options);
  ~UpsertWriter();

  /// Rows of all columns in table order, or of the target columns in the order of the options.
  io::Task<Status> Upsert(std::shared_ptr<arrow::RecordBatch> rows);
  /// Delete by key: the batch has all columns in table order, or just the primary key's in its
  /// order.
  io::Task<Status> Delete(std::shared_ptr<arrow::RecordBatch> keys);
  io::Task<Status> Flush();

  WriteCounts counts() const;
  const TableMeta& table() const;

 private:
  struct State;
  explicit UpsertWriter(std::shared_ptr<State> state);
  static io::Task<Status> Put(std::shared_ptr<State> state,
                              std::shared_ptr<arrow::RecordBatch> rows, bool remove);
  std::shared_ptr<State> state_;
};

}  // namespace sluice::client
