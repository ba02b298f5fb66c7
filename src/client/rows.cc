#include <arrow/array/array_base.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <map>
#include <numeric>

#include "client/admin.h"
#include "client/rows_internal.h"
#include "types/table_options.h"

namespace sluice::client {

Result<RowRouter> RowRouter::Make(const types::TableInfo& table) {
  RowRouter router;
  const types::Schema& schema = table.descriptor.schema;
  router.columns_ = schema.columns;
  ASSIGN_OR_RAISE(const types::KeyPlan plan, types::PlanKeys(table.descriptor));
  ASSIGN_OR_RAISE(router.partition_columns_, schema.IndexesOf(table.descriptor.partition_keys));
  router.lake_format_ = plan.lake_format;
  router.bucket_count_ = table.descriptor.bucket_count.value_or(1);
  if (plan.bucket_keys.empty()) return router;
  ASSIGN_OR_RAISE(router.bucket_columns_, schema.IndexesOf(plan.bucket_keys));
  std::vector<types::DataTypePtr> types;
  for (const int column : router.bucket_columns_) types.push_back(schema.columns[column].type);
  ASSIGN_OR_RAISE(router.encoder_,
                  types::KeyEncoder::Make(plan.bucket_key_format, std::move(types),
                                          /*null_allowed=*/!schema.has_primary_key()));
  return router;
}

namespace {

/// Where the columns that decide are in the batch.
Result<std::vector<int>> Locate(const std::vector<int>& columns, const std::vector<int>& positions,
                                const std::vector<types::Column>& schema) {
  std::vector<int> located;
  for (const int column : columns) {
    const int position = positions[static_cast<size_t>(column)];
    if (position < 0)
      return Error(ErrorCode::kInvalidTable, "rows lack a key column column=", schema[column].name);
    located.push_back(position);
  }
  return located;
}

}  // namespace

Result<std::vector<std::string>> RowRouter::PartitionNames(
    const arrow::RecordBatch& rows, const std::vector<int>& positions) const {
  ASSIGN_OR_RAISE(const auto located, Locate(partition_columns_, positions, columns_));
  std::vector<std::string> names(static_cast<size_t>(rows.num_rows()));
  for (size_t i = 0; i < located.size(); ++i) {
    const types::Column& column = columns_[static_cast<size_t>(partition_columns_[i])];
    const auto array = rows.column(located[i]);
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      ASSIGN_OR_RAISE(const std::string text, types::PartitionText(*column.type, *array, row));
      const std::string problem = types::NameProblem(text, /*creating=*/true);
      if (!problem.empty()) {
        return Error(ErrorCode::kPartitionSpecInvalid,
                     "value cannot name a partition column=", column.name, " value=", text, ": ",
                     problem);
      }
      names[static_cast<size_t>(row)] += (i == 0 ? "" : "$") + text;
    }
  }
  return names;
}

Result<std::vector<int32_t>> RowRouter::Buckets(const arrow::RecordBatch& rows,
                                                const std::vector<int>& positions) const {
  if (!encoder_) return std::vector<int32_t>();
  ASSIGN_OR_RAISE(const auto located, Locate(bucket_columns_, positions, columns_));
  std::vector<std::string> keys;
  RETURN_NOT_OK(encoder_->Encode(rows, located, &keys));
  std::vector<int32_t> buckets;
  buckets.reserve(keys.size());
  for (const std::string& key : keys)
    buckets.push_back(types::BucketOf(lake_format_, key, bucket_count_));
  return buckets;
}

Result<std::vector<RoutedRows>> RowRouter::Route(const arrow::RecordBatch& rows,
                                                 const std::vector<int>& positions) const {
  if (rows.num_rows() == 0) return std::vector<RoutedRows>();
  std::vector<std::string> names;
  if (!partition_columns_.empty()) {
    ASSIGN_OR_RAISE(names, PartitionNames(rows, positions));
  }
  ASSIGN_OR_RAISE(const std::vector<int32_t> buckets, Buckets(rows, positions));
  std::map<std::pair<std::string_view, int32_t>, size_t> groups;
  std::vector<RoutedRows> routed;
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    const auto at = static_cast<size_t>(row);
    const std::string_view name = names.empty() ? std::string_view() : names[at];
    const int32_t bucket = buckets.empty() ? -1 : buckets[at];
    const auto [group, is_new] = groups.try_emplace({name, bucket}, routed.size());
    if (is_new) routed.push_back({std::string(name), bucket, {}, false});
    routed[group->second].rows.push_back(row);
  }
  if (routed.size() == 1) routed[0].whole = true;
  return routed;
}

namespace {

/// Types hold the same values the same way; names and nullability of nested fields do not matter.
bool SameLayout(const arrow::DataType& a, const arrow::DataType& b) {
  if (a.id() != b.id()) return false;
  if (a.num_fields() == 0) return a.Equals(b);
  if (a.num_fields() != b.num_fields()) return false;
  for (int i = 0; i < a.num_fields(); ++i) {
    if (!SameLayout(*a.field(i)->type(), *b.field(i)->type())) return false;
  }
  return true;
}

}  // namespace

Status CheckRows(const arrow::RecordBatch& rows, const std::vector<types::Column>& columns) {
  if (static_cast<size_t>(rows.num_columns()) != columns.size()) {
    return Error(ErrorCode::kInvalidTable,
                 "rows have another number of columns expected=", columns.size(),
                 " got=", rows.num_columns());
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto& array = *rows.column(static_cast<int>(i));
    const auto expected = columns[i].type->ToArrow();
    if (!SameLayout(*array.type(), *expected)) {
      return Error(ErrorCode::kInvalidTable, "rows have another type column=", columns[i].name,
                   " expected=", expected->ToString(), " got=", array.type()->ToString());
    }
    if (!columns[i].type->nullable() && array.null_count() > 0) {
      return Error(ErrorCode::kInvalidTable, "null in a NOT NULL column column=", columns[i].name);
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int64_t>& positions) {
  arrow::Int64Builder builder;
  RETURN_NOT_OK(builder.AppendValues(positions));
  ASSIGN_OR_RAISE(const auto indices, builder.Finish());
  ASSIGN_OR_RAISE(const arrow::Datum taken,
                  arrow::compute::Take(arrow::Datum(batch), arrow::Datum(indices),
                                       arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.record_batch();
}

std::vector<int> AllPositions(size_t count) {
  std::vector<int> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

Result<std::shared_ptr<arrow::RecordBatch>> AdaptRows(const arrow::RecordBatch& rows,
                                                      const types::Schema& from,
                                                      const types::Schema& to) {
  CHECK(static_cast<size_t>(rows.num_columns()) == from.columns.size());
  arrow::ArrayVector columns;
  for (const types::Column& column : to.columns) {
    const auto source = std::ranges::find(from.columns, column.id, &types::Column::id);
    if (source != from.columns.end()) {
      columns.push_back(rows.column(static_cast<int>(source - from.columns.begin())));
    } else {
      ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(column.type->ToArrow(), rows.num_rows()));
      columns.push_back(std::move(nulls));
    }
  }
  return arrow::RecordBatch::Make(to.ToArrow(), rows.num_rows(), std::move(columns));
}

Result<std::shared_ptr<arrow::RecordBatch>> Concatenate(
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
    const std::shared_ptr<arrow::Schema>& schema) {
  if (batches.size() == 1) return batches[0];
  if (batches.empty()) return arrow::RecordBatch::MakeEmpty(schema);
  return arrow::ConcatenateRecordBatches(batches);
}

io::Task<Result<std::shared_ptr<arrow::RecordBatch>>> DecodeValues(
    io::Loop& loop, ClusterPtr cluster, TableMetaPtr table, std::vector<wire::StoredValue> values) {
  const types::Schema& latest = table->info.descriptor.schema;
  CO_ASSIGN_OR_RETURN(const types::RowFormat format, types::KvFormatOf(table->info.descriptor));
  const auto arrow_schema = latest.ToArrow();
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  // Runs of one schema id keep the order.
  for (size_t from = 0; from < values.size();) {
    const int16_t schema_id = values[from].schema_id;
    std::vector<std::string_view> rows;
    size_t to = from;
    for (; to < values.size() && values[to].schema_id == schema_id; ++to)
      rows.push_back(values[to].row);
    from = to;
    if (schema_id == table->info.schema_id) {
      const types::RowCodec codec(format, TypesOf(latest.columns));
      CO_ASSIGN_OR_RETURN(const auto batch, codec.Decode(rows));
      parts.push_back(arrow::RecordBatch::Make(arrow_schema, batch->num_rows(), batch->columns()));
      continue;
    }
    CO_ASSIGN_OR_RETURN(const auto schema,
                        co_await cluster->Schema(loop, table->info.path, schema_id));
    const types::RowCodec codec(format, TypesOf(schema->columns));
    CO_ASSIGN_OR_RETURN(const auto batch, codec.Decode(rows));
    CO_ASSIGN_OR_RETURN(auto adapted, AdaptRows(*batch, *schema, latest));
    parts.push_back(std::move(adapted));
  }
  co_return Concatenate(std::move(parts), arrow_schema);
}

io::Task<Result<PartitionMetaPtr>> FindPartition(io::Loop& loop, ClusterPtr cluster,
                                                 TableMetaPtr table, std::string name,
                                                 bool create) {
  const types::TablePath path = table->info.path;
  Result<PartitionMetaPtr> found = co_await cluster->Partition(loop, path, name);
  if (found.ok() || !create || CodeOf(found.status()) != ErrorCode::kPartitionNotExists)
    co_return found;
  PartitionSpec spec;
  std::string_view rest = name;
  for (const std::string& key : table->info.descriptor.partition_keys) {
    const size_t end = rest.find('$');
    spec[key] = std::string(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  Admin admin(cluster);
  CO_RETURN_NOT_OK(
      co_await admin.CreatePartition(loop, path, std::move(spec), /*ignore_if_exists=*/true));
  co_return co_await cluster->Partition(loop, path, name);
}

}  // namespace sluice::client
