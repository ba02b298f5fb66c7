#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"
#include "lake/lake_catalog.h"

// For tests of the lake only: rows of all types from a seed, and rows as JSON lines in the form
// that the other programs print which read our tables.

namespace sluice::lake {

/// A clock that stands until it is told to go on.
class HandClock : public io::Clock {
 public:
  int64_t NowMs() const override { return now_ms_; }
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::milliseconds(now_ms_); }
  void Advance(int64_t ms) { now_ms_ += ms; }

 private:
  int64_t now_ms_ = 1'790'000'000'000;
};

/// The warehouse /wh on these files.
std::unique_ptr<LakeCatalog> OpenWarehouse(io::FileSystem& files, io::Clock& clock,
                                           io::Random& random);

/// One JSON object per row. Types decide the form: decimals, dates and times as text, bytes as 0x…,
/// maps as pairs.
std::vector<std::string> JsonLines(const arrow::RecordBatch& batch,
                                   const std::vector<types::Column>& columns);

/// Random rows for columns in the log's Arrow form: about every eighth nullable value is NULL.
std::shared_ptr<arrow::RecordBatch> RandomRows(const std::vector<types::Column>& columns,
                                               int64_t rows, io::Random& random);

/// The batch with one column replaced by integers made by `value_of(row)`.
std::shared_ptr<arrow::RecordBatch> WithInts(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::string& column,
                                             const std::function<int64_t(int64_t)>& value_of);
/// The batch with one column replaced by one text.
std::shared_ptr<arrow::RecordBatch> WithText(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::string& column, const std::string& text);

/// Columns of every type: id (INT NOT NULL unless `nullable_id`), then c_bool, c_tiny, …
std::vector<types::Column> AllTypeColumns(bool with_nested);

/// All rows of a snapshot as sorted JSON lines.
Result<std::vector<std::string>> ReadAll(LakeTable& table, const LakeSnapshot& snapshot,
                                         const std::vector<std::string>& columns);

std::vector<std::string> Names(const std::vector<types::Column>& columns);

}  // namespace sluice::lake
