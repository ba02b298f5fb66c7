#include "client/batch_sender_internal.h"
#include "client/calls_internal.h"
#include "wire/proto/kv.pb.h"
#include "wire/proto/log.pb.h"
#include "wire/records.h"

namespace sluice::client {
namespace {

constexpr int32_t kAllReplicas = -1;

/// The outcome of each batch by the entries of a reply.
template <typename Reply>
std::vector<Status> OutcomesOf(const std::vector<types::BucketId>& buckets, std::string_view body) {
  const Result<Reply> reply = wire::ParseMessage<Reply>(body);
  if (!reply.ok()) return std::vector<Status>(buckets.size(), reply.status());
  std::vector<Status> outcomes;
  for (const types::BucketId& bucket : buckets) {
    const auto same = [&](const auto& entry) {
      return entry.bucket_id() == bucket.bucket &&
             entry.has_partition_id() == bucket.partition_id.has_value() &&
             entry.partition_id() == bucket.partition_id.value_or(0);
    };
    const auto entry = std::ranges::find_if(reply->buckets_resp(), same);
    if (entry == reply->buckets_resp().end()) {
      outcomes.push_back(Error(ErrorCode::kCorruptMessage, "reply lacks the bucket ", bucket));
    } else {
      outcomes.push_back(wire::ErrorOf(*entry));
    }
  }
  return outcomes;
}

}  // namespace

BatchSender::BatchSender(io::Loop& loop, ClusterPtr cluster, TableMetaPtr table,
                         WriterOptions options, bool kv, std::vector<int32_t> target_columns)
    : loop_(loop),
      cluster_(std::move(cluster)),
      table_(std::move(table)),
      options_(std::move(options)),
      kv_(kv),
      target_columns_(std::move(target_columns)) {}

io::Task<Status> BatchSender::Start(std::shared_ptr<BatchSender> self) {
  wire::InitWriterRequest request;
  SetPath(request.add_table_path(), self->table_->info.path);
  CO_ASSIGN_OR_RETURN(const auto reply,
                      (co_await Ask<wire::InitWriterResponse, wire::InitWriterRequest>(
                          self->cluster_, self->loop_, Where::kAnyTablet, wire::ApiKey::kInitWriter,
                          std::move(request))));
  self->writer_id_ = reply.writer_id();
  co_return Status::OK();
}

Status BatchSender::Add(types::BucketId bucket, int64_t rows, const Build& build) {
  RETURN_NOT_OK(failure_);
  auto& lane = lanes_[bucket];
  if (lane == nullptr) lane = std::make_unique<Lane>();
  const int32_t sequence = lane->next_sequence;
  auto bytes = build(writer_id_, sequence);
  if (!bytes.ok()) {
    Fail(bytes.status());
    return failure_;
  }
  lane->next_sequence = sequence == INT32_MAX ? 0 : sequence + 1;
  pending_rows_ += rows;
  pending_bytes_ += static_cast<int64_t>(bytes->size());
  const auto deadline = loop_.clock().Monotonic() + options_.delivery_timeout;
  lane->batches.push_back({bucket, std::move(bytes).ValueUnsafe(), rows, sequence, deadline});
  return Status::OK();
}

void BatchSender::AddBuffered(int64_t rows, int64_t bytes) {
  buffered_rows_ += rows;
  buffered_bytes_ += bytes;
  if (bytes < 0) WakeWaiters();
}

void BatchSender::Pump() {
  if (!failure_.ok()) return;
  // Per leader: requests, each with at most one batch of a bucket.
  std::map<int32_t, std::vector<Sent>> requests;
  for (const auto& [bucket, lane] : lanes_) PumpLane(bucket, lane.get(), &requests);
  for (auto& [leader, list] : requests) {
    for (Sent& sent : list) io::Spawn(SendTo(shared_from_this(), leader, std::move(sent)));
  }
}

void BatchSender::PumpLane(const types::BucketId& bucket, Lane* lane,
                           std::map<int32_t, std::vector<Sent>>* requests) {
  if (lane->batches.empty() || lane->draining || lane->paused || lane->asking) return;
  if (lane->leader < 0) {
    lane->asking = true;
    io::Spawn(AskLeader(shared_from_this(), bucket, lane));
    return;
  }
  size_t request = 0;
  // The server remembers the last five batches of a writer, and has to know the first one without
  // acknowledgement: so not only the number under way counts, but how far they reach.
  const size_t reach = std::min(lane->batches.size(), kInFlightMax);
  for (size_t i = 0; i < reach; ++i) {
    Batch& batch = lane->batches[i];
    if (batch.stage != Batch::Stage::kWaiting) continue;
    auto& list = (*requests)[lane->leader];
    if (list.size() <= request) list.emplace_back();
    list[request++].emplace_back(lane, &batch);
    batch.stage = Batch::Stage::kSent;
    ++lane->in_flight;
  }
}

io::Task<void> BatchSender::AskLeader(std::shared_ptr<BatchSender> self, types::BucketId bucket,
                                      Lane* lane) {
  const Result<int32_t> leader =
      co_await self->cluster_->Leader(self->loop_, self->table_->info.path, bucket);
  lane->asking = false;
  if (leader.ok()) {
    lane->leader = *leader;
    self->Pump();
    co_return;
  }
  const bool late =
      !lane->batches.empty() && self->loop_.clock().Monotonic() > lane->batches.front().deadline;
  if (!IsRetriable(leader.status()) || late) {
    self->Fail(leader.status());
    co_return;
  }
  self->Restart(lane, self->cluster_->BackoffOf(lane->retries++));
}

std::string BatchSender::Request(const Sent& sent) const {
  std::vector<wire::BucketRecords> buckets;
  for (const auto& [lane, batch] : sent)
    buckets.push_back({batch->bucket.partition_id, batch->bucket.bucket, batch->bytes});
  const auto timeout_ms = static_cast<int32_t>(options_.ack_timeout.count());
  if (!kv_)
    return wire::BuildProduceLog(
        {kAllReplicas, table_->info.table_id, timeout_ms, std::move(buckets)});
  return wire::BuildPutKv({kAllReplicas, table_->info.table_id, timeout_ms, target_columns_,
                           std::move(buckets), options_.overwrite ? 1 : 0});
}

std::vector<Status> BatchSender::Outcomes(const Sent& sent, const Result<std::string>& reply,
                                          float* pressure) const {
  if (!reply.ok()) return std::vector<Status>(sent.size(), reply.status());
  std::vector<types::BucketId> buckets;
  for (const auto& [lane, batch] : sent) buckets.push_back(batch->bucket);
  if (!kv_) return OutcomesOf<wire::ProduceLogResponse>(buckets, *reply);
  if (const auto parsed = wire::ParseMessage<wire::PutKvResponse>(*reply); parsed.ok()) {
    for (const auto& entry : parsed->buckets_resp())
      *pressure = std::max(*pressure, entry.pressure());
  }
  return OutcomesOf<wire::PutKvResponse>(buckets, *reply);
}

io::Task<void> BatchSender::SendTo(std::shared_ptr<BatchSender> self, int32_t leader, Sent sent) {
  const auto key = self->kv_ ? wire::ApiKey::kPutKv : wire::ApiKey::kProduceLog;
  const Result<std::string> reply =
      co_await self->cluster_->CallTablet(self->loop_, leader, key, self->Request(sent));
  float pressure = 0;
  const std::vector<Status> outcomes = self->Outcomes(sent, reply, &pressure);
  for (size_t i = 0; i < sent.size(); ++i) self->Settle(sent[i].first, sent[i].second, outcomes[i]);
  if (pressure > 0) {
    // The server's keys fall behind: give it up to a quarter of a second per batch.
    const std::chrono::milliseconds delay(static_cast<int64_t>(std::min(pressure, 1.0f) * 250));
    for (const auto& [lane, batch] : sent) {
      if (!lane->paused) self->Restart(lane, delay);
    }
  }
  self->Pump();
}

namespace {

// Not a matter of this moment, unlike backpressure.
bool IsStorageRefusal(ErrorCode code) {
  return code == ErrorCode::kStorage || code == ErrorCode::kLogStorage ||
         code == ErrorCode::kKvStorage || code == ErrorCode::kDiskWriteLocked;
}

}  // namespace

// Also notes since when the server refuses the batch.
bool BatchSender::IsLate(Batch* batch, const Status& outcome) const {
  const std::chrono::nanoseconds now = loop_.clock().Monotonic();
  if (!IsStorageRefusal(CodeOf(outcome))) {
    batch->refused_since.reset();
  } else if (!batch->refused_since) {
    batch->refused_since = now;
  }
  return now > batch->deadline ||
         (batch->refused_since && now - *batch->refused_since >= options_.storage_timeout);
}

void BatchSender::Settle(Lane* lane, Batch* batch, const Status& outcome) {
  --lane->in_flight;
  const bool acked = outcome.ok() || CodeOf(outcome) == ErrorCode::kDuplicateSequence;
  if (acked) {
    batch->stage = Batch::Stage::kAcked;
    lane->retries = 0;
    pending_rows_ -= batch->rows;
    pending_bytes_ -= static_cast<int64_t>(batch->bytes.size());
    counts_.rows_acked += batch->rows;
    counts_.bytes_acked += static_cast<int64_t>(batch->bytes.size());
    ++counts_.batches_acked;
    batch->bytes = std::string();
    while (!lane->batches.empty() && lane->batches.front().stage == Batch::Stage::kAcked)
      lane->batches.pop_front();
    WakeWaiters();
  } else {
    batch->stage = Batch::Stage::kWaiting;
    // Behind a batch that failed every later one is out of order; alone it means that the server
    // lost the writer.
    const bool follower =
        CodeOf(outcome) == ErrorCode::kOutOfOrderSequence && batch != &lane->batches.front();
    const bool late = IsLate(batch, outcome);
    if ((!follower && !IsRetriable(outcome)) || late) return Fail(outcome);
    ++counts_.retries;
    lane->draining = true;
    if (NeedsNewMetadata(outcome)) {
      lane->leader = -1;
      cluster_->ForgetLeaders(table_->info.path);
    }
  }
  if (lane->draining && lane->in_flight == 0) {
    lane->draining = false;
    Restart(lane, cluster_->BackoffOf(lane->retries++));
  }
}

/// Let the lane go on after a while.
void BatchSender::Restart(Lane* lane, std::chrono::milliseconds delay) {
  lane->paused = true;
  loop_.After(delay, [weak = weak_from_this(), lane] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    lane->paused = false;
    self->Pump();
  });
}

void BatchSender::Fail(const Status& why) {
  if (failure_.ok()) {
    failure_ = why.WithMessage("write failed table=", table_->info.path, ": ", why.message());
  }
  WakeWaiters();
}

void BatchSender::WakeWaiters() {
  for (const auto& waiter : std::exchange(waiters_, {})) waiter.Set(true);
}

io::Task<Status> BatchSender::WaitForRoom(std::shared_ptr<BatchSender> self) {
  while (self->failure_.ok() &&
         self->pending_bytes_ + self->buffered_bytes_ >= self->options_.buffer_bytes_max) {
    const io::Completion<bool> woken(self->loop_);
    self->waiters_.push_back(woken);
    co_await woken;
  }
  co_return self->failure_;
}

io::Task<Status> BatchSender::WaitForAll(std::shared_ptr<BatchSender> self) {
  while (self->failure_.ok() && self->pending_rows_ > 0) {
    const io::Completion<bool> woken(self->loop_);
    self->waiters_.push_back(woken);
    co_await woken;
  }
  co_return self->failure_;
}

WriteCounts BatchSender::counts() const {
  WriteCounts counts = counts_;
  counts.rows_pending = pending_rows_ + buffered_rows_;
  return counts;
}

}  // namespace sluice::client
