#include "kv/changelog.h"

#include <arrow/record_batch.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/kv_batch.h"
#include "wire/log_batch.h"

namespace sluice::kv {

std::string_view CopyStored(int16_t schema_id, std::string_view row, Arena* bytes) {
  const size_t size = wire::kStoredValueHeadBytes + row.size();
  char* const at = bytes->Take(size);
  StoreLe(at, schema_id);
  std::copy(row.begin(), row.end(), at + wire::kStoredValueHeadBytes);
  return {at, size};
}

Result<std::string> BuildChangelogBatch(const RowVersion& version,
                                        std::span<const wire::ChangeType> changes,
                                        std::span<const std::string_view> rows,
                                        wire::LogBatchOptions options) {
  CHECK(changes.size() == rows.size());
  options.schema_id = static_cast<int16_t>(version.schema_id);
  if (rows.empty()) return wire::BuildEmptyLogBatch(options, /*append_only=*/false);
  ASSIGN_OR_RAISE(const auto batch, version.codec.Decode(rows));
  return wire::BuildLogBatch(options, *batch, changes);
}

Result<Folded> FoldChangelogBatch(const wire::LogBatchView& batch, int64_t from,
                                  const RowVersion& version, const RowKeys& keys) {
  Folded folded;
  auto bytes = std::make_shared<Arena>();
  folded.changes.bytes = bytes;
  const wire::LogBatchHeader& header = batch.header();
  if (header.record_count == 0) return folded;
  if (batch.append_only())
    return Corrupt("append-only batch in a changelog offset=", header.base_offset);
  ASSIGN_OR_RAISE(const auto rows, wire::DecodeRows(batch, version.schema->ToArrow()));
  std::vector<std::string> encoded;
  RETURN_NOT_OK(version.codec.Encode(*rows, 0, rows->num_rows(), &encoded));
  ASSIGN_OR_RAISE(const auto row_keys, keys.KeysOf(*version.schema, *rows));
  const std::string_view changes = batch.change_types();
  if (encoded.size() != changes.size() || row_keys.size() != changes.size()) {
    return Corrupt("changelog batch has other rows than change types offset=", header.base_offset);
  }
  const auto skip = static_cast<size_t>(std::max<int64_t>(0, from - header.base_offset));
  for (size_t i = skip; i < changes.size(); ++i) {
    switch (static_cast<wire::ChangeType>(changes[i])) {
      case wire::ChangeType::kUpdateBefore:
        break;  // Its +U follows.
      case wire::ChangeType::kDelete:
        folded.changes.list.push_back({bytes->Copy(row_keys[i]), std::nullopt});
        --folded.row_count_delta;
        break;
      case wire::ChangeType::kInsert:
        ++folded.row_count_delta;
        [[fallthrough]];
      case wire::ChangeType::kUpdateAfter:
        folded.changes.list.push_back(
            {bytes->Copy(row_keys[i]),
             CopyStored(static_cast<int16_t>(version.schema_id), encoded[i], bytes.get())});
        break;
      case wire::ChangeType::kAppendOnly:
        return Corrupt("append-only record in a changelog offset=",
                       header.base_offset + static_cast<int64_t>(i));
    }
  }
  return folded;
}

}  // namespace sluice::kv
