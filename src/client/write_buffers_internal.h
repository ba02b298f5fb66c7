#pragma once
#include <map>
#include <memory>
#include <utility>

#include "client/batch_sender_internal.h"
#include "client/rows_internal.h"
#include "client/writer_options.h"

namespace sluice::client {

/// What a writer has taken and not yet cut into batches, by bucket. A bucket is cut once it holds
/// enough bytes or rows, once its first row has waited for `linger`, or by a flush.
///
/// `Rows` is what one kind of writer keeps of the rows; it starts out empty.
/// Threads: confined to the sender's loop.
template <typename Rows>
class WriteBuffers : public std::enable_shared_from_this<WriteBuffers<Rows>> {
 public:
  WriteBuffers(WriterOptions options, std::shared_ptr<BatchSender> sender)
      : options_(std::move(options)), sender_(std::move(sender)) {}
  virtual ~WriteBuffers() = default;

  const WriterOptions& options() const { return options_; }
  const std::shared_ptr<BatchSender>& sender() const { return sender_; }

  /// Cut everything and wait until it is acknowledged.
  static io::Task<Status> Flush(std::shared_ptr<WriteBuffers> self) {
    CO_RETURN_NOT_OK(self->CutAll());
    co_return co_await BatchSender::WaitForAll(self->sender_);
  }

 protected:
  struct Buffer {
    Rows rows;
    int64_t row_count = 0;
    int64_t bytes = 0;
  };

  /// Give all rows of a bucket to the sender, as one batch or several.
  virtual Status Cut(types::BucketId bucket, Buffer taken) = 0;

  Rows& RowsOf(types::BucketId bucket) { return buffers_[bucket].rows; }
  /// Count what was added to RowsOf(bucket). True when that filled the bucket, which is cut then.
  Result<bool> Added(types::BucketId bucket, int64_t row_count, int64_t bytes) {
    Buffer& buffer = buffers_[bucket];
    buffer.row_count += row_count;
    buffer.bytes += bytes;
    sender_->AddBuffered(row_count, bytes);
    const bool enough_rows = options_.batch_rows > 0 && buffer.row_count >= options_.batch_rows;
    const bool full = buffer.bytes >= options_.batch_bytes || enough_rows;
    if (full) {
      RETURN_NOT_OK(Take(bucket, &buffer));
    } else {
      StartTimer();
    }
    return full;
  }

 private:
  Status Take(types::BucketId bucket, Buffer* buffer) {
    Buffer taken = std::exchange(*buffer, {});
    if (taken.row_count == 0) return Status::OK();
    sender_->AddBuffered(-taken.row_count, -taken.bytes);
    RETURN_NOT_OK(Cut(bucket, std::move(taken)));
    sender_->Pump();
    return Status::OK();
  }

  Status CutAll() {
    for (auto& [bucket, buffer] : buffers_) RETURN_NOT_OK(Take(bucket, &buffer));
    return Status::OK();
  }

  void StartTimer() {
    if (timer_runs_) return;
    timer_runs_ = true;
    sender_->loop().After(options_.linger, [weak = this->weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->timer_runs_ = false;
      const Status cut = self->CutAll();
      if (!cut.ok()) self->sender_->Fail(cut);
    });
  }

  const WriterOptions options_;
  const std::shared_ptr<BatchSender> sender_;
  std::map<types::BucketId, Buffer> buffers_;
  bool timer_runs_ = false;
};

}  // namespace sluice::client
