#include "lake/paimon/pruning.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "lake/paimon/binary_row.h"
#include "types/row.h"

namespace sluice::lake::paimon {
namespace {

constexpr size_t kBucketKeysMax = 64;  // Combinations of IN lists that are worth hashing.

// Columns of the file's own version that its statistics speak of, in order.
std::vector<types::Column> ColumnsWithStats(const LakeSchema& schema, const DataFileMeta& file) {
  if (!file.value_stats_columns.has_value()) return schema.columns;
  std::vector<types::Column> columns;
  for (const std::string& name : *file.value_stats_columns) {
    const int at = schema.IndexOf(name);
    if (at < 0) return {};
    columns.push_back(schema.columns[static_cast<size_t>(at)]);
  }
  return columns;
}

bool SameType(const types::Column& a, const types::Column& b) {
  return a.type->WithNullable(true)->Equals(*b.type->WithNullable(true));
}

// Empty when rows are not placed by the hash that we know.
std::vector<std::string> BucketKeys(const LakeSchema& schema) {
  if (schema.Option("bucket-function.type", "default") != "default") return {};
  const std::string option = schema.Option("bucket-key");
  if (option.empty()) return schema.TrimmedPrimaryKey();
  std::vector<std::string> keys;
  for (size_t at = 0; at <= option.size();) {
    const size_t comma = std::min(option.find(',', at), option.size());
    keys.push_back(option.substr(at, comma - at));
    at = comma + 1;
  }
  return keys;
}

}  // namespace

Pruner::Pruner(SchemaStore& schemas, const LakeSchema& newest,
               const std::vector<Predicate>& predicates)
    : schemas_(schemas), newest_(newest) {
  for (const Predicate& predicate : predicates) {
    const int at = newest.IndexOf(predicate.column);
    if (at < 0) continue;
    const auto type = newest.columns[static_cast<size_t>(at)].type->ToArrow();
    // Counts of NULLs in nested columns speak of their elements.
    if (arrow::is_nested(type->id())) continue;
    // Equal reals may differ in bytes (0.0 and -0.0), so they tell no bucket either.
    const bool ours = std::ranges::all_of(predicate.values, [&](const auto& value) {
      return value->type->Equals(*type) && OrderedValueOf(*value).has_value();
    });
    if (ours) predicates_.push_back(predicate);
  }
}

std::vector<Predicate> Pruner::OnKeys() const {
  const auto keys = newest_.TrimmedPrimaryKey();
  std::vector<Predicate> on_keys;
  std::ranges::copy_if(predicates_, std::back_inserter(on_keys), [&](const Predicate& predicate) {
    return std::ranges::find(keys, predicate.column) != keys.end();
  });
  return on_keys;
}

Result<bool> Pruner::MayHoldPartition(const std::string& partition) const {
  if (newest_.partition_keys.empty()) return true;
  ASSIGN_OR_RAISE(const auto values,
                  DecodeRow(TypesOf(newest_, newest_.partition_keys), partition));
  for (const Predicate& predicate : predicates_) {
    const auto at = std::ranges::find(newest_.partition_keys, predicate.column);
    if (at == newest_.partition_keys.end()) continue;
    const auto& value = values[static_cast<size_t>(at - newest_.partition_keys.begin())];
    ASSIGN_OR_RAISE(const auto scalar, value->GetScalar(0));
    const auto ordered = OrderedValueOf(*scalar);
    if (!MayMatch(predicate, {ordered, ordered, value->null_count(), 1})) return false;
  }
  return true;
}

Result<bool> Pruner::MayHoldBucket(int32_t bucket, int32_t total_buckets) const {
  const auto keys = BucketKeys(newest_);
  if (total_buckets < 1 || keys.empty()) return true;
  std::vector<std::vector<std::shared_ptr<arrow::Scalar>>> rows{{}};
  arrow::FieldVector fields;
  for (const std::string& key : keys) {
    const auto fixed = std::ranges::find_if(predicates_, [&](const Predicate& predicate) {
      return predicate.column == key &&
             (predicate.op == Predicate::Op::kEqual || predicate.op == Predicate::Op::kIn);
    });
    if (fixed == predicates_.end() || rows.size() * fixed->values.size() > kBucketKeysMax)
      return true;
    std::vector<std::vector<std::shared_ptr<arrow::Scalar>>> longer;
    for (const auto& row : rows) {
      for (const auto& value : fixed->values) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
    fields.push_back(arrow::field(key, fixed->values.front()->type));
  }
  ASSIGN_OR_RAISE(const auto encoder,
                  types::KeyEncoder::Make(types::KeyFormat::kPaimon, TypesOf(newest_, keys), true));
  std::vector<int> positions;
  for (size_t i = 0; i < keys.size(); ++i) positions.push_back(static_cast<int>(i));
  for (const auto& row : rows) {
    arrow::ArrayVector columns;
    for (const auto& value : row) {
      ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*value, 1));
      columns.push_back(std::move(column));
    }
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 1, std::move(columns));
    std::vector<std::string> encoded;
    RETURN_NOT_OK(encoder.Encode(*batch, positions, &encoded));
    if (types::BucketOf("paimon", encoded.front(), total_buckets) == bucket) return true;
  }
  return false;
}

Result<bool> Pruner::MayHold(const SimpleStats& stats, const std::vector<types::Column>& columns,
                             int64_t row_count) const {
  std::vector<types::DataTypePtr> types;
  for (const types::Column& column : columns) types.push_back(column.type->WithNullable(true));
  const auto least = DecodeRow(types, stats.min_values);
  const auto greatest = DecodeRow(types, stats.max_values);
  if (!least.ok() || !greatest.ok()) return true;  // Written without statistics.
  for (const Predicate& predicate : predicates_) {
    const types::Column& column =
        newest_.columns[static_cast<size_t>(newest_.IndexOf(predicate.column))];
    const auto at = std::ranges::find(columns, column.id, &types::Column::id);
    if (at == columns.end() || !SameType(*at, column)) continue;
    const auto i = static_cast<size_t>(at - columns.begin());
    ASSIGN_OR_RAISE(const auto min, (*least)[i]->GetScalar(0));
    ASSIGN_OR_RAISE(const auto max, (*greatest)[i]->GetScalar(0));
    ColumnRange range{OrderedValueOf(*min), OrderedValueOf(*max), std::nullopt, row_count};
    if (i < stats.null_counts.size()) range.null_count = stats.null_counts[i];
    if (!MayMatch(predicate, range)) return false;
  }
  return true;
}

Result<bool> Pruner::MayHoldKeys(const ManifestEntry& entry) const {
  if (predicates_.empty() || !newest_.has_primary_key()) return true;
  ASSIGN_OR_RAISE(const auto schema, schemas_.ById(entry.file.schema_id));
  std::vector<types::Column> columns;
  for (const std::string& key : schema->TrimmedPrimaryKey())
    columns.push_back(schema->columns[static_cast<size_t>(schema->IndexOf(key))]);
  return MayHold(entry.file.key_stats, columns, entry.file.row_count);
}

Result<bool> Pruner::MayHoldRows(const ManifestEntry& entry) const {
  if (predicates_.empty()) return true;
  ASSIGN_OR_RAISE(const auto schema, schemas_.ById(entry.file.schema_id));
  return MayHold(entry.file.value_stats, ColumnsWithStats(*schema, entry.file),
                 entry.file.row_count);
}

}  // namespace sluice::lake::paimon
