#pragma once
#include <arrow/type_fwd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster.h"
#include "io/pool.h"
#include "wire/log_batch.h"
#include "wire/row_filter.h"

namespace sluice::client {

/// Rows of one log batch.
struct ScanBatch {
  types::BucketId bucket;
  int64_t base_offset = 0;  ///< Of the first row; the others follow one by one.
  int64_t commit_timestamp_ms = 0;
  std::vector<wire::ChangeType> changes;  ///< Per row; empty = append only.
  std::shared_ptr<arrow::RecordBatch> rows;
  int64_t high_watermark = -1;  ///< Of the bucket when it was read.
};

struct LogScannerOptions {
  std::vector<std::string> projection;  ///< Columns in the order wanted, empty = all.
  /// Rows that do not meet it may be left out, batch by batch.
  std::optional<wire::RowFilter> filter;
  std::optional<int64_t> table_id;     ///< Open fails when the path has another table by now.
  int32_t max_bytes = 16 << 20;        ///< Of one fetch from one server,
  int32_t max_bucket_bytes = 1 << 20;  ///< and of one bucket in it.
  int32_t min_bytes = 1;
  int64_t max_rows_bytes = 16 << 20;  ///< Held by the rows of one Poll; a batch may be larger.
  std::chrono::milliseconds max_wait{500};  ///< How long the server may wait for min_bytes.
  /// An error that may pass is tried again as long, then it is the caller's; 0 = for good.
  std::chrono::milliseconds retry_max{0};
  io::Pool* decode_pool =
      nullptr;  ///< Decodes rows off the loop; null = on it. Outlives the scanner's calls.
};

/// Reads the logs of several buckets of one table, each from an offset on.
///
/// One fetch per leader is under way while a Poll waits. Batches of an older schema come widened
/// with NULLs. Threads: confined to the loop that it was opened on.
class LogScanner {
 public:
  static constexpr int64_t kEarliest = -2;  ///< As an offset: whatever is there first.

  /// Errors: those of the table; kTableNotExist when it was made anew.
  static io::Task<Result<std::unique_ptr<LogScanner>>> Open(io::Loop& loop, ClusterPtr cluster,
                                                            types::TablePath path,
                                                            LogScannerOptions options);
  ~LogScanner();

  /// Start (again) at `offset`. What was fetched of the bucket and not yet returned is dropped.
  void Subscribe(types::BucketId bucket, int64_t offset);

  /// Decode and return what has arrived, up to max_rows_bytes at a time, or wait up to `timeout`
  /// for something; empty when nothing came. Errors: kLogOffsetOutOfRange, kCorruptRecord for a
  /// batch that cannot be decoded, and other final errors of a bucket, which stays subscribed. They
  /// name table, bucket and offset, and come at once, after the rows in front of them. What may
  /// pass is tried again, with a WARN line once a minute where it lasts, up to `retry_max`.
  io::Task<Result<std::vector<ScanBatch>>> Poll(std::chrono::milliseconds timeout);

  /// Next offset to be returned; moves over batches without rows too. nullopt = not subscribed.
  std::optional<int64_t> Position(types::BucketId bucket) const;
  /// As of the last reply, -1 before the first.
  int64_t HighWatermark(types::BucketId bucket) const;
  /// Schema of the rows: the projected columns.
  const std::shared_ptr<arrow::Schema>& schema() const;
  const TableMeta& table() const;

 private:
  struct State;
  explicit LogScanner(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace sluice::client
