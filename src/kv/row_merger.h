#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/aggregator.h"
#include "kv/kv_tablet.h"
#include "kv/new_ids.h"
#include "kv/row_versions.h"
#include "types/schema.h"

namespace sluice::kv {

enum class MergeEngine : uint8_t { kDefault, kFirstRow, kVersioned, kAggregation };
enum class DeleteBehavior : uint8_t { kAllow, kIgnore, kDisable };

/// How one table merges a new row into an old one, from its properties. Source: RowMerger of the
/// Java server.
struct MergeRules {
  MergeEngine engine = MergeEngine::kDefault;
  DeleteBehavior deletes = DeleteBehavior::kAllow;
  bool wal_image = false;   ///< `table.changelog.image` = WAL: no -U.
  int version_column = -1;  ///< Versioned engine: position in the latest schema.
  int auto_column = -1;     ///< Gets an id in new rows: position in the latest schema.
  /// Upserts of full rows need no old row: every one is +U, and live keys are not counted.
  bool blind_upserts() const { return wal_image && engine == MergeEngine::kDefault; }

  /// Errors: kInvalidTable for a value that is none.
  static Result<MergeRules> Of(const types::TableDescriptor& descriptor);
};

/// What the rows of one put batch are.
struct PutShape {
  const RowVersion* version;  ///< Schema of its rows.
  std::vector<bool> target;   ///< Per latest column: written by this batch; empty = all are.
  MergeEngine engine;         ///< That of the table, or the default one when overwriting.
  DeleteBehavior deletes;     ///< As well: overwriting may delete.
  bool if_absent = false;     ///< Rows that are there stay.
  bool partial() const { return !target.empty(); }
};

/// New state of a key after one record.
struct MergeOutcome {
  bool changed = false;  ///< False: the old row stays, no changelog.
  /// In the latest schema; nullopt = the key is gone. Views an argument of the merge, or its
  /// scratch: until the next one.
  std::optional<std::string_view> row;
};

/// Room that one merge after another uses, and where new rows have their ids from.
struct MergeScratch {
  NewIds* ids = nullptr;  ///< Not null, and with an id per row, for a table with an auto column.
  Parts parts;
  std::string row;
  std::string id;
  std::vector<std::string> values;  ///< Per column: what an aggregation made.
};

/// Merges rows given as parts of the latest schema. Holds no rows.
class RowMerger {
 public:
  /// Errors: kInvalidConfig for an aggregate function that its column does not take.
  static Result<RowMerger> Make(const MergeRules& rules, const types::TableDescriptor& descriptor,
                                const RowVersion& latest);

  /// `brings_rows`: the batch does not only delete.
  /// Errors: kInvalidTargetColumn; of a table with an auto column every put of rows is a partial
  /// one that leaves that column out.
  Result<PutShape> ShapeOf(const RowVersion& version, std::span<const int> target_columns,
                           PutMode mode, bool brings_rows) const;
  /// `row` holds the same columns as `parts`, nullptr when it is of an older schema.
  /// Errors: kCorruptRecord for a NULL in a NOT NULL column; kInvalidTable for what cannot be
  /// aggregated.
  Result<MergeOutcome> Put(const PutShape& shape, std::optional<std::string_view> old_row,
                           std::span<const Part> parts, const std::string_view* row,
                           MergeScratch* scratch) const;
  Result<MergeOutcome> Delete(const PutShape& shape, std::optional<std::string_view> old_row,
                              MergeScratch* scratch) const;

  const MergeRules& rules() const { return rules_; }

 private:
  RowMerger(const MergeRules& rules, const RowVersion& latest) : rules_(rules), latest_(latest) {}
  Status CheckTargets(const PutShape& shape) const;
  Status CheckFirst(const PutShape& shape, std::span<const Part> parts) const;
  Status SetId(MergeScratch* scratch) const;
  Status CheckNulls(std::span<const Part> parts) const;
  Result<MergeOutcome> Aggregate(const PutShape& shape, std::string_view old_row,
                                 std::span<const Part> parts, MergeScratch* scratch) const;
  MergeOutcome Joined(std::span<const Part> parts, MergeScratch* scratch) const;
  Result<bool> IsOlder(std::span<const Part> parts, std::string_view old_row) const;

  MergeRules rules_;
  const RowVersion& latest_;
  std::vector<bool> key_column_;         // Per latest column: part of the primary key.
  std::vector<Aggregator> aggregators_;  // The same, with the aggregation engine.
};

}  // namespace sluice::kv
