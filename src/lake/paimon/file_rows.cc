#include "lake/paimon/file_rows.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/util/byte_size.h>

#include "lake/paimon/binary_row.h"

namespace sluice::lake::paimon {
namespace {

// The predicates on columns that the file has in their present type: by their names there, values
// as Parquet stores them.
Result<std::vector<Predicate>> InFileForm(const std::vector<Predicate>& predicates,
                                          const LakeSchema& newest, const LakeSchema& in_file) {
  std::vector<Predicate> usable;
  for (Predicate predicate : predicates) {
    const int at = newest.IndexOf(predicate.column);
    if (at < 0) continue;
    const types::Column& column = newest.columns[static_cast<size_t>(at)];
    const int old = in_file.IndexOfId(column.id);
    if (old < 0) continue;
    const types::Column& there = in_file.columns[static_cast<size_t>(old)];
    if (!there.type->WithNullable(true)->Equals(*column.type->WithNullable(true))) continue;
    predicate.column = there.name;
    for (auto& value : predicate.values) {
      ASSIGN_OR_RAISE(const auto array, arrow::MakeArrayFromScalar(*value, 1));
      ASSIGN_OR_RAISE(const auto stored, Conform(array, FileArrowType(*column.type)));
      ASSIGN_OR_RAISE(value, stored->GetScalar(0));
    }
    usable.push_back(std::move(predicate));
  }
  return usable;
}

}  // namespace

Result<std::unique_ptr<FileRowsReader>> FileRowsReader::Open(
    const ReadContext& context, const LakeSchema& newest, const std::vector<types::Column>& columns,
    const ManifestEntry& entry, const std::string& path, bool with_keys, BatchSize batch,
    const std::vector<Predicate>& predicates) {
  if (!path.ends_with(".parquet")) {
    return Error(ErrorCode::kInvalidTable,
                 "lake file has a format that is not supported, path=", path);
  }
  ASSIGN_OR_RAISE(const auto schema, context.schemas.ById(entry.file.schema_id));
  std::unique_ptr<FileRowsReader> reader(new FileRowsReader());
  reader->path_ = path;
  reader->columns_ = columns;
  reader->with_keys_ = with_keys;
  std::vector<std::string> names;
  std::vector<std::string> wanted(
      columns.size());  // Name in the file, empty = its schema lacks the column.
  for (size_t i = 0; i < columns.size(); ++i) {
    const int at = schema->IndexOfId(columns[i].id);
    if (at >= 0) names.push_back(wanted[i] = schema->columns[static_cast<size_t>(at)].name);
  }
  const std::vector<std::string> key_names =
      with_keys ? schema->TrimmedPrimaryKey() : std::vector<std::string>();
  if (with_keys) {
    std::ranges::copy(key_names, std::back_inserter(names));
    names.emplace_back(kSequenceColumn);
    names.emplace_back(kKindColumn);
  }
  ASSIGN_OR_RAISE(const auto in_file_form, InFileForm(predicates, newest, *schema));
  ASSIGN_OR_RAISE(reader->file_, ParquetFileReader::Open(context.files, path, names, batch,
                                                         in_file_form, context.counts));
  const arrow::Schema& in_file = *reader->file_->schema();
  const auto source = [&](const std::string& name) {
    Source found;
    if (name.empty()) return found;
    found.position = in_file.GetFieldIndex(name);
    found.type = schema->columns[static_cast<size_t>(schema->IndexOf(name))].type;
    return found;
  };
  for (const std::string& name : wanted) reader->sources_.push_back(source(name));
  for (const std::string& name : key_names) reader->keys_.push_back(source(name));
  if (with_keys) {
    reader->sequence_position_ = in_file.GetFieldIndex(std::string(kSequenceColumn));
    reader->kind_position_ = in_file.GetFieldIndex(std::string(kKindColumn));
    const bool whole =
        reader->sequence_position_ >= 0 && reader->kind_position_ >= 0 &&
        std::ranges::all_of(reader->keys_, [](const Source& key) { return key.position >= 0; });
    if (!whole) return Corrupt("lake file lacks its key, sequence or kind columns, path=", path);
  }
  RETURN_NOT_OK(reader->FindPartitionValues(newest, entry.partition));
  return reader;
}

Status FileRowsReader::FindPartitionValues(const LakeSchema& newest, const std::string& partition) {
  const auto types = TypesOf(newest, newest.partition_keys);
  ASSIGN_OR_RAISE(const auto values, DecodeRow(types, partition));
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (sources_[i].position >= 0) continue;
    const auto at = std::ranges::find(newest.partition_keys, columns_[i].name);
    if (at == newest.partition_keys.end()) continue;
    ASSIGN_OR_RAISE(sources_[i].constant,
                    Conform(values[static_cast<size_t>(at - newest.partition_keys.begin())],
                            LakeArrowType(*columns_[i].type)));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> FileRowsReader::ColumnOf(const arrow::RecordBatch& batch,
                                                               size_t i) const {
  const Source& source = sources_[i];
  if (source.position >= 0)
    return Evolve(batch.column(source.position), *source.type, *columns_[i].type);
  if (source.constant == nullptr)
    return arrow::MakeArrayOfNull(LakeArrowType(*columns_[i].type), batch.num_rows());
  ASSIGN_OR_RAISE(const auto value, source.constant->GetScalar(0));
  return arrow::MakeArrayFromScalar(*value, batch.num_rows());
}

Status FileRowsReader::AddKeys(const arrow::RecordBatch& batch, FileRows* rows) const {
  std::vector<std::shared_ptr<arrow::Array>> keys;
  for (const Source& key : keys_) {
    ASSIGN_OR_RAISE(auto column, Conform(batch.column(key.position), FileArrowType(*key.type)));
    keys.push_back(std::move(column));
  }
  RETURN_NOT_OK(rows->keys.Append(keys, batch.num_rows()));
  ASSIGN_OR_RAISE(const auto sequences, Conform(batch.column(sequence_position_), arrow::int64()));
  ASSIGN_OR_RAISE(const auto kinds, Conform(batch.column(kind_position_), arrow::int8()));
  rows->sequences = std::static_pointer_cast<arrow::Int64Array>(sequences);
  rows->kinds = std::static_pointer_cast<arrow::Int8Array>(kinds);
  return Status::OK();
}

Result<std::unique_ptr<FileRows>> FileRowsReader::Next() {
  auto read = file_->Next();
  if (!read.ok())
    return read.status().WithMessage("lake file cannot be read, path=", path_, ": ",
                                     read.status().message());
  const std::shared_ptr<arrow::RecordBatch> batch = std::move(read).ValueUnsafe();
  if (batch == nullptr) return nullptr;
  auto rows = std::make_unique<FileRows>();
  rows->count = batch->num_rows();
  for (size_t i = 0; i < columns_.size(); ++i) {
    auto column = ColumnOf(*batch, i);
    if (!column.ok()) {
      return column.status().WithMessage("lake column cannot be read, column=", columns_[i].name,
                                         " path=", path_, ": ", column.status().message());
    }
    rows->columns.push_back(std::move(column).ValueUnsafe());
  }
  if (with_keys_) RETURN_NOT_OK(AddKeys(*batch, rows.get()));
  for (const auto& column : rows->columns)
    rows->size_bytes += arrow::util::ReferencedBufferSize(*column).ValueOr(0);
  rows->size_bytes += static_cast<int64_t>(rows->keys.size_bytes());
  return rows;
}

}  // namespace sluice::lake::paimon
