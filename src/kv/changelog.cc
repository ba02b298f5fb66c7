#include "kv/changelog.h"

#include <arrow/record_batch.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/kv_batch.h"
#include "wire/log_rows.h"

namespace sluice::kv {

std::string_view CopyStored(int16_t schema_id, std::string_view row, Arena* bytes) {
  const size_t size = wire::kStoredValueHeadBytes + row.size();
  char* const at = bytes->Take(size);
  StoreLe(at, schema_id);
  std::copy(row.begin(), row.end(), at + wire::kStoredValueHeadBytes);
  return {at, size};
}

namespace {

// Is there a BINARY in it, whose NULL of one bit takes all its bytes in memory?
bool HasBinary(const types::DataType& type) {
  switch (type.kind()) {
    case types::TypeKind::kBinary:
      return true;
    case types::TypeKind::kArray:
      return HasBinary(*type.element());
    case types::TypeKind::kMap:
      return HasBinary(*type.key()) || HasBinary(*type.value());
    default:
      return std::ranges::any_of(
          type.fields(), [](const types::RowField& field) { return HasBinary(*field.type); });
  }
}

// May rows of the keys go into the log as they are? Each was looked at when it came, but of BINARY
// only all together can be too large to be read back, so such rows are decoded here.
bool LogsAsTheyAre(types::LogFormat log, const types::RowCodec& kv) {
  if (log == types::LogFormat::kArrow || types::RowFormatOf(log) != kv.format()) return false;
  return std::ranges::none_of(kv.columns(),
                              [](const types::DataTypePtr& type) { return HasBinary(*type); });
}

}  // namespace

Result<std::string> BuildChangelogBatch(const RowVersion& version, types::LogFormat format,
                                        std::span<const wire::ChangeType> changes,
                                        std::span<const std::string_view> rows,
                                        wire::LogBatchOptions options) {
  CHECK(changes.size() == rows.size());
  options.schema_id = static_cast<int16_t>(version.schema_id);
  if (rows.empty()) return wire::BuildEmptyLogBatch(options, /*append_only=*/false);
  if (LogsAsTheyAre(format, version.codec)) return wire::BuildRowBatch(options, rows, changes);
  ASSIGN_OR_RAISE(const auto batch, version.codec.Decode(rows));
  return wire::EncodeLogRows(options, format, *version.schema, *batch, changes);
}

namespace {

// Which records of a changelog batch say what their keys are now.
struct KeptRecords {
  std::vector<int64_t> rows;  // All of them, as positions in the batch.
  std::vector<int64_t> puts;  // Those that are no removals.
  int64_t row_count_delta = 0;
};

Result<KeptRecords> KeepRecords(const wire::LogBatchHeader& header, std::string_view changes,
                                int64_t from) {
  KeptRecords kept;
  for (int64_t i = std::max<int64_t>(0, from - header.base_offset); i < header.record_count; ++i) {
    const auto change = static_cast<wire::ChangeType>(changes[static_cast<size_t>(i)]);
    if (change == wire::ChangeType::kUpdateBefore) continue;  // Its +U follows.
    if (change == wire::ChangeType::kAppendOnly)
      return Corrupt("append-only record in a changelog offset=", header.base_offset + i);
    kept.rows.push_back(i);
    if (change != wire::ChangeType::kDelete) kept.puts.push_back(i);
    if (change == wire::ChangeType::kDelete) --kept.row_count_delta;
    if (change == wire::ChangeType::kInsert) ++kept.row_count_delta;
  }
  return kept;
}

}  // namespace

Result<int64_t> FoldChangelogBatch(const wire::LogBatchView& batch, int64_t from,
                                   const RowVersion& version, types::LogFormat format,
                                   const RowKeys& keys, Arena* bytes,
                                   std::vector<KeyStore::Change>* changes) {
  const wire::LogBatchHeader& header = batch.header();
  if (header.record_count == 0) return 0;
  if (batch.append_only())
    return Corrupt("append-only batch in a changelog offset=", header.base_offset);
  ASSIGN_OR_RAISE(const wire::LogRows decoded, wire::DecodeLogRows(batch, format, *version.schema));
  const auto& rows = decoded.rows;
  ASSIGN_OR_RAISE(const KeptRecords kept, KeepRecords(header, decoded.changes, from));
  size_t at = changes->size();
  RETURN_NOT_OK(keys.EachKey(*version.schema, *rows, kept.rows, [&](std::string_view key) {
    changes->push_back({bytes->Copy(key), std::nullopt});
  }));
  auto record = kept.rows.begin();
  auto put = kept.puts.begin();
  RETURN_NOT_OK(version.codec.EncodeEach(*rows, kept.puts, [&](std::string_view row) {
    for (; *record != *put; ++record) ++at;  // Removals in between.
    (*changes)[at++].value = CopyStored(static_cast<int16_t>(version.schema_id), row, bytes);
    ++record, ++put;
  }));
  return kept.row_count_delta;
}

}  // namespace sluice::kv
