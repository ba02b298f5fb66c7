#include "kv/replayer.h"

#include "kv/changelog.h"
#include "wire/log_batch.h"

namespace sluice::kv {

Result<Replayed> Replayer::Fold(std::string_view log, int64_t base_offset) {
  Replayed part{.base_offset = base_offset, .next_offset = base_offset};
  auto bytes = std::make_shared<Arena>();
  part.changes.bytes = bytes;
  for (wire::LogBatchIterator batches(log);;) {
    ASSIGN_OR_RAISE(const auto batch, batches.Next());
    if (!batch) return part;
    const wire::LogBatchHeader& header = batch->header();
    if (header.next_offset() <= part.next_offset) continue;
    if (header.base_offset > part.next_offset) {
      return Error(ErrorCode::kKvStorage, "changelog has a gap expected=", part.next_offset,
                   " base_offset=", header.base_offset);
    }
    ASSIGN_OR_RAISE(const RowVersion* version, rows_->versions.Find(header.schema_id));
    ASSIGN_OR_RAISE(const int64_t delta,
                    FoldChangelogBatch(*batch, part.next_offset, *version, rows_->log_format,
                                       rows_->keys, bytes.get(), &part.changes.list));
    part.row_count_delta += delta;
    part.log_bytes += batch->bytes().size();
    part.next_offset = header.next_offset();
  }
}

}  // namespace sluice::kv
