#include "lake/paimon/system_tables.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <nlohmann/json.hpp>

#include "lake/paimon/binary_row.h"
#include "lake/paimon/data_writer.h"
#include "lake/paimon/plan.h"

namespace sluice::lake {
namespace {

using types::Column;
using types::DataType;
using types::TypeKind;

Column Make(const char* name, types::DataTypePtr type) { return {name, std::move(type), "", -1}; }
Column Long(const char* name, bool nullable = false) {
  return Make(name, DataType::Of(TypeKind::kBigInt, nullable));
}
Column Text(const char* name, bool nullable = false) {
  return Make(name, DataType::Of(TypeKind::kString, nullable));
}
Column Int(const char* name) { return Make(name, DataType::Of(TypeKind::kInteger, false)); }
Column Time(const char* name, bool nullable = false) {
  return Make(name, DataType::Timestamp(3, nullable));
}

std::vector<Column> SnapshotColumns() {
  return {Long("snapshot_id"),
          Long("schema_id"),
          Text("commit_user"),
          Long("commit_identifier"),
          Text("commit_kind"),
          Time("commit_time"),
          Text("base_manifest_list"),
          Text("delta_manifest_list"),
          Text("changelog_manifest_list", true),
          Long("total_record_count", true),
          Long("delta_record_count", true),
          Long("changelog_record_count", true),
          Long("watermark", true),
          Long("next_row_id", true)};
}
std::vector<Column> SchemaColumns() {
  return {Long("schema_id"), Text("fields"),        Text("partition_keys"), Text("primary_keys"),
          Text("options"),   Text("comment", true), Time("update_time")};
}
std::vector<Column> OptionColumns() { return {Text("key"), Text("value")}; }
std::vector<Column> FileColumns() {
  return {Text("partition", true),
          Int("bucket"),
          Text("file_path"),
          Text("file_format"),
          Long("schema_id"),
          Int("level"),
          Long("record_count"),
          Long("file_size_in_bytes"),
          Long("min_sequence_number", true),
          Long("max_sequence_number", true),
          Time("creation_time", true),
          Long("deleteRowCount", true)};
}

}  // namespace

Result<std::vector<types::Column>> SystemTableColumns(std::string_view name) {
  if (name == "snapshots") return SnapshotColumns();
  if (name == "schemas") return SchemaColumns();
  if (name == "options") return OptionColumns();
  if (name == "files") return FileColumns();
  return Error(ErrorCode::kTableNotExist, "lake tables have no such system table, name=", name);
}

namespace paimon {
namespace {

// Rows of a system table, cell by cell in column order.
class TableRows {
 public:
  explicit TableRows(std::string_view name) : columns_(SystemTableColumns(name).ValueOrDie()) {
    arrow::FieldVector fields;
    for (const types::Column& column : columns_) {
      fields.push_back(
          arrow::field(column.name, LakeArrowType(*column.type), column.type->nullable()));
    }
    schema_ = arrow::schema(fields);
    for (const auto& field : fields)
      builders_.push_back(arrow::MakeBuilder(field->type()).ValueOrDie());
  }

  TableRows& Add(const std::optional<int64_t>& value) {
    arrow::ArrayBuilder& builder = Builder();
    if (!value.has_value()) return Keep(builder.AppendNull());
    switch (builder.type()->id()) {
      case arrow::Type::INT32:
        return Keep(
            static_cast<arrow::Int32Builder&>(builder).Append(static_cast<int32_t>(*value)));
      case arrow::Type::TIMESTAMP:
        return Keep(static_cast<arrow::TimestampBuilder&>(builder).Append(*value));
      default:
        return Keep(static_cast<arrow::Int64Builder&>(builder).Append(*value));
    }
  }
  TableRows& Add(int64_t value) { return Add(std::optional(value)); }
  TableRows& Add(const std::string& value) {
    return Keep(static_cast<arrow::StringBuilder&>(Builder()).Append(value));
  }
  TableRows& AddOrNull(const std::string& value) {
    return value.empty() ? Keep(Builder().AppendNull()) : Add(value);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Finish() {
    RETURN_NOT_OK(status_);
    arrow::ArrayVector arrays;
    for (auto& builder : builders_) {
      ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    const int64_t rows = arrays.front()->length();
    return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
  }

 private:
  arrow::ArrayBuilder& Builder() { return *builders_[next_++ % builders_.size()]; }
  TableRows& Keep(const Status& status) {
    if (status_.ok()) status_ = status;
    return *this;
  }

  std::vector<types::Column> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  size_t next_ = 0;
  Status status_;
};

std::string JsonText(const std::string& document, const char* key) {
  const auto json = nlohmann::ordered_json::parse(document, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains(key) ? json[key].dump() : "";
}

std::string PartitionCell(const std::vector<std::optional<std::string>>& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ", ") + values[i].value_or("null");
  return text + "}";
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> SnapshotsTable(const SnapshotStore& snapshots) {
  TableRows rows("snapshots");
  ASSIGN_OR_RAISE(const auto ids, snapshots.Ids());
  for (const int64_t id : ids) {
    ASSIGN_OR_RAISE(const auto found, snapshots.Find(id));
    if (!found.has_value()) continue;  // Expired meanwhile.
    const LakeSnapshot& s = *found;
    rows.Add(s.id).Add(s.schema_id).Add(s.commit_user).Add(s.commit_identifier).Add(s.commit_kind);
    rows.Add(LocalWallClockMs(s.time_ms)).Add(s.base_manifest_list).Add(s.delta_manifest_list);
    rows.AddOrNull(s.changelog_manifest_list).Add(s.total_records).Add(s.delta_records);
    rows.Add(s.changelog_records).Add(s.watermark).Add(s.next_row_id);
  }
  return rows.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> SchemasTable(SchemaStore& schemas) {
  TableRows rows("schemas");
  ASSIGN_OR_RAISE(const auto ids, schemas.Ids());
  for (const int64_t id : ids) {
    ASSIGN_OR_RAISE(const std::string text, schemas.Text(id));
    ASSIGN_OR_RAISE(const auto schema, schemas.ById(id));
    rows.Add(id)
        .Add(JsonText(text, "fields"))
        .Add(JsonText(text, "partitionKeys"))
        .Add(JsonText(text, "primaryKeys"));
    rows.Add(JsonText(text, "options"))
        .AddOrNull(schema->comment)
        .Add(LocalWallClockMs(schema->time_ms));
  }
  return rows.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> OptionsTable(const LakeSchema& schema) {
  TableRows rows("options");
  for (const auto& [key, value] : schema.options) rows.Add(key).Add(value);
  return rows.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> FilesTable(const TablePaths& paths,
                                                       const LakeSchema& schema,
                                                       const LiveFiles& live) {
  TableRows rows("files");
  const auto types = TypesOf(schema, schema.partition_keys);
  for (const ManifestEntry& entry : live) {
    ASSIGN_OR_RAISE(const auto partition, PartitionTexts(types, entry.partition));
    ASSIGN_OR_RAISE(const std::string folder, PartitionFolder(schema, entry.partition));
    const std::string path = PathOf(entry, paths.Bucket(folder, entry.bucket));
    rows.Add(PartitionCell(partition))
        .Add(entry.bucket)
        .Add(path)
        .Add(path.substr(path.rfind('.') + 1));
    rows.Add(entry.file.schema_id)
        .Add(entry.file.level)
        .Add(entry.file.row_count)
        .Add(entry.file.size_bytes);
    rows.Add(entry.file.min_sequence).Add(entry.file.max_sequence).Add(entry.file.creation_time_ms);
    rows.Add(entry.file.delete_row_count);
  }
  return rows.Finish();
}

}  // namespace paimon
}  // namespace sluice::lake
