#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/data_type.h"

namespace sluice::lake::paimon {

/// Row `row` of the given file-form columns as manifests store it: arity in front, then the
/// BinaryRow.
Result<std::string> EncodeRow(const std::vector<types::DataTypePtr>& types,
                              const std::vector<std::shared_ptr<arrow::Array>>& columns,
                              int64_t row);

/// The row of a partition from its text values in Fluss's form. Errors: kPartitionSpecInvalid for a
/// wrong number of values.
Result<std::string> EncodePartition(const std::vector<types::DataTypePtr>& types,
                                    const std::vector<std::string>& values);

/// The columns of a serialized row, one array of length one each, in DataType::ToArrow's form.
/// Errors: kCorruptRecord when the row has another arity.
Result<std::vector<std::shared_ptr<arrow::Array>>> DecodeRow(
    const std::vector<types::DataTypePtr>& types, std::string_view row);

/// Text of a partition's values in Fluss's form, nullopt = NULL.
Result<std::vector<std::optional<std::string>>> PartitionTexts(
    const std::vector<types::DataTypePtr>& types, std::string_view row);

}  // namespace sluice::lake::paimon
