#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster.h"
#include "client/writer_options.h"

namespace sluice::client {

/// Sends finished batches of many buckets of one table, and keeps the promises of the writers:
/// only the first kInFlightMax batches of a bucket without acknowledgement are under way, those
/// that failed go again before later ones, a batch that the server had already counts as
/// acknowledged.
///
/// A batch gets its sequence when it is added. After a failure a lane (the batches of one bucket)
/// sends nothing new until all that is under way has been answered; then it starts again at its
/// first batch without acknowledgement. That is safe since the server takes the sequences of a
/// writer in order only. Threads: confined to its loop. It lives in a shared_ptr that what is under
/// way holds.
class BatchSender : public std::enable_shared_from_this<BatchSender> {
 public:
  static constexpr size_t kInFlightMax = 5;
  /// Gives the bytes of a batch for a writer id and a sequence.
  using Build = std::function<Result<std::string>(int64_t writer_id, int32_t sequence)>;

  BatchSender(io::Loop& loop, ClusterPtr cluster, TableMetaPtr table, WriterOptions options,
              bool kv, std::vector<int32_t> target_columns);
  /// Get a writer id; before anything is added.
  static io::Task<Status> Start(std::shared_ptr<BatchSender> self);

  /// Put a batch behind those of its bucket. Pump sends it.
  Status Add(types::BucketId bucket, int64_t rows, const Build& build);
  /// Rows that wait in a writer's own buffer, for the bound.
  void AddBuffered(int64_t rows, int64_t bytes);
  void Pump();

  /// Wait until less than the bound is waiting and under way.
  static io::Task<Status> WaitForRoom(std::shared_ptr<BatchSender> self);
  /// Wait until every batch added is acknowledged.
  static io::Task<Status> WaitForAll(std::shared_ptr<BatchSender> self);
  /// What made the writer fail, if anything did.
  const Status& failure() const { return failure_; }
  void Fail(const Status& why);
  WriteCounts counts() const;
  io::Loop& loop() { return loop_; }
  const TableMetaPtr& table() const { return table_; }

 private:
  struct Batch {
    enum class Stage { kWaiting, kSent, kAcked };
    types::BucketId bucket;
    std::string bytes;
    int64_t rows;
    int32_t sequence;
    std::chrono::nanoseconds deadline;
    Stage stage = Stage::kWaiting;
    std::optional<std::chrono::nanoseconds> refused_since;  // For the server's storage.
  };
  struct Lane {
    std::deque<Batch> batches;  // By sequence.
    int32_t next_sequence = 0;
    int in_flight = 0;
    int retries = 0;      // In a row.
    int32_t leader = -1;  // -1 = to be asked for.
    bool asking = false;
    bool draining = false;  // Something failed; wait for the rest.
    bool paused = false;    // Waiting for its turn to try again.
  };
  using Sent = std::vector<std::pair<Lane*, Batch*>>;

  void PumpLane(const types::BucketId& bucket, Lane* lane,
                std::map<int32_t, std::vector<Sent>>* requests);
  static io::Task<void> AskLeader(std::shared_ptr<BatchSender> self, types::BucketId bucket,
                                  Lane* lane);
  static io::Task<void> SendTo(std::shared_ptr<BatchSender> self, int32_t leader, Sent sent);
  std::string Request(const Sent& sent) const;
  std::vector<Status> Outcomes(const Sent& sent, const Result<std::string>& reply,
                               float* pressure) const;
  bool IsLate(Batch* batch, const Status& outcome) const;
  void Settle(Lane* lane, Batch* batch, const Status& outcome);
  void Restart(Lane* lane, std::chrono::milliseconds delay);
  void WakeWaiters();

  io::Loop& loop_;
  ClusterPtr cluster_;
  TableMetaPtr table_;
  WriterOptions options_;
  bool kv_;
  std::vector<int32_t> target_columns_;
  int64_t writer_id_ = -1;
  std::map<types::BucketId, std::unique_ptr<Lane>> lanes_;
  std::vector<io::Completion<bool>> waiters_;
  Status failure_;
  int64_t buffered_rows_ = 0;  // In the writer's buffers.
  int64_t buffered_bytes_ = 0;
  int64_t pending_rows_ = 0;  // In the lanes.
  int64_t pending_bytes_ = 0;
  WriteCounts counts_;
};

}  // namespace sluice::client
