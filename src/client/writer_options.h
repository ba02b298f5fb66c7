#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::client {

struct WriterOptions {
  int64_t batch_bytes = 2 << 20;  ///< A batch of a bucket is sent once it is about so large,
  int64_t batch_rows = 0;         ///< or has so many rows (0 = any number),
  std::chrono::milliseconds linger{100};  ///< or once its first row has waited so long.
  int64_t buffer_bytes_max = 64 << 20;    ///< Rows not acknowledged yet; more make writers wait.
  std::chrono::milliseconds ack_timeout{30'000};  ///< Sent along: the server answers by then.
  std::chrono::milliseconds delivery_timeout{
      120'000};  ///< A batch not acknowledged by then fails the writer.
  /// A batch that a server refuses for its storage (full disk, storage that fails) for so long, and
  /// nothing but refuses, fails the writer.
  std::chrono::milliseconds storage_timeout{120'000};
  bool create_partitions = true;  ///< Make partitions that rows need.
  // Upserts only.
  std::vector<std::string>
      target_columns;      ///< Partial update of these columns (with the primary key), empty = all.
  bool overwrite = false;  ///< Bypass the merge engine.
};

/// What became of the rows so far.
struct WriteCounts {
  int64_t rows_acked = 0;
  int64_t rows_pending = 0;  ///< Buffered or under way.
  int64_t batches_acked = 0;
  int64_t bytes_acked = 0;  ///< Of batches, as sent.
  int64_t retries = 0;
};

}  // namespace sluice::client
