#include <arrow/record_batch.h>

#include "sql/fluss_internal.h"
#include "types/row_batches.h"

namespace sluice::sql {

namespace {

constexpr std::chrono::milliseconds kPollTimeout{250};
constexpr int kEmptyPollsMax =
    480;  // Two minutes without a row below the high watermark: something is wrong.

// A storage that is away for longer ends the statement, with what the server said.
constexpr std::chrono::milliseconds kRetryMax{60'000};

io::Task<Result<std::shared_ptr<client::LogScanner>>> OpenScanner(
    io::Loop& loop, client::ClusterPtr cluster, types::TablePath path, types::BucketId bucket,
    int64_t from, std::vector<std::string> columns, std::optional<wire::RowFilter> filter,
    int64_t batch_bytes) {
  client::LogScannerOptions options;
  options.projection = std::move(columns);
  options.filter = std::move(filter);
  options.table_id = bucket.table_id;
  options.max_bytes = options.max_bucket_bytes = static_cast<int32_t>(batch_bytes);
  options.max_rows_bytes = batch_bytes;
  options.retry_max = kRetryMax;
  auto opened = co_await client::LogScanner::Open(loop, cluster, path, options);
  if (!opened.ok()) co_return opened.status();
  (*opened)->Subscribe(bucket, from);
  co_return std::shared_ptr<client::LogScanner>(
      opened->release(),
      [&loop](client::LogScanner* owned) { loop.Post([owned] { delete owned; }); });
}

struct Polled {
  std::vector<client::ScanBatch> batches;
  std::optional<int64_t> position;
};

io::Task<Result<Polled>> PollOnce(std::shared_ptr<client::LogScanner> scanner,
                                  types::BucketId bucket) {
  auto batches = co_await scanner->Poll(kPollTimeout);
  if (!batches.ok()) co_return batches.status();
  co_return Polled{std::move(batches).ValueUnsafe(), scanner->Position(bucket)};
}

io::Task<Result<int64_t>> StartOf(io::Loop& loop, client::ClusterPtr cluster, types::TablePath path,
                                  types::BucketId bucket) {
  client::Admin admin(cluster);
  std::vector<int32_t> buckets{bucket.bucket};
  const auto starts =
      co_await admin.ListOffsets(loop, path, bucket.table_id, bucket.partition_id,
                                 std::move(buckets), client::OffsetType::kEarliest, -1);
  if (!starts.ok()) co_return starts.status();
  const auto start = starts->find(bucket.bucket);
  co_return start == starts->end() ? 0 : start->second;
}

}  // namespace

Result<std::unique_ptr<LogTail>> LogTail::Open(const UnionRead& read, const UnionPart& part,
                                               std::vector<std::string> columns,
                                               std::optional<wire::RowFilter> filter) {
  CHECK(part.reads_log());
  std::unique_ptr<LogTail> tail(new LogTail(read.passing));
  tail->loop_ = read.loop;
  tail->interruption_ = read.interruption;
  tail->cluster_ = read.cluster;
  tail->path_ = read.table.path;
  tail->bucket_ = read.IdOf(part.bucket);
  tail->from_ = tail->position_ = part.log_from;
  tail->to_ = part.log_to;
  ASSIGN_OR_RAISE(tail->scanner_,
                  read.interruption->Wait(
                      *read.loop, OpenScanner(*read.loop, read.cluster, read.table.path,
                                              tail->bucket_, part.log_from, std::move(columns),
                                              std::move(filter), tail->share_.batch_bytes())));
  return tail;
}

LogTail::~LogTail() = default;

// The scanner has named table, bucket and the offset where it stopped.
Status LogTail::Explained(const Status& error) const {
  if (CodeOf(error) != ErrorCode::kLogOffsetOutOfRange) return error;
  return error.WithMessage("log was cut before it was read, reason: ", error.message(),
                           " from=", from_, " to=", to_);
}

// To a fetch below the log's start a server says nothing when the rows are in the lake: whoever
// reads on from the lake's offset will be right. We read what the plan's snapshot lacks.
Status LogTail::CheckNotCut(int64_t position) const {
  if (position < 0 || position >= to_) return Status::OK();
  ASSIGN_OR_RAISE(const int64_t start,
                  interruption_->Wait(*loop_, StartOf(*loop_, cluster_, path_, bucket_)));
  if (start <= position) return Status::OK();
  return Error(ErrorCode::kLogOffsetOutOfRange, "log was cut before it was read, table=", path_,
               " ", bucket_, " offset=", position, " start=", start, " from=", from_, " to=", to_);
}

Result<LogTail::Rows> LogTail::Next() {
  for (int empty = 0; empty < kEmptyPollsMax;) {
    while (next_ < waiting_.size()) {
      client::ScanBatch& batch = waiting_[next_++];
      const int64_t count = batch.rows->num_rows();
      const int64_t skip = std::clamp<int64_t>(from_ - batch.base_offset, 0, count);
      const int64_t end = std::clamp<int64_t>(to_ - batch.base_offset, 0, count);
      if (skip >= end) continue;
      Rows rows{.rows = batch.rows->Slice(skip, end - skip)};
      if (!batch.changes.empty())
        rows.changes.assign(batch.changes.begin() + skip, batch.changes.begin() + end);
      return rows;
    }
    if (scanner_ == nullptr) return Rows{};
    waiting_.clear();
    next_ = 0;
    auto answer = interruption_->Wait(*loop_, PollOnce(scanner_, bucket_));
    if (!answer.ok()) return Explained(answer.status());
    Polled polled = std::move(answer).ValueUnsafe();
    // What a filter leaves out moves the position without a row.
    const bool moved =
        polled.position && *polled.position > std::exchange(position_, *polled.position);
    empty = polled.batches.empty() && !moved ? empty + 1 : 0;
    if (empty > 0 && polled.position) RETURN_NOT_OK(CheckNotCut(*polled.position));
    waiting_ = std::move(polled.batches);
    int64_t bytes = 0;
    for (const client::ScanBatch& batch : waiting_) bytes += types::HeldBytes(*batch.rows);
    share_.Took(bytes);
    if (polled.position && *polled.position >= to_) scanner_.reset();
  }
  return Error(ErrorCode::kRequestTimeOut, "log gives no rows below its high watermark, ", bucket_,
               " to=", to_);
}

}  // namespace sluice::sql
