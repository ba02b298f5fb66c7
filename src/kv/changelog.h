#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/row_versions.h"
#include "kv/write_back.h"

namespace sluice::wire {
class LogBatchView;
struct LogBatchOptions;
enum class ChangeType : uint8_t;
}  // namespace sluice::wire

namespace sluice::kv {

/// The log batch of changelog rows in `version`'s schema: Arrow rows, or an empty batch when there
/// are none.
Result<std::string> BuildChangelogBatch(const RowVersion& version,
                                        std::span<const wire::ChangeType> changes,
                                        std::span<const std::string> rows,
                                        wire::LogBatchOptions options);

/// A changelog batch folded by key.
struct Folded {
  Layer layer;  ///< Newest version of each key that the batch touches.
  int64_t row_count_delta = 0;
};
/// Fold the records of a changelog batch from log offset `from` on.
/// Errors: kCorruptRecord, kSchemaNotExist.
Result<Folded> FoldChangelogBatch(const wire::LogBatchView& batch, int64_t from,
                                  const RowVersion& version, const RowKeys& keys);

}  // namespace sluice::kv
