#include "wire/log_rows.h"

#include <arrow/record_batch.h>

#include "base/bytes.h"
#include "base/check.h"
#include "types/row.h"
#include "wire/log_batch_internal.h"

namespace sluice::wire {
namespace {

constexpr size_t kSizeBytes = 4;
constexpr size_t kHeadBytes = kSizeBytes + 1;  // Of a record.

types::RowCodec CodecOf(types::LogFormat format, const types::Schema& schema) {
  return {types::RowFormatOf(format), types::TypesOf(schema.columns)};
}

}  // namespace

Result<RowRecords> SplitRowBatch(const LogBatchView& batch) {
  const LogBatchHeader& header = batch.header();
  std::string_view rest = batch.bytes().substr(header.header_bytes() + batch.statistics().size());
  RowRecords records;
  for (int32_t i = 0; i < header.record_count; ++i) {
    const auto size = rest.size() < kHeadBytes ? -1 : LoadLe<int32_t>(rest.data());
    if (size < 1 || static_cast<size_t>(size) > rest.size() - kSizeBytes)
      return Corrupt("log batch ends inside a record record=", i);
    const char change = rest[kSizeBytes];
    const auto last = static_cast<char>(ChangeType::kDelete);
    if (change < 0 || change > last || (batch.append_only() && change != 0))
      return Corrupt("log batch has an unknown change type record=", i);
    if (!batch.append_only()) records.changes.push_back(change);
    records.rows.push_back(rest.substr(kHeadBytes, static_cast<size_t>(size) - 1));
    rest.remove_prefix(kSizeBytes + static_cast<size_t>(size));
  }
  if (!rest.empty()) return Corrupt("log batch goes on after its records size_bytes=", rest.size());
  return records;
}

Result<std::string> BuildRowBatch(const LogBatchOptions& options,
                                  std::span<const std::string_view> rows,
                                  std::span<const ChangeType> changes) {
  CHECK(!rows.empty() && rows.size() <= INT32_MAX);
  CHECK(changes.empty() || changes.size() == rows.size());
  size_t size_bytes = kLogBatchHeaderBytesMax;
  for (const std::string_view row : rows) size_bytes += kHeadBytes + row.size();
  if (size_bytes > INT32_MAX)
    return Error(ErrorCode::kRecordTooLarge, "log batch is too large size_bytes=", size_bytes);
  std::string batch =
      internal::StartLogBatch(options, changes.empty(), static_cast<int32_t>(rows.size()));
  batch.reserve(size_bytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    AppendLe(&batch, static_cast<int32_t>(rows[i].size() + 1));
    const ChangeType change = changes.empty() ? ChangeType::kAppendOnly : changes[i];
    batch.push_back(static_cast<char>(change));
    batch.append(rows[i]);
  }
  internal::FinishLogBatch(&batch);
  return batch;
}

Result<LogRows> DecodeLogRows(const LogBatchView& batch, types::LogFormat format,
                              const types::Schema& schema) {
  LogRows decoded;
  if (format == types::LogFormat::kArrow) {
    ASSIGN_OR_RAISE(decoded.rows, DecodeRows(batch, schema.ToArrow()));
    decoded.changes = batch.change_types();
    return decoded;
  }
  ASSIGN_OR_RAISE(RowRecords records, SplitRowBatch(batch));
  ASSIGN_OR_RAISE(const auto rows, CodecOf(format, schema).Decode(records.rows));
  const Status valid = rows->ValidateFull();
  if (!valid.ok()) return Corrupt("log batch rows are malformed: ", valid.message());
  decoded.rows = arrow::RecordBatch::Make(schema.ToArrow(), rows->num_rows(), rows->columns());
  decoded.changes = std::move(records.changes);
  return decoded;
}

Result<std::string> EncodeLogRows(const LogBatchOptions& options, types::LogFormat format,
                                  const types::Schema& schema, const arrow::RecordBatch& rows,
                                  std::span<const ChangeType> changes) {
  if (format == types::LogFormat::kArrow) return BuildLogBatch(options, rows, changes);
  std::vector<std::string> encoded;
  RETURN_NOT_OK(CodecOf(format, schema).Encode(rows, 0, rows.num_rows(), &encoded));
  const std::vector<std::string_view> views(encoded.begin(), encoded.end());
  return BuildRowBatch(options, views, changes);
}

}  // namespace sluice::wire
