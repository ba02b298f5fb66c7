#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "types/schema.h"

namespace sluice::bench {

/// Ten columns, about 198 bytes a row: BIGINT id, INT, DOUBLE, DECIMAL(15,2), TIMESTAMP(3),
/// BOOLEAN, four strings.
types::Schema RowSchema(bool primary_key);

/// Rows with ids [from, from + count); the rest follows from the id.
std::shared_ptr<arrow::RecordBatch> MakeRows(int64_t from, int64_t count);

}  // namespace sluice::bench
