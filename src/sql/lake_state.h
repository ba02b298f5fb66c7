#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sql/table_source.h"

namespace sluice::sql {

/// How far a table's lake is, as the server that tiers it knows: what `t$lake$tiering` shows.
struct LakeState {
  struct Bucket {
    std::string partition;  ///< Its name, empty (NULL as a row) when the table has no partitions.
    int32_t bucket = 0;
    int64_t lake_offset = 0;  ///< First offset that the lake lacks.
    int64_t log_end_offset = 0;
    int64_t lag_rows = 0;
    int64_t lag_ms = 0;  ///< Age of the oldest row that the lake lacks, 0 when there is none.
  };
  std::string state;   ///< SCHEDULED, PENDING, TIERING, TIERED or FAILED.
  std::string reason;  ///< Why the last round failed, empty when it did not.
  std::optional<int64_t> failed_since_ms, next_try_ms;  ///< Wall clock; of a failed table.
  std::vector<Bucket> buckets;
};

/// Errors: kTableNotExist; kInvalidTable when the table is not tiered. Threads: any but a loop's.
using LakeStateSource = std::function<Result<LakeState>(const types::TablePath&)>;

/// Columns of `t$lake$tiering`.
std::vector<SourceColumn> LakeStateColumns();
/// A row per bucket. Shape: LakeStateColumns().
Result<std::shared_ptr<arrow::RecordBatch>> LakeStateRows(const LakeState& state);

}  // namespace sluice::sql
