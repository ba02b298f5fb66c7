#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "client/cluster.h"

namespace sluice::client {

/// Reads all live rows of one bucket of a primary-key table, in key order, as of one log offset.
///
/// Threads: confined to the loop that it was opened on.
class KvScanner {
 public:
  static io::Task<Result<std::unique_ptr<KvScanner>>> Open(io::Loop& loop, ClusterPtr cluster,
                                                           types::TablePath path,
                                                           types::BucketId bucket,
                                                           int32_t batch_bytes = 4 << 20);
  ~KvScanner();

  /// The next rows (all columns of the table), null at the end.
  io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> Next();
  /// The rows are the table as it was when its log ended here.
  int64_t log_offset() const;
  /// Give the session back before its end. After the end there is nothing to do.
  io::Task<Status> Close();

 private:
  struct State;
  explicit KvScanner(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Some rows of a bucket: of a primary-key table the first `limit` by key, of a log table the last
/// `limit`.
io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> LimitScan(io::Loop& loop, ClusterPtr cluster,
                                                                types::TablePath path,
                                                                types::BucketId bucket,
                                                                int32_t limit);

}  // namespace sluice::client
