#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "kv/kv_tablet.h"
#include "kv/row_merger.h"
#include "kv/row_versions.h"
#include "kv/write_back.h"
#include "wire/kv_batch.h"

namespace sluice::kv {

/// What a table's descriptor says about its rows.
struct TabletRows {
  RowVersions versions;
  RowKeys keys;
  RowMerger merger;

  /// Errors: kInvalidTable.
  static Result<std::unique_ptr<TabletRows>> Make(const types::TableInfo& table,
                                                  RowVersions::SchemaOf schema_of);
  const MergeRules& rules() const { return merger.rules(); }
};

/// One put batch on its way through Prepare: Parse, read keys_to_read(), SetOldValues, Merge, then
/// take the results.
///
/// Lifetime: views the batch's bytes and borrows the table's rows.
class PutBatch {
 public:
  static Result<PutBatch> Parse(TabletRows& rows, const wire::KvBatchView& batch,
                                std::span<const int> target_columns, bool overwrite);

  /// Each key once whose old value the merge needs.
  std::vector<std::string_view> keys_to_read() const;
  /// Stored values in the order of keys_to_read(), nullopt = no such key.
  Status SetOldValues(std::span<const std::optional<std::string>> values);
  /// Fold the records one after another into changelog rows.
  Status Merge();

  /// Changelog rows; the ticket is the tablet's to give.
  Prepared TakePrepared() { return std::move(prepared_); }
  /// Newest version of each key that the batch changed.
  Layer TakeLayer();

 private:
  struct Slot {
    std::string_view key;
    bool read = false;   // The merge needs the old value.
    bool known = false;  // `row` is the newest state; else only a blind upsert may come.
    bool changed = false;
    std::optional<std::string> row;  // In the latest schema.
  };

  PutBatch(TabletRows& rows, PutShape shape) : rows_(rows), shape_(std::move(shape)) {}
  Status CheckRows(const wire::KvBatchView& batch);
  void AssignSlots();
  Status PutRecord(Slot& slot, std::string_view row, const Parts& parts);
  Status DeleteRecord(Slot& slot);
  void Emit(wire::ChangeType change, const std::string& row);
  bool blind() const { return rows_.rules().blind_upserts() && !shape_.partial(); }

  TabletRows& rows_;
  PutShape shape_;
  std::span<const wire::KvRecord> records_;
  std::vector<Parts> parts_;     // Per record, of the latest schema; empty for deletes.
  std::vector<size_t> slot_of_;  // Per record.
  std::vector<Slot> slots_;      // Per key, in order of first appearance.
  Prepared prepared_;
};

}  // namespace sluice::kv
