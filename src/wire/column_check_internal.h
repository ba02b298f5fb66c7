#pragma once
#include <arrow/type_fwd.h>

#include <string_view>

#include "base/error.h"

namespace sluice::wire::internal {

struct ArrowMessage;

/// Check, without unpacking anything, that `body` can hold the columns of `schema` that `message`
/// tells of: node and buffer counts, buffers in order and apart, their frames
/// (CheckPackedBuffer), rows that agree from column to column, and each buffer large enough for
/// its rows. What is left for a decoder to find are bytes inside a frame, and values.
///
/// It refuses only what no decoder could read. Errors: kCorruptRecord, naming the column.
Status CheckColumns(const ArrowMessage& message, std::string_view body,
                    const arrow::Schema& schema);

}  // namespace sluice::wire::internal
