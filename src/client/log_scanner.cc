#include "client/log_scanner.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/log.h"
#include "client/rows_internal.h"
#include "types/row_batches.h"
#include "types/table_options.h"
#include "wire/frame.h"
#include "wire/log_rows.h"
#include "wire/proto/log.pb.h"
#include "wire/records.h"

namespace sluice::client {
namespace {

constexpr int32_t kAsClient = -1;
// An error that is tried again for so long is told in the log, and again whenever so much passed.
constexpr std::chrono::seconds kToldAfter{15};
constexpr std::chrono::seconds kToldAgainAfter{60};

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
  using SchemaPtr = std::shared_ptr<const types::Schema>;
  /// One answered fetch, which its batches view.
  struct Reply {
    std::string body;
    std::vector<int> projected;  // Ascending positions, empty = all columns.
  };
  /// A batch that nobody has decoded yet.
  struct Encoded {
    std::shared_ptr<const Reply> reply;
    wire::LogBatchView batch;
    SchemaPtr schema;
    int64_t skipped;  // Rows in front of the offset that was asked for.
    int64_t high_watermark;
    int64_t first_offset() const { return batch.header().base_offset + skipped; }
  };
  struct Subscription {
    int64_t position = 0;      // Next offset for the caller.
    int64_t fetch_offset = 0;  // Next offset to ask for.
    int64_t high_watermark = -1;
    uint64_t generation = 0;  // Replies to fetches of an older one are dropped.
    bool fetching = false;
    bool paused = false;  // Waits before it is asked for again.
    int retries = 0;
    std::chrono::nanoseconds failing_since{0};  // While there are retries.
    std::chrono::nanoseconds tell_at{0};
    std::deque<Encoded> ready;
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
  std::optional<wire::PbPredicate> filter;  // That the server knows.
  types::Schema target;                     // The columns for the caller, in his order.
  std::shared_ptr<arrow::Schema> arrow_target;
  std::map<types::BucketId, Subscription> subscriptions;
  uint64_t next_generation = 1;
  types::BucketId turn;  // The last one decoded; the next Poll begins behind it.
  std::optional<io::Completion<bool>> waiting;
  Status failure;  // Final error of a bucket, for the first Poll that has no rows to give.

  types::LogFormat format() const { return types::LogFormatOf(table->info.descriptor); }

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
    }
    // Servers project columns out of Arrow batches alone.
    if (!options.projection.empty() && format() == types::LogFormat::kArrow) {
      pushed = wanted;
      std::ranges::sort(pushed);
      pushed.erase(std::unique(pushed.begin(), pushed.end()), pushed.end());
    }
    target = Cut(all, wanted);
    arrow_target = target.ToArrow();
    return Status::OK();
  }

  Status SetFilter() {
    // Batches in rows have no statistics.
    if (!options.filter || format() != types::LogFormat::kArrow) return Status::OK();
    return wire::WriteFilter(*options.filter, table->info.descriptor.schema, &filter.emplace());
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
    if (filter) {
      *entry->mutable_filter_predicate() = *filter;
      entry->set_filter_schema_id(table->info.schema_id);
    }
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
    const auto now = loop.clock().Monotonic();
    if (subscription->retries == 0) {
      subscription->failing_since = now;
      subscription->tell_at = now + kToldAfter;
    }
    const bool given_up =
        options.retry_max.count() > 0 && now - subscription->failing_since >= options.retry_max;
    if (!IsRetriableRead(why) || given_up) {
      subscription->retries = 0;
      failure = why.WithMessage(why.message(), " table=", table->info.path, " ", asked.bucket,
                                " offset=", subscription->fetch_offset);
      subscription->paused = false;
      return;
    }
    if (NeedsNewMetadata(why)) cluster->ForgetLeaders(table->info.path);
    if (now >= subscription->tell_at) {
      subscription->tell_at = now + kToldAgainAfter;
      LogWarn("log cannot be read, trying again table={} {} offset={} retries={}: {}",
              table->info.path.ToString(), asked.bucket.ToString(), subscription->fetch_offset,
              subscription->retries, why.ToString());
    }
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
    const auto answer = std::make_shared<Reply>();
    answer->projected = self->pushed;
    Result<std::string> body = co_await self->cluster->CallTablet(
        self->loop, leader, wire::ApiKey::kFetchLog, self->Request(asked));
    if (body.ok()) answer->body = *std::move(body);
    const auto reply = body.ok() ? wire::ParseFetchResponse(answer->body)
                                 : Result<std::vector<wire::FetchedTable>>(body.status());
    for (const Asked& one : asked) {
      Status status = reply.status();
      if (reply.ok()) status = co_await Take(self, one, answer, Entry(*reply, one.bucket));
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

  /// Take one bucket's part of a reply.
  static io::Task<Status> Take(std::shared_ptr<State> self, Asked asked,
                               std::shared_ptr<const Reply> reply,
                               const wire::FetchedBucket* entry) {
    if (entry == nullptr)
      co_return Error(ErrorCode::kCorruptMessage, "fetch reply lacks the bucket ", asked.bucket);
    if (CodeOf(entry->error) == ErrorCode::kInvalidColumnProjection && !reply->projected.empty()) {
      self->pushed.clear();  // Some batch is of an older schema that lacks a column; from now on we
                             // project here.
      co_return Status::OK();
    }
    CO_RETURN_NOT_OK(entry->error);
    if (!entry->remote_log_fetch_info.empty()) {
      co_return Error(ErrorCode::kLogOffsetOutOfRange,
                      "offset lies in remote log segments, which are not read here ", asked.bucket);
    }
    std::deque<Encoded> found;
    std::map<int16_t, SchemaPtr> schemas;
    int64_t next_offset = entry->filtered_end_offset.value_or(asked.offset);
    for (wire::LogBatchIterator batches(entry->records);;) {
      CO_ASSIGN_OR_RETURN(const auto batch, batches.Next());
      if (!batch) break;
      const wire::LogBatchHeader& header = batch->header();
      next_offset = std::max(next_offset, header.next_offset());
      const int64_t skipped =
          std::clamp<int64_t>(asked.offset - header.base_offset, 0, header.record_count);
      if (header.record_count == skipped) continue;
      SchemaPtr& schema = schemas[header.schema_id];
      if (schema == nullptr) {
        CO_ASSIGN_OR_RETURN(schema, co_await SchemaOf(self, header.schema_id));
      }
      found.push_back({reply, *batch, schema, skipped, entry->high_watermark});
    }
    Subscription* subscription = self->Find(asked);
    if (subscription == nullptr) co_return Status::OK();
    std::ranges::move(found, std::back_inserter(subscription->ready));
    subscription->fetch_offset = next_offset;
    subscription->high_watermark = entry->high_watermark;
    subscription->retries = 0;
    if (subscription->ready.empty()) subscription->position = next_offset;
    co_return Status::OK();
  }

  /// Batches of one bucket to decode, in their order, up to a size or one that cannot be decoded.
  struct Work {
    types::BucketId bucket;
    types::Schema target;
    types::LogFormat format;
    int64_t bytes_max;
    std::deque<Encoded> encoded;  // Afterwards the rest.
    std::vector<ScanBatch> decoded;
    int64_t decoded_bytes = 0;
    Status status;  // Of the first of the rest.

    Status Run() {
      while (!encoded.empty() && decoded_bytes < bytes_max) {
        auto batch = Decode(encoded.front());
        status = batch.status();
        if (!batch.ok()) break;
        decoded_bytes += types::HeldBytes(*batch->rows);
        decoded.push_back(*std::move(batch));
        encoded.pop_front();
      }
      return Status::OK();
    }

    Result<ScanBatch> Decode(const Encoded& one) const {
      const wire::LogBatchView& batch = one.batch;
      const wire::LogBatchHeader& header = batch.header();
      // The server's projection keeps the CRC of the whole batch.
      const std::vector<int>& projected = one.reply->projected;
      if (projected.empty() && !batch.CrcMatches()) {
        return Error(ErrorCode::kCorruptRecord,
                     "log batch does not match its crc offset=", header.base_offset);
      }
      const types::Schema sent = projected.empty() ? *one.schema : Cut(*one.schema, projected);
      ASSIGN_OR_RAISE(const wire::LogRows decoded_rows, wire::DecodeLogRows(batch, format, sent));
      ASSIGN_OR_RAISE(const auto adapted, AdaptRows(*decoded_rows.rows, sent, target));
      ScanBatch out{bucket, one.first_offset(),          header.commit_timestamp_ms,
                    {},     adapted->Slice(one.skipped), one.high_watermark};
      if (batch.append_only()) return out;
      for (const char change :
           std::string_view(decoded_rows.changes).substr(static_cast<size_t>(one.skipped))) {
        out.changes.push_back(static_cast<wire::ChangeType>(change));
      }
      return out;
    }
  };

  static io::Task<Result<SchemaPtr>> SchemaOf(std::shared_ptr<State> self, int16_t schema_id) {
    if (schema_id == self->table->info.schema_id)
      co_return SchemaPtr(self->table, &self->table->info.descriptor.schema);
    CO_ASSIGN_OR_RETURN(const auto schema, co_await self->cluster->Schema(
                                               self->loop, self->table->info.path, schema_id));
    co_return SchemaPtr(schema);
  }

  /// The bucket with the next batch to decode, from `turn` round; null when there is none.
  std::map<types::BucketId, Subscription>::value_type* NextReady() {
    const auto has_batch = [](const auto& entry) { return !entry.second.ready.empty(); };
    const auto from = subscriptions.upper_bound(turn);
    auto found = std::find_if(from, subscriptions.end(), has_batch);
    if (found == subscriptions.end()) found = std::find_if(subscriptions.begin(), from, has_batch);
    return found == subscriptions.end() || !has_batch(*found) ? nullptr : &*found;
  }

  /// After a decoding: what is left of a bucket's batches, with the error of the first of them.
  void PutBack(Subscription* subscription, Asked asked, std::deque<Encoded> left,
               const Status& error) {
    if (error.ok()) {
      std::ranges::move(subscription->ready, std::back_inserter(left));
      subscription->ready = std::move(left);
      subscription->position = subscription->ready.empty()
                                   ? subscription->fetch_offset
                                   : subscription->ready.front().first_offset();
      return;
    }
    // Whoever goes on fetches it and all behind it again.
    subscription->position = subscription->fetch_offset = left.front().first_offset();
    subscription->ready.clear();
    subscription->fetching = false;
    asked.generation = subscription->generation = next_generation++;
    Retry(asked, error);
  }

  /// Decode what has arrived, a bounded part of it: compressed rows may be a hundred times larger
  /// than their reply.
  static io::Task<std::vector<ScanBatch>> TakeReady(std::shared_ptr<State> self) {
    std::vector<ScanBatch> all;
    for (int64_t left = self->options.max_rows_bytes; left > 0;) {
      auto* const next = self->NextReady();
      if (next == nullptr) break;
      const Asked asked{next->first, next->second.generation, next->second.fetch_offset};
      auto work = std::make_shared<Work>(Work{.bucket = asked.bucket,
                                              .target = self->target,
                                              .format = self->format(),
                                              .bytes_max = left,
                                              .encoded = std::exchange(next->second.ready, {}),
                                              .decoded = {},
                                              .status = {}});
      auto run = [work] { return work->Run(); };
      io::Pool* const pool = self->options.decode_pool;
      Status ran = pool == nullptr ? run() : co_await pool->Run(self->loop, std::move(run));
      left -= std::max<int64_t>(work->decoded_bytes, 1);
      Subscription* const subscription = self->Find(asked);
      if (subscription == nullptr) continue;  // It starts elsewhere now.
      if (ran.ok()) ran = work->status;
      self->PutBack(subscription, asked, std::move(work->encoded), ran);
      std::ranges::move(work->decoded, std::back_inserter(all));
      self->turn = asked.bucket;
      if (!ran.ok()) break;
    }
    co_return all;
  }
  static io::Task<Result<std::vector<ScanBatch>>> PollIn(std::shared_ptr<State> self,
                                                         std::chrono::milliseconds timeout) {
    const auto end = self->loop.clock().Monotonic() + timeout;
    for (;;) {
      std::vector<ScanBatch> ready = co_await TakeReady(self);
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
  if (options.table_id && *options.table_id != table->info.table_id) {
    co_return Error(ErrorCode::kTableNotExist, "table was made anew table=", path,
                    " table_id=", *options.table_id, " now=", table->info.table_id);
  }
  auto state = std::make_shared<State>(loop, cluster, table, std::move(options));
  CO_RETURN_NOT_OK(state->SetProjection());
  CO_RETURN_NOT_OK(state->SetFilter());
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
