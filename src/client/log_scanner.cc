#include "client/log_scanner.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <map>

#include "client/rows_internal.h"
#include "types/table_options.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"
#include "wire/records.h"

namespace sluice::client {
namespace {

constexpr int32_t kAsClient = -1;

/// The columns of a schema at some positions, or all.
types::Schema Cut(const types::Schema& schema, const std::vector<int>& positions) {
  types::Schema cut = schema;
  cut.columns.clear();
  for (const int position : positions)
    cut.columns.push_back(schema.columns[static_cast<size_t>(position)]);
  return cut;
}

}  // namespace

struct LogScanner::State : std::enable_shared_from_this<State> {
  /// What could be decoded of a bucket's part of a reply.
  struct Decoded {
    Decoded() = default;
    Decoded(Status failed) : status(std::move(failed)) {}  // A pool that refuses the work.
    std::vector<ScanBatch> batches;
    int64_t next_offset = -1;  // Behind them; with an error, of the batch that has it. -1 = none.
    Status status;
  };
  struct Subscription {
    int64_t position = 0;      // Next offset for the caller.
    int64_t fetch_offset = 0;  // Next offset to ask for.
    int64_t high_watermark = -1;
    uint64_t generation = 0;  // Replies to fetches of an older one are dropped.
    bool fetching = false;
    bool paused = false;  // Waits before it is asked for again.
    int retries = 0;
    std::deque<ScanBatch> ready;

    void Take(const wire::FetchedBucket& entry, Decoded* decoded) {
      for (ScanBatch& batch : decoded->batches) {
        batch.high_watermark = entry.high_watermark;
        ready.push_back(std::move(batch));
      }
      if (decoded->next_offset >= 0) fetch_offset = decoded->next_offset;
      high_watermark = entry.high_watermark;
      if (decoded->status.ok()) {
        retries = 0;
        if (entry.filtered_end_offset)
          fetch_offset = std::max(fetch_offset, *entry.filtered_end_offset);
      }
      if (ready.empty()) position = fetch_offset;
    }
  };
  struct Asked {
    types::BucketId bucket;
    uint64_t generation;
    int64_t offset;
  };

  State(io::Loop& l, ClusterPtr c, TableMetaPtr t, LogScannerOptions o)
      : loop(l), cluster(std::move(c)), table(std::move(t)), options(std::move(o)) {}

  io::Loop& loop;
  ClusterPtr cluster;
  TableMetaPtr table;
  LogScannerOptions options;
  std::vector<int> pushed;  // Ascending positions that the server projects to, empty = all columns.
  types::Schema target;     // The columns for the caller, in his order.
  std::shared_ptr<arrow::Schema> arrow_target;
  std::map<types::BucketId, Subscription> subscriptions;
  uint64_t next_generation = 1;
  std::optional<io::Completion<bool>> waiting;
  Status failure;  // Final error of a bucket, for the first Poll that has no rows to give.

  void Wake() {
    if (!waiting) return;
    waiting->Set(true);
    waiting.reset();
  }

  Subscription* Find(const Asked& asked) {
    const auto found = subscriptions.find(asked.bucket);
    return found == subscriptions.end() || found->second.generation != asked.generation
               ? nullptr
               : &found->second;
  }

  Status SetProjection() {
    const types::Schema& all = table->info.descriptor.schema;
    std::vector<int> wanted = AllPositions(all.columns.size());
    if (!options.projection.empty()) {
      auto positions = all.IndexesOf(options.projection);
      if (!positions.ok())
        return Error(ErrorCode::kInvalidColumnProjection, positions.status().message());
      wanted = *positions;
      pushed = wanted;
      std::ranges::sort(pushed);
      pushed.erase(std::unique(pushed.begin(), pushed.end()), pushed.end());
    }
    target = Cut(all, wanted);
    arrow_target = target.ToArrow();
    return Status::OK();
  }

  std::string Request(const std::vector<Asked>& asked) const {
    wire::FetchLogRequest request;
    request.set_follower_server_id(kAsClient);
    request.set_max_bytes(options.max_bytes);
    request.set_max_wait_ms(static_cast<int32_t>(options.max_wait.count()));
    request.set_min_bytes(options.min_bytes);
    auto* entry = request.add_tables_req();
    entry->set_table_id(table->info.table_id);
    entry->set_projection_pushdown_enabled(!pushed.empty());
    for (const int position : pushed) entry->add_projected_fields(position);
    for (const Asked& one : asked) {
      auto* bucket = entry->add_buckets_req();
      if (one.bucket.partition_id) bucket->set_partition_id(*one.bucket.partition_id);
      bucket->set_bucket_id(one.bucket.bucket);
      bucket->set_fetch_offset(one.offset);
      bucket->set_max_fetch_bytes(options.max_bucket_bytes);
    }
    return wire::Serialize(request);
  }

  /// Let a bucket rest after an error that may pass.
  void Retry(const Asked& asked, const Status& why) {
    Subscription* subscription = Find(asked);
    if (subscription == nullptr) return;
    if (!IsRetriableRead(why)) {
      failure = why.WithMessage(why.message(), " table=", table->info.path, " ", asked.bucket,
                                " offset=", subscription->fetch_offset);
      subscription->paused = false;
      return;
    }
    if (NeedsNewMetadata(why)) cluster->ForgetLeaders(table->info.path);
    subscription->paused = true;
    loop.After(cluster->BackoffOf(subscription->retries++), [weak = weak_from_this(), asked] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      if (Subscription* subscription = self->Find(asked)) subscription->paused = false;
      self->StartFetches();
    });
  }

  /// Ask for every bucket that is not under way, if anybody waits.
  void StartFetches() {
    std::vector<Asked> asked;
    for (auto& [bucket, subscription] : subscriptions) {
      if (subscription.fetching || subscription.paused || !subscription.ready.empty()) continue;
      subscription.fetching = true;
      asked.push_back({bucket, subscription.generation, subscription.fetch_offset});
    }
    if (!asked.empty()) io::Spawn(FetchAll(shared_from_this(), std::move(asked)));
  }

  static io::Task<void> FetchAll(std::shared_ptr<State> self, std::vector<Asked> asked) {
    std::map<int32_t, std::vector<Asked>> by_leader;
    for (const Asked& one : asked) {
      const Result<int32_t> leader =
          co_await self->cluster->Leader(self->loop, self->table->info.path, one.bucket);
      if (leader.ok()) {
        by_leader[*leader].push_back(one);
        continue;
      }
      if (Subscription* subscription = self->Find(one)) subscription->fetching = false;
      self->Retry(one, leader.status());
      self->Wake();
    }
    for (auto& [leader, list] : by_leader) io::Spawn(Fetch(self, leader, std::move(list)));
  }

  static io::Task<void> Fetch(std::shared_ptr<State> self, int32_t leader,
                              std::vector<Asked> asked) {
    const Result<std::string> body = co_await self->cluster->CallTablet(
        self->loop, leader, wire::ApiKey::kFetchLog, self->Request(asked));
    const auto reply = body.ok() ? wire::ParseFetchResponse(*body)
                                 : Result<std::vector<wire::FetchedTable>>(body.status());
    for (const Asked& one : asked) {
      Status status = reply.status();
      if (reply.ok()) status = co_await Take(self, one, Entry(*reply, one.bucket));
      if (Subscription* subscription = self->Find(one)) subscription->fetching = false;
      if (!status.ok()) self->Retry(one, status);
    }
    self->Wake();
  }

  static const wire::FetchedBucket* Entry(const std::vector<wire::FetchedTable>& tables,
                                          const types::BucketId& bucket) {
    for (const auto& table : tables) {
      if (table.table_id != bucket.table_id) continue;
      for (const auto& entry : table.buckets) {
        if (entry.bucket_id == bucket.bucket && entry.partition_id == bucket.partition_id)
          return &entry;
      }
    }
    return nullptr;
  }

  /// Take one bucket's part of a reply, whose bytes the caller keeps.
  static io::Task<Status> Take(std::shared_ptr<State> self, Asked asked,
                               const wire::FetchedBucket* entry) {
    if (entry == nullptr)
      co_return Error(ErrorCode::kCorruptMessage, "fetch reply lacks the bucket ", asked.bucket);
    if (CodeOf(entry->error) == ErrorCode::kInvalidColumnProjection && !self->pushed.empty()) {
      self->pushed.clear();  // Some batch is of an older schema that lacks a column; from now on we
                             // project here.
      co_return Status::OK();
    }
    CO_RETURN_NOT_OK(entry->error);
    if (!entry->remote_log_fetch_info.empty()) {
      co_return Error(ErrorCode::kLogOffsetOutOfRange,
                      "offset lies in remote log segments, which are not read here ", asked.bucket);
    }
    Work work;
    work.asked = asked;
    work.projected = self->pushed;
    for (wire::LogBatchIterator batches(entry->records);;) {
      CO_ASSIGN_OR_RETURN(const auto batch, batches.Next());
      if (!batch) break;
      work.batches.push_back(*batch);
      const int16_t schema_id = batch->header().schema_id;
      if (work.schemas.contains(schema_id)) continue;
      CO_ASSIGN_OR_RETURN(work.schemas[schema_id], co_await SchemaOf(self, schema_id));
    }
    Decoded decoded;
    if (self->options.decode_pool != nullptr) {
      const auto decode = [self, &work] { return DecodeAll(*self, work); };
      decoded = co_await self->options.decode_pool->Run(self->loop, decode);
    } else {
      decoded = DecodeAll(*self, work);
    }
    if (Subscription* subscription = self->Find(asked)) subscription->Take(*entry, &decoded);
    co_return decoded.status;
  }

  /// Batches of one bucket to decode, and what it takes. Views the reply.
  struct Work {
    Asked asked;
    std::vector<int> projected;
    std::vector<wire::LogBatchView> batches;
    std::map<int16_t, types::Schema> schemas;
  };

  /// All batches that have rows from the offset asked for on, up to one that cannot be decoded.
  /// Reads only what never changes of `self`.
  static Decoded DecodeAll(const State& self, const Work& work) {
    Decoded all;
    for (const wire::LogBatchView& batch : work.batches) {
      const wire::LogBatchHeader& header = batch.header();
      const int64_t skipped =
          std::clamp<int64_t>(work.asked.offset - header.base_offset, 0, header.record_count);
      if (header.record_count > skipped) {
        auto out = Decode(self, work, batch, skipped);
        if (!out.ok()) {
          all.status = out.status();
          all.next_offset = header.base_offset + skipped;
          return all;
        }
        all.batches.push_back(*std::move(out));
      }
      all.next_offset = header.next_offset();
    }
    return all;
  }

  static Result<ScanBatch> Decode(const State& self, const Work& work,
                                  const wire::LogBatchView& batch, int64_t skipped) {
    const wire::LogBatchHeader& header = batch.header();
    // The server's projection keeps the CRC of the whole batch.
    if (work.projected.empty() && !batch.CrcMatches()) {
      return Error(ErrorCode::kCorruptRecord,
                   "log batch does not match its crc offset=", header.base_offset);
    }
    const types::Schema& schema = work.schemas.at(header.schema_id);
    const types::Schema sent = work.projected.empty() ? schema : Cut(schema, work.projected);
    ASSIGN_OR_RAISE(const auto rows, wire::DecodeRows(batch, sent.ToArrow()));
    ASSIGN_OR_RAISE(const auto adapted, AdaptRows(*rows, sent, self.target));
    ScanBatch out{work.asked.bucket,          header.base_offset + skipped,
                  header.commit_timestamp_ms, {},
                  adapted->Slice(skipped),    -1};
    if (batch.append_only()) return out;
    for (const char change : batch.change_types().substr(static_cast<size_t>(skipped))) {
      out.changes.push_back(static_cast<wire::ChangeType>(change));
    }
    return out;
  }

  static io::Task<Result<types::Schema>> SchemaOf(std::shared_ptr<State> self, int16_t schema_id) {
    if (schema_id == self->table->info.schema_id) co_return self->table->info.descriptor.schema;
    CO_ASSIGN_OR_RETURN(const auto schema, co_await self->cluster->Schema(
                                               self->loop, self->table->info.path, schema_id));
    co_return *schema;
  }

  std::vector<ScanBatch> TakeReady() {
    std::vector<ScanBatch> all;
    for (auto& [bucket, subscription] : subscriptions) {
      for (ScanBatch& batch : subscription.ready) all.push_back(std::move(batch));
      subscription.ready.clear();
      subscription.position = subscription.fetch_offset;
    }
    return all;
  }

  static io::Task<Result<std::vector<ScanBatch>>> PollIn(std::shared_ptr<State> self,
                                                         std::chrono::milliseconds timeout) {
    const auto end = self->loop.clock().Monotonic() + timeout;
    for (;;) {
      std::vector<ScanBatch> ready = self->TakeReady();
      if (!self->failure.ok()) {
        if (!ready.empty()) co_return ready;  // Rows in front of the error come first.
        co_return std::exchange(self->failure, Status::OK());
      }
      // Wait before the fetches start: a server in this process may answer within StartFetches.
      const io::Completion<bool> woken(self->loop);
      self->waiting = woken;
      self->StartFetches();
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - self->loop.clock().Monotonic());
      if (!ready.empty() || left.count() <= 0) {
        self->waiting.reset();
        co_return ready;
      }
      const auto timer = self->loop.After(left, [woken] { woken.Set(false); });
      co_await woken;
      self->loop.Cancel(timer);
    }
  }
};

LogScanner::LogScanner(std::shared_ptr<State> state) : state_(std::move(state)) {}
LogScanner::~LogScanner() = default;

io::Task<Result<std::unique_ptr<LogScanner>>> LogScanner::Open(io::Loop& loop, ClusterPtr cluster,
                                                               types::TablePath path,
                                                               LogScannerOptions options) {
  CO_ASSIGN_OR_RETURN(const TableMetaPtr table,
                      co_await cluster->Table(loop, path, /*refresh=*/true));
  if (!types::HasArrowLog(table->info.descriptor)) {
    co_return Error(ErrorCode::kInvalidTable, "only logs in ARROW format can be read table=", path);
  }
  auto state = std::make_shared<State>(loop, cluster, table, std::move(options));
  CO_RETURN_NOT_OK(state->SetProjection());
  co_return std::unique_ptr<LogScanner>(new LogScanner(std::move(state)));
}

void LogScanner::Subscribe(types::BucketId bucket, int64_t offset) {
  State::Subscription fresh;
  fresh.position = offset;
  fresh.fetch_offset = offset;
  fresh.generation = state_->next_generation++;
  state_->subscriptions[bucket] = std::move(fresh);
}

io::Task<Result<std::vector<ScanBatch>>> LogScanner::Poll(std::chrono::milliseconds timeout) {
  return State::PollIn(state_, timeout);
}

std::optional<int64_t> LogScanner::Position(types::BucketId bucket) const {
  const auto found = state_->subscriptions.find(bucket);
  return found == state_->subscriptions.end() ? std::optional<int64_t>() : found->second.position;
}

int64_t LogScanner::HighWatermark(types::BucketId bucket) const {
  const auto found = state_->subscriptions.find(bucket);
  return found == state_->subscriptions.end() ? -1 : found->second.high_watermark;
}

const std::shared_ptr<arrow::Schema>& LogScanner::schema() const { return state_->arrow_target; }
const TableMeta& LogScanner::table() const { return *state_->table; }

}  // namespace sluice::client
