#include "types/row_batches.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>

#include <utility>

namespace sluice::types {
namespace {

// Objects of Arrow's with the counts and vectors around them, as the allocator hands them out.
constexpr int64_t kBatchBytes = 448;
constexpr int64_t kColumnBytes = 512;
constexpr int64_t kBufferBytes = 128;
constexpr int64_t kAlignment = 64;

// A batch of so many rows takes little beside its rows.
constexpr int64_t kJoinedRows = 4096;
// Fewer are not worth the call.
constexpr size_t kJoinedBatches = 16;

}  // namespace

int64_t HeldBytes(const arrow::ArrayData& column) {
  int64_t bytes = kColumnBytes;
  for (const auto& buffer : column.buffers) {
    if (buffer != nullptr)
      bytes += kBufferBytes + (buffer->size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  for (const auto& child : column.child_data) bytes += HeldBytes(*child);
  return bytes;
}

int64_t HeldBytes(const arrow::RecordBatch& batch) {
  int64_t bytes = kBatchBytes;
  for (const auto& column : batch.column_data()) bytes += HeldBytes(*column);
  return bytes;
}

// As a binary counter carries: the last batches become one when those before are no larger than all
// behind them, so that a row is copied a few times at most.
Status RowBatches::Add(std::shared_ptr<arrow::RecordBatch> batch) {
  int64_t rows = batch->num_rows();
  row_count_ += rows;
  held_bytes_ += HeldBytes(*batch);
  batches_.push_back(std::move(batch));
  size_t first = batches_.size() - 1;
  while (first > 0 && rows < kJoinedRows && batches_[first - 1]->num_rows() <= rows)
    rows += batches_[--first]->num_rows();
  return batches_.size() - first < kJoinedBatches ? Status::OK() : JoinFrom(first);
}

Status RowBatches::JoinFrom(size_t first) {
  const auto from = batches_.begin() + static_cast<std::ptrdiff_t>(first);
  ASSIGN_OR_RAISE(auto joined, arrow::ConcatenateRecordBatches({from, batches_.end()}));
  held_bytes_ += HeldBytes(*joined);
  for (auto part = from; part != batches_.end(); ++part) held_bytes_ -= HeldBytes(**part);
  batches_.erase(from, batches_.end());
  batches_.push_back(std::move(joined));
  return Status::OK();
}

RowBatches::Batches RowBatches::Take() {
  row_count_ = 0;
  held_bytes_ = 0;
  return std::exchange(batches_, {});
}

}  // namespace sluice::types
