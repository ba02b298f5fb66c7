#include "kv/row_merger.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "types/table_options.h"

namespace sluice::kv {
namespace {

Result<MergeEngine> EngineNamed(const std::string& name) {
  if (name.empty()) return MergeEngine::kDefault;
  if (name == "FIRST_ROW") return MergeEngine::kFirstRow;
  if (name == "VERSIONED") return MergeEngine::kVersioned;
  if (name == "AGGREGATION") return MergeEngine::kAggregation;
  return Error(ErrorCode::kInvalidTable, "unknown table.merge-engine=", name);
}

Result<DeleteBehavior> BehaviorNamed(const std::string& name, MergeEngine engine) {
  if (name == "IGNORE" || (name.empty() && engine != MergeEngine::kDefault))
    return DeleteBehavior::kIgnore;
  if (name == "ALLOW" || name.empty()) return DeleteBehavior::kAllow;
  if (name == "DISABLE") return DeleteBehavior::kDisable;
  return Error(ErrorCode::kInvalidTable, "unknown table.delete.behavior=", name);
}

// A version as a pair that compares like the value.
Result<types::PartValue::Time> OrderOf(const types::PartValue& version, std::string_view part) {
  const types::TypeKind kind = version.type().kind();
  if (kind == types::TypeKind::kTimestamp || kind == types::TypeKind::kTimestampLtz)
    return version.Timestamp(part);
  ASSIGN_OR_RAISE(const int64_t number, version.Integer(part));
  return types::PartValue::Time(number, 0);
}

}  // namespace

Result<MergeRules> MergeRules::Of(const types::TableDescriptor& descriptor) {
  MergeRules rules;
  ASSIGN_OR_RAISE(rules.engine,
                  EngineNamed(types::UpperCase(descriptor.Property("table.merge-engine"))));
  ASSIGN_OR_RAISE(
      rules.deletes,
      BehaviorNamed(types::UpperCase(descriptor.Property("table.delete.behavior")), rules.engine));
  rules.wal_image = types::UpperCase(descriptor.Property("table.changelog.image", "FULL")) == "WAL";
  if (rules.engine == MergeEngine::kVersioned) {
    const std::string name = descriptor.Property("table.merge-engine.versioned.ver-column");
    rules.version_column = descriptor.schema.IndexOf(name);
    if (rules.version_column < 0)
      return Error(ErrorCode::kInvalidTable, "no such version column name=", name);
  }
  if (const auto& names = descriptor.schema.auto_increment; !names.empty())
    rules.auto_column = descriptor.schema.IndexOf(names.front());
  return rules;
}

Result<RowMerger> RowMerger::Make(const MergeRules& rules, const types::TableDescriptor& descriptor,
                                  const RowVersion& latest) {
  RowMerger merger(rules, latest);
  for (const types::Column& column : latest.schema->columns) {
    const auto& key = descriptor.schema.primary_key;
    merger.key_column_.push_back(std::find(key.begin(), key.end(), column.name) != key.end());
  }
  if (rules.engine == MergeEngine::kAggregation) {
    ASSIGN_OR_RAISE(merger.aggregators_, MakeAggregators(*latest.schema, latest.codec.format()));
  }
  return merger;
}

Result<PutShape> RowMerger::ShapeOf(const RowVersion& version, std::span<const int> target_columns,
                                    PutMode mode, bool brings_rows) const {
  PutShape shape{&version, {}, rules_.engine, rules_.deletes};
  shape.if_absent = mode == PutMode::kIfAbsent;
  if (mode == PutMode::kOverwrite) {
    shape.engine = MergeEngine::kDefault;
    shape.deletes = DeleteBehavior::kAllow;
  }
  if (target_columns.empty() && rules_.auto_column >= 0 && brings_rows) {
    return Error(ErrorCode::kInvalidTargetColumn,
                 "the server fills in a column, so rows must come without it column=",
                 latest_.schema->columns[rules_.auto_column].name);
  }
  if (target_columns.empty()) return shape;
  if (shape.engine == MergeEngine::kFirstRow || shape.engine == MergeEngine::kVersioned) {
    return Error(ErrorCode::kInvalidTargetColumn,
                 "the table's merge engine takes no partial update");
  }
  const auto& columns = latest_.schema->columns;
  const int width = static_cast<int>(version.schema->columns.size());
  shape.target.assign(columns.size(), false);
  for (const int position : target_columns) {
    if (position < 0 || position >= width) {
      return Error(ErrorCode::kInvalidTargetColumn,
                   "target column is outside the schema position=", position);
    }
    const auto at = std::find(version.source.begin(), version.source.end(), position);
    if (at != version.source.end())
      shape.target[static_cast<size_t>(at - version.source.begin())] = true;
  }
  RETURN_NOT_OK(CheckTargets(shape));
  return shape;
}

Status RowMerger::CheckTargets(const PutShape& shape) const {
  const auto& columns = latest_.schema->columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (static_cast<int>(i) == rules_.auto_column && shape.target[i]) {
      return Error(ErrorCode::kInvalidTargetColumn,
                   "the server fills in this column column=", columns[i].name);
    }
    if (key_column_[i] && !shape.target[i]) {
      return Error(ErrorCode::kInvalidTargetColumn,
                   "partial update leaves out key column=", columns[i].name);
    }
    if (!key_column_[i] && !columns[i].type->nullable()) {
      return Error(ErrorCode::kInvalidTargetColumn,
                   "partial update of a table with NOT NULL column=", columns[i].name);
    }
  }
  return Status::OK();
}

Result<MergeOutcome> RowMerger::Put(const PutShape& shape, std::optional<std::string_view> old_row,
                                    std::span<const Part> parts, const std::string_view* row,
                                    MergeScratch* scratch) const {
  CHECK(parts.size() == key_column_.size());
  RETURN_NOT_OK(CheckNulls(parts));
  const bool keeps = shape.if_absent || shape.engine == MergeEngine::kFirstRow;
  if (keeps && old_row.has_value()) return MergeOutcome{};
  if (shape.engine == MergeEngine::kVersioned && old_row.has_value()) {
    ASSIGN_OR_RAISE(const bool older, IsOlder(parts, *old_row));
    if (older) return MergeOutcome{};
  }
  if (shape.engine == MergeEngine::kAggregation && old_row.has_value())
    return Aggregate(shape, *old_row, parts, scratch);
  RETURN_NOT_OK(CheckFirst(shape, parts));
  if (!shape.partial()) return row != nullptr ? MergeOutcome{true, *row} : Joined(parts, scratch);
  Parts& merged = scratch->parts;
  merged.assign(parts.size(), std::nullopt);
  if (old_row.has_value()) RETURN_NOT_OK(latest_.codec.SplitInto(*old_row, merged));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (shape.target[i]) merged[i] = parts[i];
  }
  if (rules_.auto_column >= 0 && !old_row.has_value()) RETURN_NOT_OK(SetId(scratch));
  return Joined(merged, scratch);
}

Result<MergeOutcome> RowMerger::Aggregate(const PutShape& shape, std::string_view old_row,
                                          std::span<const Part> parts,
                                          MergeScratch* scratch) const {
  Parts& merged = scratch->parts;
  merged.resize(parts.size());
  scratch->values.resize(parts.size());
  RETURN_NOT_OK(latest_.codec.SplitInto(old_row, merged));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (key_column_[i] || (shape.partial() && !shape.target[i])) continue;
    ASSIGN_OR_RAISE(merged[i], aggregators_[i].Fold(merged[i], parts[i], &scratch->values[i]));
  }
  if (!CheckNulls(merged).ok()) {
    return Error(ErrorCode::kInvalidTable,
                 "a decimal of a NOT NULL column has become too large for it");
  }
  return Joined(merged, scratch);
}

// What is stored without a fold, by puts that overwrite too, is what later puts fold into.
Status RowMerger::CheckFirst(const PutShape& shape, std::span<const Part> parts) const {
  for (size_t i = 0; i < aggregators_.size(); ++i) {
    if (key_column_[i] || (shape.partial() && !shape.target[i])) continue;
    RETURN_NOT_OK(aggregators_[i].CheckFirst(parts[i]));
  }
  return Status::OK();
}

// The bytes of an INT or BIGINT part, which the next merge uses anew.
Status RowMerger::SetId(MergeScratch* scratch) const {
  CHECK(scratch->ids != nullptr);
  const auto at = static_cast<size_t>(rules_.auto_column);
  const bool wide = latest_.codec.columns()[at]->kind() == types::TypeKind::kBigInt;
  const int64_t id = scratch->ids->Take();
  if (!wide && id > std::numeric_limits<int32_t>::max()) {
    return Error(ErrorCode::kInvalidTable, "an auto-increment column has no values left column=",
                 latest_.schema->columns[at].name);
  }
  types::PartValue(latest_.codec.format(), latest_.codec.columns()[at])
      .PutInteger(id, &scratch->id);
  scratch->parts[at] = scratch->id;
  return Status::OK();
}

Result<MergeOutcome> RowMerger::Delete(const PutShape& shape,
                                       std::optional<std::string_view> old_row,
                                       MergeScratch* scratch) const {
  if (!old_row.has_value()) return MergeOutcome{};
  if (!shape.partial()) return MergeOutcome{true, std::nullopt};
  Parts& left = scratch->parts;
  left.resize(key_column_.size());
  RETURN_NOT_OK(latest_.codec.SplitInto(*old_row, left));
  bool any = false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (key_column_[i]) continue;
    if (shape.target[i]) left[i] = std::nullopt;
    any = any || left[i].has_value();
  }
  if (!any) return MergeOutcome{true, std::nullopt};
  return Joined(left, scratch);
}

MergeOutcome RowMerger::Joined(std::span<const Part> parts, MergeScratch* scratch) const {
  latest_.codec.JoinInto(parts, &scratch->row);
  return MergeOutcome{true, scratch->row};
}

Status RowMerger::CheckNulls(std::span<const Part> parts) const {
  const auto& columns = latest_.schema->columns;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].has_value() || (columns[i].type->nullable() && !key_column_[i])) continue;
    return Corrupt("null in a column that takes none column=", columns[i].name);
  }
  return Status::OK();
}

// NULL is the smallest version; an equal version wins.
Result<bool> RowMerger::IsOlder(std::span<const Part> parts, std::string_view old_row) const {
  const auto position = static_cast<size_t>(rules_.version_column);
  ASSIGN_OR_RAISE(const Parts old_parts, latest_.codec.Split(old_row));
  if (!old_parts[position].has_value()) return false;
  if (!parts[position].has_value()) return true;
  const types::PartValue version(latest_.codec.format(), latest_.codec.columns()[position]);
  ASSIGN_OR_RAISE(const types::PartValue::Time now, OrderOf(version, *parts[position]));
  ASSIGN_OR_RAISE(const types::PartValue::Time before, OrderOf(version, *old_parts[position]));
  return now < before;
}

}  // namespace sluice::kv
