#include <arrow/record_batch.h>

#include "sql/fluss_internal.h"

namespace sluice::sql {

namespace {

constexpr std::chrono::milliseconds kPollTimeout{1000};
constexpr int kEmptyPollsMax =
    120;  // Two minutes without a row below the high watermark: something is wrong.

io::Task<Result<std::shared_ptr<client::LogScanner>>> OpenScanner(
    io::Loop& loop, client::ClusterPtr cluster, types::TablePath path, types::BucketId bucket,
    int64_t from, std::vector<std::string> columns) {
  client::LogScannerOptions options;
  options.projection = std::move(columns);
  options.max_bucket_bytes = options.max_bytes;
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

}  // namespace

Result<std::unique_ptr<LogTail>> LogTail::Open(const UnionRead& read, const UnionPart& part,
                                               std::vector<std::string> columns) {
  CHECK(part.reads_log());
  std::unique_ptr<LogTail> tail(new LogTail);
  tail->loop_ = read.loop;
  tail->interruption_ = read.interruption;
  tail->bucket_ = read.IdOf(part.bucket);
  tail->from_ = part.log_from;
  tail->to_ = part.log_to;
  ASSIGN_OR_RAISE(tail->scanner_,
                  read.interruption->Wait(
                      *read.loop, OpenScanner(*read.loop, read.cluster, read.table.path,
                                              tail->bucket_, part.log_from, std::move(columns))));
  return tail;
}

LogTail::~LogTail() = default;

// The scanner has named table, bucket and the offset where it stopped.
Status LogTail::Explained(const Status& error) const {
  if (CodeOf(error) != ErrorCode::kLogOffsetOutOfRange) return error;
  return error.WithMessage("log was cut before it was read, reason: ", error.message(),
                           " from=", from_, " to=", to_);
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
    empty = polled.batches.empty() ? empty + 1 : 0;
    waiting_ = std::move(polled.batches);
    if (polled.position && *polled.position >= to_) scanner_.reset();
  }
  return Error(ErrorCode::kRequestTimeOut, "log gives no rows below its high watermark, ", bucket_,
               " to=", to_);
}

}  // namespace sluice::sql
