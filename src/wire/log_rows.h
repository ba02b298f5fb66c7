#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "types/schema.h"
#include "types/table_options.h"
#include "wire/log_batch.h"

namespace sluice::wire {

/// Rows of a log batch, whatever its format.
struct LogRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::string changes;  ///< One ChangeType per row; empty = append only.
};

/// Decode a batch; `schema` is that of its schema id. The result owns its memory.
/// Errors: kCorruptRecord.
Result<LogRows> DecodeLogRows(const LogBatchView& batch, types::LogFormat format,
                              const types::Schema& schema);
/// Build one batch of at least one row, whose columns are those of `schema`; as BuildLogBatch.
Result<std::string> EncodeLogRows(const LogBatchOptions& options, types::LogFormat format,
                                  const types::Schema& schema, const arrow::RecordBatch& rows,
                                  std::span<const ChangeType> changes);

/// The records of a batch in a row format. Lifetime: views the batch.
///
/// Format: per record int32 size of the rest, one byte ChangeType, the row. Source:
/// IndexedLogRecord, CompactedLogRecord.
struct RowRecords {
  std::string changes;  ///< As in LogRows.
  std::vector<std::string_view> rows;
};
/// Errors: kCorruptRecord when records and header do not agree; rows are not looked into.
Result<RowRecords> SplitRowBatch(const LogBatchView& batch);
/// A batch of at least one such record.
Result<std::string> BuildRowBatch(const LogBatchOptions& options,
                                  std::span<const std::string_view> rows,
                                  std::span<const ChangeType> changes);

}  // namespace sluice::wire
