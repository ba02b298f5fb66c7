#include "kv/put_batch.h"

#include "base/check.h"
#include "wire/log_batch.h"

namespace sluice::kv {
namespace {

Result<types::RowFormat> RowFormatOf(const types::TableDescriptor& descriptor) {
  const std::string name = descriptor.Property("table.kv.format", "COMPACTED");
  if (name == "COMPACTED" || name == "compacted") return types::RowFormat::kCompacted;
  if (name == "INDEXED" || name == "indexed") return types::RowFormat::kIndexed;
  return Error(ErrorCode::kInvalidTable, "unknown table.kv.format=", name);
}

Status CheckSupported(const types::TableDescriptor& descriptor) {
  const std::string log_format = descriptor.Property("table.log.format", "ARROW");
  if (log_format != "ARROW" && log_format != "arrow") {
    return Error(ErrorCode::kInvalidTable,
                 "changelog format is not supported table.log.format=", log_format);
  }
  if (!descriptor.schema.auto_increment.empty()) {
    return Error(ErrorCode::kInvalidTable, "auto increment is not supported column=",
                 descriptor.schema.auto_increment.front());
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<TabletRows>> TabletRows::Make(const types::TableInfo& table,
                                                     RowVersions::SchemaOf schema_of) {
  RETURN_NOT_OK(CheckSupported(table.descriptor));
  ASSIGN_OR_RAISE(const types::RowFormat format, RowFormatOf(table.descriptor));
  ASSIGN_OR_RAISE(auto keys, RowKeys::Make(format, table.descriptor));
  ASSIGN_OR_RAISE(const MergeRules rules, MergeRules::Of(table.descriptor));
  RowVersions versions(format, table, std::move(schema_of));
  RowMerger merger(rules, table.descriptor, versions.latest());
  return std::make_unique<TabletRows>(
      TabletRows{std::move(versions), std::move(keys), std::move(merger)});
}

Result<PutBatch> PutBatch::Parse(TabletRows& rows, const wire::KvBatchView& batch,
                                 std::span<const int> target_columns, bool overwrite) {
  ASSIGN_OR_RAISE(const RowVersion* version, rows.versions.Find(batch.header().schema_id));
  ASSIGN_OR_RAISE(PutShape shape, rows.merger.ShapeOf(*version, target_columns, overwrite));
  PutBatch put(rows, std::move(shape));
  put.records_ = batch.records();
  RETURN_NOT_OK(put.CheckRows(batch));
  put.AssignSlots();
  return put;
}

// A key that is not its row's would make the state differ from the changelog folded: replay derives
// keys from rows.
Status PutBatch::CheckRows(const wire::KvBatchView& batch) {
  std::vector<Parts> put_rows;
  std::vector<std::string_view> put_keys;
  for (const wire::KvRecord& record : batch.records()) {
    if (!record.row.has_value()) {
      if (rows_.rules().deletes == DeleteBehavior::kDisable) {
        return Error(ErrorCode::kDeletionDisabled, "the table's delete behavior is disable");
      }
      continue;
    }
    ASSIGN_OR_RAISE(Parts parts, rows_.versions.SplitWide(*shape_.version, *record.row));
    put_rows.push_back(std::move(parts));
    put_keys.push_back(record.key);
  }
  ASSIGN_OR_RAISE(const auto keys, rows_.keys.KeysOf(*rows_.versions.latest().schema, put_rows));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != put_keys[i]) return Corrupt("key is not that of its row record=", i);
  }
  parts_ = std::move(put_rows);
  return Status::OK();
}

void PutBatch::AssignSlots() {
  std::unordered_map<std::string_view, size_t> slot_of_key;
  slot_of_key.reserve(records_.size());
  slot_of_.reserve(records_.size());
  for (const wire::KvRecord& record : records_) {
    const auto [at, fresh] = slot_of_key.emplace(record.key, slots_.size());
    if (fresh) {
      const bool ignored =
          !record.row.has_value() && rows_.rules().deletes == DeleteBehavior::kIgnore;
      const bool read = !(blind() && (record.row.has_value() || ignored));
      slots_.push_back(Slot{.key = record.key, .read = read});
    }
    slot_of_.push_back(at->second);
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

Status PutBatch::SetOldValues(std::span<const std::optional<std::string>> values) {
  size_t next = 0;
  for (Slot& slot : slots_) {
    if (!slot.read) continue;
    CHECK(next < values.size());
    const auto& value = values[next++];
    slot.known = true;
    if (!value.has_value()) continue;
    ASSIGN_OR_RAISE(slot.row, rows_.versions.Widen(*value));
  }
  return Status::OK();
}

Status PutBatch::Merge() {
  prepared_.schema_id = rows_.versions.latest().schema_id;
  size_t next_row = 0;
  for (size_t i = 0; i < records_.size(); ++i) {
    Slot& slot = slots_[slot_of_[i]];
    if (records_[i].row.has_value()) {
      RETURN_NOT_OK(PutRecord(slot, *records_[i].row, parts_[next_row++]));
    } else if (rows_.rules().deletes == DeleteBehavior::kAllow) {
      RETURN_NOT_OK(DeleteRecord(slot));
    }
  }
  return Status::OK();
}

Status PutBatch::PutRecord(Slot& slot, std::string_view row, const Parts& parts) {
  const bool latest = shape_.version == &rows_.versions.latest();
  ASSIGN_OR_RAISE(MergeOutcome outcome,
                  rows_.merger.Put(shape_, slot.row, parts, latest ? &row : nullptr));
  if (!outcome.changed) return Status::OK();
  CHECK(outcome.row.has_value());
  CHECK(slot.known || blind());
  const bool update = blind() || slot.row.has_value();
  if (update && !rows_.rules().wal_image) Emit(wire::ChangeType::kUpdateBefore, *slot.row);
  Emit(update ? wire::ChangeType::kUpdateAfter : wire::ChangeType::kInsert, *outcome.row);
  if (!update) ++prepared_.row_count_delta;
  slot.row = std::move(outcome.row);
  slot.known = slot.changed = true;
  return Status::OK();
}

Status PutBatch::DeleteRecord(Slot& slot) {
  CHECK(slot.known);
  ASSIGN_OR_RAISE(MergeOutcome outcome, rows_.merger.Delete(shape_, slot.row));
  if (!outcome.changed) return Status::OK();
  if (outcome.row.has_value()) {
    if (!rows_.rules().wal_image) Emit(wire::ChangeType::kUpdateBefore, *slot.row);
    Emit(wire::ChangeType::kUpdateAfter, *outcome.row);
  } else {
    Emit(wire::ChangeType::kDelete, *slot.row);
    --prepared_.row_count_delta;
  }
  slot.row = std::move(outcome.row);
  slot.changed = true;
  return Status::OK();
}

void PutBatch::Emit(wire::ChangeType change, const std::string& row) {
  prepared_.changes.push_back(change);
  prepared_.rows.push_back(row);
}

Layer PutBatch::TakeLayer() {
  const auto schema_id = static_cast<int16_t>(prepared_.schema_id);
  Layer layer;
  for (Slot& slot : slots_) {
    if (!slot.changed) continue;
    layer.Put(slot.key, slot.row.has_value() ? Version(wire::BuildStoredValue(schema_id, *slot.row))
                                             : std::nullopt);
  }
  return layer;
}

}  // namespace sluice::kv
