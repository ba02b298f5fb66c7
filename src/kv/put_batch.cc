#include "kv/put_batch.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.h"
#include "kv/changelog.h"
#include "types/table_options.h"
#include "wire/log_batch.h"

namespace sluice::kv {

Result<std::unique_ptr<TabletRows>> TabletRows::Make(const types::TableInfo& table,
                                                     RowVersions::SchemaOf schema_of) {
  ASSIGN_OR_RAISE(const types::RowFormat format, types::KvFormatOf(table.descriptor));
  ASSIGN_OR_RAISE(auto keys, RowKeys::Make(format, table.descriptor));
  ASSIGN_OR_RAISE(const MergeRules rules, MergeRules::Of(table.descriptor));
  RowVersions versions(format, table, std::move(schema_of));
  ASSIGN_OR_RAISE(RowMerger merger, RowMerger::Make(rules, table.descriptor, versions.latest()));
  return std::make_unique<TabletRows>(TabletRows{std::move(versions), std::move(keys),
                                                 std::move(merger),
                                                 types::LogFormatOf(table.descriptor)});
}

Result<PutBatch> PutBatch::Parse(TabletRows& rows, const wire::KvBatchView& batch,
                                 std::span<const int> target_columns, PutMode mode) {
  ASSIGN_OR_RAISE(const RowVersion* version, rows.versions.Find(batch.header().schema_id));
  const bool brings_rows = std::ranges::any_of(
      batch.records(), [](const wire::KvRecord& record) { return record.row.has_value(); });
  ASSIGN_OR_RAISE(PutShape shape, rows.merger.ShapeOf(*version, target_columns, mode, brings_rows));
  PutBatch put(rows, std::move(shape));
  put.records_ = batch.records();
  RETURN_NOT_OK(put.CheckRows(batch));
  put.AssignSlots();
  return put;
}

// A key that is not its row's would make the state differ from the changelog folded: replay derives
// keys from rows.
Status PutBatch::CheckRows(const wire::KvBatchView& batch) {
  std::vector<std::string_view> rows;
  std::vector<std::string_view> put_keys;
  rows.reserve(batch.records().size());
  put_keys.reserve(batch.records().size());
  for (const wire::KvRecord& record : batch.records()) {
    if (record.row.has_value()) {
      rows.push_back(*record.row);
      put_keys.push_back(record.key);
    } else if (shape_.deletes == DeleteBehavior::kDisable) {
      return Error(ErrorCode::kDeletionDisabled, "the table's delete behavior is disable");
    }
  }
  RETURN_NOT_OK(SplitRows(rows));
  ASSIGN_OR_RAISE(const auto keys, rows_.keys.KeysOf(*rows_.versions.latest().schema, parts_));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != put_keys[i]) return Corrupt("key is not that of its row record=", i);
  }
  return Status::OK();
}

// Rows with many NULLs are far larger apart than together.
constexpr size_t kPartsMax = 16 << 20;

Status PutBatch::SplitRows(std::span<const std::string_view> rows) {
  const RowVersion& version = *shape_.version;
  const size_t own_width = version.schema->columns.size();
  const size_t width = rows_.versions.latest().schema->columns.size();
  if (rows.size() > kPartsMax / std::max(own_width, width)) {
    return Error(ErrorCode::kRecordTooLarge,
                 "rows of one put have too many values rows=", rows.size(),
                 " values_max=", kPartsMax);
  }
  Parts own(rows.size() * own_width);
  for (size_t i = 0; i < rows.size(); ++i) {
    RETURN_NOT_OK(
        version.codec.SplitInto(rows[i], std::span(own).subspan(i * own_width, own_width)));
  }
  RETURN_NOT_OK(version.check.Check(rows, own));
  if (&version == &rows_.versions.latest()) {
    parts_ = std::move(own);
    return Status::OK();
  }
  parts_.resize(rows.size() * width);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows_.versions.WidenParts(version, std::span(own).subspan(i * own_width, own_width),
                              std::span(parts_).subspan(i * width, width));
  }
  return Status::OK();
}

void PutBatch::AssignSlots() {
  // Open addressing, at most half full: place = slot + 1, 0 = free.
  std::vector<uint32_t> places(std::bit_ceil(2 * records_.size() + 1));
  slots_.reserve(records_.size());
  slot_of_.reserve(records_.size());
  for (const wire::KvRecord& record : records_) {
    size_t at = std::hash<std::string_view>()(record.key) & (places.size() - 1);
    while (places[at] != 0 && slots_[places[at] - 1].key != record.key)
      at = (at + 1) & (places.size() - 1);
    if (places[at] == 0) {
      const bool ignored = !record.row.has_value() && shape_.deletes == DeleteBehavior::kIgnore;
      const bool read = !(blind() && (record.row.has_value() || ignored));
      slots_.push_back(Slot{.key = record.key, .read = read});
      places[at] = static_cast<uint32_t>(slots_.size());
    }
    slot_of_.push_back(places[at] - 1);
  }
}

std::vector<std::string_view> PutBatch::keys_to_read() const {
  std::vector<std::string_view> keys;
  keys.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (slot.read) keys.push_back(slot.key);
  }
  return keys;
}

Status PutBatch::SetOldValues(std::span<const std::optional<std::string_view>> values) {
  size_t next = 0;
  for (Slot& slot : slots_) {
    if (!slot.read) continue;
    CHECK(next < values.size());
    const auto& value = values[next++];
    slot.known = true;
    if (!value.has_value()) continue;
    ASSIGN_OR_RAISE(slot.row, rows_.versions.Widen(*value, bytes_.get()));
  }
  return Status::OK();
}

Status PutBatch::Merge(NewIds* ids) {
  scratch_.ids = ids;
  prepared_.schema_id = rows_.versions.latest().schema_id;
  prepared_.changes.reserve(2 * records_.size());
  prepared_.rows.reserve(2 * records_.size());
  const size_t width = rows_.versions.latest().schema->columns.size();
  std::span<const Part> rest = parts_;
  for (size_t i = 0; i < records_.size(); ++i) {
    Slot& slot = slots_[slot_of_[i]];
    if (records_[i].row.has_value()) {
      RETURN_NOT_OK(PutRecord(slot, *records_[i].row, rest.first(width)));
      rest = rest.subspan(width);
    } else if (shape_.deletes == DeleteBehavior::kAllow) {
      RETURN_NOT_OK(DeleteRecord(slot));
    }
    if (emitted_bytes_ > kReadBytesMax) {
      return Error(ErrorCode::kRecordTooLarge,
                   "changes of one put are too much bytes_max=", kReadBytesMax);
    }
  }
  return Status::OK();
}

Status PutBatch::PutRecord(Slot& slot, std::string_view row, std::span<const Part> parts) {
  const bool latest = shape_.version == &rows_.versions.latest();
  ASSIGN_OR_RAISE(const MergeOutcome outcome,
                  rows_.merger.Put(shape_, slot.row, parts, latest ? &row : nullptr, &scratch_));
  if (!outcome.changed) return Status::OK();
  CHECK(outcome.row.has_value());
  CHECK(slot.known || blind());
  const bool update = blind() || slot.row.has_value();
  if (update && !rows_.rules().wal_image) Emit(wire::ChangeType::kUpdateBefore, *slot.row);
  slot.row =
      Emit(update ? wire::ChangeType::kUpdateAfter : wire::ChangeType::kInsert, *outcome.row);
  if (!update) ++prepared_.row_count_delta;
  slot.known = slot.changed = true;
  return Status::OK();
}

Status PutBatch::DeleteRecord(Slot& slot) {
  CHECK(slot.known);
  ASSIGN_OR_RAISE(const MergeOutcome outcome, rows_.merger.Delete(shape_, slot.row, &scratch_));
  if (!outcome.changed) return Status::OK();
  slot.changed = true;
  if (outcome.row.has_value()) {
    if (!rows_.rules().wal_image) Emit(wire::ChangeType::kUpdateBefore, *slot.row);
    slot.row = Emit(wire::ChangeType::kUpdateAfter, *outcome.row);
  } else {
    Emit(wire::ChangeType::kDelete, *slot.row);
    --prepared_.row_count_delta;
    slot.row.reset();
  }
  return Status::OK();
}

std::string_view PutBatch::Emit(wire::ChangeType change, std::string_view row) {
  const std::string_view stored =
      CopyStored(static_cast<int16_t>(prepared_.schema_id), row, bytes_.get());
  emitted_bytes_ += row.size();
  prepared_.changes.push_back(change);
  prepared_.rows.push_back(stored.substr(wire::kStoredValueHeadBytes));
  return prepared_.rows.back();
}

Changes PutBatch::TakeChanges() {
  Changes changes{bytes_, {}};
  changes.list.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (!slot.changed) continue;
    KeyStore::Change change{bytes_->Copy(slot.key), std::nullopt};
    if (slot.row.has_value()) {
      change.value = {slot.row->data() - wire::kStoredValueHeadBytes,
                      slot.row->size() + wire::kStoredValueHeadBytes};
    }
    changes.list.push_back(change);
  }
  return changes;
}

}  // namespace sluice::kv
