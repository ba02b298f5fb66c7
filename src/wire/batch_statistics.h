#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "types/row.h"
#include "types/schema.h"
#include "wire/row_filter.h"

namespace sluice::wire {

/// What a batch of magic 1 says of its columns.
///
/// Format: docs/formats/log.md. Source: LogRecordBatchStatisticsParser of the Java side.
class BatchStatistics {
 public:
  /// Read LogBatchView::statistics(); `schema` is that of the batch.
  /// Errors: kCorruptRecord for what breaks the format, another version, positions outside the
  /// schema; then nothing is known of the batch.
  static Result<BatchStatistics> Parse(std::string_view bytes, const types::Schema& schema);

  /// Of the column at a position of the schema; null when it has none.
  const ColumnBounds* Find(size_t position) const {
    const auto found = columns_.find(position);
    return found == columns_.end() ? nullptr : &found->second;
  }
  size_t column_count() const { return columns_.size(); }

 private:
  std::map<size_t, ColumnBounds> columns_;  // By position.
};

/// Makes the statistics of batches of one schema. Immutable, so any thread may use it.
///
/// A bound is left out where it would be longer than kBoundBytesMax, and of CHAR as Java does.
class StatisticsWriter {
 public:
  static constexpr size_t kBoundBytesMax = 1024;

  /// `positions` of columns that types::CanHaveStatistics, at least one.
  StatisticsWriter(const types::Schema& schema, std::vector<int> positions);
  Result<std::string> Encode(const arrow::RecordBatch& rows) const;

 private:
  std::vector<int> positions_;
  std::vector<types::DataTypePtr> types_;  // Nullable, by position.
  types::BinaryRowEncoder encoder_;
};

}  // namespace sluice::wire
