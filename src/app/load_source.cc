#include "app/load_source.h"

#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/csv/options.h>
#include <arrow/csv/reader.h>
#include <arrow/datum.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/value_parsing.h>
#include <parquet/arrow/reader.h>

#include <algorithm>

namespace sluice::app {
namespace {

constexpr int32_t kCsvBlockBytes = 4 << 20;

bool IsParquet(const std::string& path, const LoadOptions& options) {
  return options.format.empty() ? path.ends_with(".parquet") : options.format == "parquet";
}

Status InFile(const Status& status, const std::string& path) {
  // Arrow's words name its own options.
  if (status.message().find("straddling") != std::string::npos) {
    return Error(ErrorCode::kInvalidTable,
                 "a row of the file is too long bytes_max=", kCsvBlockBytes, " file=", path);
  }
  if (status.message().find("cannot infer number of columns") != std::string::npos)
    return Error(ErrorCode::kInvalidTable, "the file has no head line file=", path);
  return Error(ErrorCode::kInvalidTable, status.message(), " file=", path);
}

Result<std::shared_ptr<arrow::io::ReadableFile>> OpenFile(const std::string& path) {
  auto file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) return InFile(file.status(), path);
  return file;
}

Result<std::shared_ptr<arrow::csv::StreamingReader>> OpenCsv(
    const std::string& path, const LoadOptions& options, const arrow::csv::ConvertOptions& convert,
    std::vector<std::string> names) {
  ASSIGN_OR_RAISE(auto file, OpenFile(path));
  auto read = arrow::csv::ReadOptions::Defaults();
  read.block_size = kCsvBlockBytes;
  read.column_names = std::move(names);
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.delimiter = options.delimiter;
  parse.newlines_in_values = true;
  auto reader = arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), std::move(file),
                                                  read, parse, convert);
  if (!reader.ok()) return InFile(reader.status(), path);
  return reader;
}

class CsvSource : public LoadSource {
 public:
  static Result<std::unique_ptr<LoadSource>> Open(const std::string& path,
                                                  const std::vector<types::Column>& columns,
                                                  const LoadOptions& options) {
    auto convert = arrow::csv::ConvertOptions::Defaults();
    for (const types::Column& column : columns) {
      const auto kind = column.type->kind();
      if (kind == types::TypeKind::kArray || kind == types::TypeKind::kMap ||
          kind == types::TypeKind::kRow) {
        return Error(ErrorCode::kInvalidTable, "csv has no nested values column=", column.name,
                     " file=", path);
      }
      convert.include_columns.push_back(column.name);
      convert.column_types[column.name] = column.type->ToArrow();
    }
    convert.include_missing_columns = true;
    convert.null_values = options.nulls;
    convert.strings_can_be_null = true;
    convert.quoted_strings_can_be_null = false;
    // Instants are written in UTC with a Z, or without any zone.
    convert.timestamp_parsers = {arrow::TimestampParser::MakeISO8601(),
                                 arrow::TimestampParser::MakeStrptime("%Y-%m-%dT%H:%M:%SZ"),
                                 arrow::TimestampParser::MakeStrptime("%Y-%m-%d %H:%M:%SZ")};
    auto source = std::make_unique<CsvSource>();
    source->path_ = path;
    std::vector<std::string> names;
    if (!options.header) {
      for (const types::Column& column : columns) names.push_back(column.name);
    }
    ASSIGN_OR_RAISE(source->reader_, OpenCsv(path, options, convert, std::move(names)));
    ASSIGN_OR_RAISE(auto file, OpenFile(path));
    ASSIGN_OR_RAISE(source->size_bytes_, file->GetSize());
    return source;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> rows;
    const Status status = reader_->ReadNext(&rows);
    if (!status.ok()) return InFile(status, path_);
    return rows;
  }
  double fraction() const override {
    return size_bytes_ == 0 ? 1
                            : std::min(1.0, static_cast<double>(reader_->bytes_read()) /
                                                static_cast<double>(size_bytes_));
  }

 private:
  std::string path_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  int64_t size_bytes_ = 0;
};

/// `array` as `type`; nothing may get lost.
Result<std::shared_ptr<arrow::Array>> CastTo(const std::shared_ptr<arrow::Array>& array,
                                             const std::shared_ptr<arrow::DataType>& type) {
  if (array->type()->Equals(type)) return array;
  auto target = type;
  // Instants with a zone keep their instant: change the unit first, then forget the zone.
  const bool zoned =
      array->type_id() == arrow::Type::TIMESTAMP && type->id() == arrow::Type::TIMESTAMP;
  if (zoned) {
    const auto& from = static_cast<const arrow::TimestampType&>(*array->type());
    target =
        arrow::timestamp(static_cast<const arrow::TimestampType&>(*type).unit(), from.timezone());
  }
  ASSIGN_OR_RAISE(const arrow::Datum cast,
                  arrow::compute::Cast(array, target, arrow::compute::CastOptions::Safe()));
  if (!zoned) return cast.make_array();
  return cast.make_array()->View(type);
}

class ParquetSource : public LoadSource {
 public:
  static Result<std::unique_ptr<LoadSource>> Open(const std::string& path,
                                                  const std::vector<types::Column>& columns) {
    ASSIGN_OR_RAISE(auto file, OpenFile(path));
    auto source = std::make_unique<ParquetSource>();
    source->path_ = path;
    source->columns_ = columns;
    auto opened = parquet::arrow::OpenFile(std::move(file), arrow::default_memory_pool());
    if (!opened.ok()) return InFile(opened.status(), path);
    source->file_ = std::move(opened).ValueUnsafe();
    source->total_rows_ = source->file_->parquet_reader()->metadata()->num_rows();
    auto batches = source->file_->GetRecordBatchReader();
    if (!batches.ok()) return InFile(batches.status(), path);
    source->batches_ = std::move(batches).ValueUnsafe();
    return source;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> rows;
    const Status status = batches_->ReadNext(&rows);
    if (!status.ok()) return InFile(status, path_);
    if (rows == nullptr) return rows;
    read_rows_ += rows->num_rows();
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const types::Column& column : columns_) {
      const auto type = column.type->ToArrow();
      const auto present = rows->GetColumnByName(column.name);
      const auto array = present != nullptr ? CastTo(present, type)
                                            : arrow::MakeArrayOfNull(type, rows->num_rows());
      if (!array.ok()) {
        return Error(ErrorCode::kInvalidTable, array.status().message(), " column=", column.name,
                     " file=", path_);
      }
      fields.push_back(arrow::field(column.name, type));
      arrays.push_back(*array);
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows->num_rows(),
                                    std::move(arrays));
  }
  double fraction() const override {
    return total_rows_ == 0 ? 1
                            : static_cast<double>(read_rows_) / static_cast<double>(total_rows_);
  }

 private:
  std::string path_;
  std::vector<types::Column> columns_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  int64_t total_rows_ = 0;
  int64_t read_rows_ = 0;
};

Status CheckTwins(std::vector<std::string> names, const std::string& path) {
  std::ranges::sort(names);
  const auto twin = std::ranges::adjacent_find(names);
  if (twin == names.end()) return Status::OK();
  return Error(ErrorCode::kInvalidTable, "file has two columns of one name column=", *twin,
               " file=", path);
}

Status CheckNames(const std::vector<std::string>& names, const std::vector<types::Column>& columns,
                  const std::string& path) {
  for (const std::string& name : names) {
    if (std::ranges::find(columns, name, &types::Column::name) == columns.end()) {
      return Error(ErrorCode::kInvalidTable, "table lacks a column of the file column=", name,
                   " file=", path);
    }
  }
  return Status::OK();
}

}  // namespace

Result<std::vector<std::string>> ColumnNamesOf(const std::string& path,
                                               const LoadOptions& options) {
  if (!IsParquet(path, options)) {
    ASSIGN_OR_RAISE(const auto reader,
                    OpenCsv(path, options, arrow::csv::ConvertOptions::Defaults(), {}));
    return reader->schema()->field_names();
  }
  ASSIGN_OR_RAISE(auto file, OpenFile(path));
  auto opened = parquet::arrow::OpenFile(std::move(file), arrow::default_memory_pool());
  if (!opened.ok()) return InFile(opened.status(), path);
  std::shared_ptr<arrow::Schema> schema;
  const Status status = (*opened)->GetSchema(&schema);
  if (!status.ok()) return InFile(status, path);
  return schema->field_names();
}

Result<std::unique_ptr<LoadSource>> LoadSource::Open(const std::string& path,
                                                     const std::vector<types::Column>& columns,
                                                     const LoadOptions& options) {
  const bool parquet = IsParquet(path, options);
  if (parquet || options.header) {
    ASSIGN_OR_RAISE(const auto names, ColumnNamesOf(path, options));
    RETURN_NOT_OK(CheckTwins(names, path));
    if (!options.ignore_extra) RETURN_NOT_OK(CheckNames(names, columns, path));
  }
  return parquet ? ParquetSource::Open(path, columns) : CsvSource::Open(path, columns, options);
}

}  // namespace sluice::app
