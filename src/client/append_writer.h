#pragma once
#include <arrow/type_fwd.h>

#include <memory>

#include "client/cluster.h"
#include "client/writer_options.h"

namespace sluice::client {

/// Appends rows to a log table: idempotent, acknowledged by all replicas, in order within each
/// bucket.
///
/// With a bucket key rows go to buckets by its hash, else whole batches go to one bucket after
/// another. Up to five batches of a bucket are under way; retries keep their order. The first error
/// that no retry can cure sticks. Threads: confined to the loop that it was opened on (SyncWait
/// from others).
class AppendWriter {
 public:
  /// Errors: kTableNotExist; kInvalidTable for a primary-key table.
  static io::Task<Result<std::unique_ptr<AppendWriter>>> Open(io::Loop& loop, ClusterPtr cluster,
                                                              types::TablePath path,
                                                              WriterOptions options);
  ~AppendWriter();

  /// Take rows whose columns match the table's in order and type; waits while too much is under
  /// way. Errors: kInvalidTable when the columns do not match or a NOT NULL column has a NULL; what
  /// made the writer fail.
  io::Task<Status> Append(std::shared_ptr<arrow::RecordBatch> rows);
  /// Send what waits and return when everything taken so far is acknowledged.
  io::Task<Status> Flush();

  WriteCounts counts() const;
  const TableMeta& table() const;

 private:
  struct State;
  explicit AppendWriter(std::shared_ptr<State> state);
  static io::Task<Status> AppendTo(std::shared_ptr<State> state,
                                   std::shared_ptr<arrow::RecordBatch> rows);
  std::shared_ptr<State> state_;  // Shared with what is under way.
};

}  // namespace sluice::client
