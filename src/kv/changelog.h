#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/row_versions.h"
#include "kv/write_back.h"
#include "types/table_options.h"

namespace sluice::wire {
class LogBatchView;
struct LogBatchOptions;
enum class ChangeType : uint8_t;
}  // namespace sluice::wire

namespace sluice::kv {

/// The log batch of changelog rows in `version`'s schema, or an empty batch when there are none.
Result<std::string> BuildChangelogBatch(const RowVersion& version, types::LogFormat format,
                                        std::span<const wire::ChangeType> changes,
                                        std::span<const std::string_view> rows,
                                        wire::LogBatchOptions options);

/// A stored value of `row`, in `bytes`.
std::string_view CopyStored(int16_t schema_id, std::string_view row, Arena* bytes);

/// Put the records of a changelog batch from log offset `from` on behind `changes`, their bytes
/// into `bytes`; returns by how many the live keys changed. Errors: kCorruptRecord.
Result<int64_t> FoldChangelogBatch(const wire::LogBatchView& batch, int64_t from,
                                   const RowVersion& version, types::LogFormat format,
                                   const RowKeys& keys, Arena* bytes,
                                   std::vector<KeyStore::Change>* changes);

}  // namespace sluice::kv
