#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"

namespace sluice::types {

/// Memory that a column, or a batch, holds: its buffers, whole also where it shows a part of them,
/// and what Arrow keeps beside them, which of a batch of one row is nearly all.
int64_t HeldBytes(const arrow::ArrayData& column);
int64_t HeldBytes(const arrow::RecordBatch& batch);

/// Rows in memory, as batches of one schema in their order. Small ones are joined as they come, so
/// that the memory follows the rows and not the batches.
class RowBatches {
 public:
  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  /// Errors: Arrow's, when there is no memory to join batches.
  Status Add(std::shared_ptr<arrow::RecordBatch> batch);
  /// Give all up, in their order.
  Batches Take();

  const Batches& batches() const { return batches_; }
  int64_t row_count() const { return row_count_; }
  int64_t held_bytes() const { return held_bytes_; }

 private:
  Status JoinFrom(size_t first);

  Batches batches_;
  int64_t row_count_ = 0;
  int64_t held_bytes_ = 0;
};

}  // namespace sluice::types
