#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/arena.h"
#include "kv/kv_tablet.h"
#include "kv/row_merger.h"
#include "kv/row_versions.h"
#include "kv/write_back.h"
#include "types/table_options.h"
#include "wire/kv_batch.h"

namespace sluice::kv {

/// What a table's descriptor says about its rows.
struct TabletRows {
  RowVersions versions;
  RowKeys keys;
  RowMerger merger;
  types::LogFormat log_format;  // Of the changelog.

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
                                std::span<const int> target_columns, PutMode mode);

  /// Each key once whose old value the merge needs.
  std::vector<std::string_view> keys_to_read() const;
  /// Stored values in the order of keys_to_read(), nullopt = no such key. They live until Merge has
  /// ended.
  Status SetOldValues(std::span<const std::optional<std::string_view>> values);
  /// Fold the records one after another into changelog rows. Of a table with an auto-increment
  /// column `ids` has one per record.
  Status Merge(NewIds* ids);

  /// Newest version of each key that the batch changed.
  Changes TakeChanges();
  /// Changelog rows; the ticket is the tablet's to give.
  Prepared TakePrepared() { return std::move(prepared_); }

 private:
  struct Slot {
    std::string_view key;
    bool read = false;     // The merge needs the old value.
    bool known = false;    // `row` is the newest state; else only a blind upsert may come.
    bool changed = false;  // Then `row` is the end of a stored value in `bytes_`.
    std::optional<std::string_view> row;  // In the latest schema.
  };

  PutBatch(TabletRows& rows, PutShape shape) : rows_(rows), shape_(std::move(shape)) {
    prepared_.bytes = bytes_;
  }
  Status CheckRows(const wire::KvBatchView& batch);
  Status SplitRows(std::span<const std::string_view> rows);
  void AssignSlots();
  Status PutRecord(Slot& slot, std::string_view row, std::span<const Part> parts);
  Status DeleteRecord(Slot& slot);
  // The changelog's own copy of the row.
  std::string_view Emit(wire::ChangeType change, std::string_view row);
  bool blind() const { return rows_.rules().blind_upserts() && !shape_.partial(); }

  TabletRows& rows_;
  PutShape shape_;
  std::span<const wire::KvRecord> records_;
  Parts parts_;                  // Of the records with a row, end to end, in the latest schema.
  std::vector<size_t> slot_of_;  // Per record.
  std::vector<Slot> slots_;      // Per key, in order of first appearance.
  std::shared_ptr<Arena> bytes_ = std::make_shared<Arena>();
  MergeScratch scratch_;
  Prepared prepared_;
  size_t emitted_bytes_ = 0;  // Of the changelog's rows.
};

}  // namespace sluice::kv
