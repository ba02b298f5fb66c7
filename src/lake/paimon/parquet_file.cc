#include "lake/paimon/parquet_file.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <charconv>

#include "lake/paimon/arrow_file.h"
#include "lake/paimon/parquet_schema.h"

namespace sluice::lake::paimon {
namespace {

Result<arrow::Compression::type> CompressionOf(const std::string& name) {
  if (name == "zstd") return arrow::Compression::ZSTD;
  if (name == "snappy") return arrow::Compression::SNAPPY;
  if (name == "lz4") return arrow::Compression::LZ4_HADOOP;  // What parquet-mr calls LZ4.
  if (name == "gzip") return arrow::Compression::GZIP;
  if (name == "none" || name == "uncompressed") return arrow::Compression::UNCOMPRESSED;
  return Error(ErrorCode::kInvalidConfig,
               "compression of lake files is not known, file.compression=", name);
}

class Writer : public ParquetFileWriter {
 public:
  Writer(std::shared_ptr<ArrowOutput> out, std::shared_ptr<arrow::Schema> schema,
         int64_t row_group_bytes)
      : out_(std::move(out)), schema_(std::move(schema)), row_group_bytes_(row_group_bytes) {}

  Status Open(const std::vector<FileColumn>& columns, const ParquetOptions& options) {
    ASSIGN_OR_RAISE(const auto codec, CompressionOf(options.compression));
    ASSIGN_OR_RAISE(const auto root, ParquetSchemaOf(columns));
    parquet::WriterProperties::Builder properties;
    properties.compression(codec)->created_by("sluice")->max_row_group_length(INT32_MAX);
    if (codec == arrow::Compression::ZSTD) properties.compression_level(options.zstd_level);
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    auto file = parquet::ParquetFileWriter::Open(out_, root, properties.build());
    RETURN_NOT_OK(
        parquet::arrow::FileWriter::Make(arrow::default_memory_pool(), std::move(file), schema_,
                                         parquet::default_arrow_writer_properties(), &writer_));
    END_PARQUET_CATCH_EXCEPTIONS
    return Status::OK();
  }

  Status Write(const arrow::RecordBatch& batch) override {
    for (int i = 0; i < batch.num_columns(); ++i) {
      if (!schema_->field(i)->nullable() && batch.column(i)->null_count() > 0) {
        return Error(ErrorCode::kInvalidTable,
                     "NULL in a column that is NOT NULL, column=", schema_->field(i)->name());
      }
    }
    if (batch.num_rows() == 0) return Status::OK();
    const auto named = arrow::RecordBatch::Make(schema_, batch.num_rows(), batch.columns());
    // The library ends no page within what it is given at once, and readers hold pages whole.
    const int64_t bytes = arrow::util::ReferencedBufferSize(*named).ValueOr(0);
    const int64_t rows =
        std::max<int64_t>(named->num_rows() * kPageBytes / std::max(bytes, kPageBytes), 1);
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    if (group_bytes_ >= row_group_bytes_) {
      RETURN_NOT_OK(writer_->NewBufferedRowGroup());
      group_bytes_ = 0;
    }
    for (int64_t from = 0; from < named->num_rows(); from += rows)
      RETURN_NOT_OK(writer_->WriteRecordBatch(*named->Slice(from, rows)));
    END_PARQUET_CATCH_EXCEPTIONS
    group_bytes_ += bytes;
    return Status::OK();
  }

  int64_t size_bytes() const override {
    return out_->Tell().ValueOr(0) + group_bytes_ / kPackedRatio;
  }

  Result<int64_t> Close() override {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    RETURN_NOT_OK(writer_->Close());
    END_PARQUET_CATCH_EXCEPTIONS
    ASSIGN_OR_RAISE(const int64_t size, out_->Tell());
    RETURN_NOT_OK(out_->Sync());  // A snapshot may name the file only after this.
    RETURN_NOT_OK(out_->Close());
    return size;
  }

 private:
  static constexpr int64_t kPageBytes = 1 << 20;
  static constexpr int64_t kPackedRatio =
      3;  // Guess of how much smaller values get; only decides when a file is full.

  std::shared_ptr<ArrowOutput> out_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_group_bytes_;
  int64_t group_bytes_ = 0;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

// Bounds of whole numbers, as the column's type has them.
OrderedValue WholeBound(int64_t value, const arrow::DataType& type) {
  if (type.id() == arrow::Type::DECIMAL128) return arrow::Decimal128(value);
  return value;
}

ColumnRange RangeOf(const parquet::ColumnChunkMetaData& chunk, const arrow::DataType& type) {
  ColumnRange range{.row_count = chunk.num_values()};
  const auto stats = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  if (stats == nullptr) return range;
  if (stats->HasNullCount()) range.null_count = stats->null_count();
  if (!stats->HasMinMax()) return range;
  switch (chunk.type()) {
    case parquet::Type::INT32: {
      const auto& typed = static_cast<const parquet::Int32Statistics&>(*stats);
      range.min = WholeBound(typed.min(), type);
      range.max = WholeBound(typed.max(), type);
      break;
    }
    case parquet::Type::INT64: {
      const auto& typed = static_cast<const parquet::Int64Statistics&>(*stats);
      range.min = WholeBound(typed.min(), type);
      range.max = WholeBound(typed.max(), type);
      break;
    }
    case parquet::Type::BYTE_ARRAY: {
      const auto& typed = static_cast<const parquet::ByteArrayStatistics&>(*stats);
      range.min = std::string(std::string_view(typed.min()));
      range.max = std::string(std::string_view(typed.max()));
      break;
    }
    default:
      break;
  }
  return range;
}

class Reader : public ParquetFileReader {
 public:
  Status Open(io::FileSystem& files, const std::string& path,
              const std::vector<std::string>& columns, BatchSize size,
              const std::vector<Predicate>& predicates, ReadCounters* counts) {
    ASSIGN_OR_RAISE(auto input, OpenArrowInput(files, path));
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_pre_buffer(false);
    parquet::ReaderProperties stored;
    stored.enable_buffered_stream();  // Else a column of a row group is read whole.
    stored.set_buffer_size(kBufferBytes);
    parquet::arrow::FileReaderBuilder builder;
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    RETURN_NOT_OK(builder.Open(std::move(input), stored));
    builder.properties(properties);
    RETURN_NOT_OK(builder.Build(&reader_));
    size_ = size;
    ASSIGN_OR_RAISE(const std::vector<int> groups, GroupsFor(predicates));
    row_count_ = 0;
    for (const int group : groups)
      row_count_ += reader_->parquet_reader()->metadata()->RowGroup(group)->num_rows();
    if (counts != nullptr) {
      const auto read = static_cast<int64_t>(groups.size());
      ++counts->files;
      counts->row_groups += read;
      counts->row_groups_skipped += reader_->num_row_groups() - read;
    }
    const std::vector<int> leaves = LeavesOf(columns);
    if (leaves.empty()) {
      schema_ = arrow::schema({});
      return Status::OK();
    }
    SetRows(kFirstRows, StoredBytes(groups, leaves) / std::max<int64_t>(row_count_, 1));
    ASSIGN_OR_RAISE(batches_, reader_->GetRecordBatchReader(groups, leaves));
    schema_ = batches_->schema();
    END_PARQUET_CATCH_EXCEPTIONS
    return Status::OK();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  int64_t row_count() const override { return row_count_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (batches_ == nullptr) {
      const int64_t rows = std::min(size_.rows, row_count_ - given_);
      given_ += rows;
      return rows == 0 ? nullptr : arrow::RecordBatch::Make(schema_, rows, arrow::ArrayVector());
    }
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    RETURN_NOT_OK(batches_->ReadNext(&batch));
    END_PARQUET_CATCH_EXCEPTIONS
    if (batch != nullptr && batch->num_rows() > 0) {
      SetRows(batch_rows_ * kGrowth,
              arrow::util::ReferencedBufferSize(*batch).ValueOr(0) / batch->num_rows());
    }
    return batch;
  }

 private:
  static constexpr int64_t kBufferBytes = 64 << 10;  // Per column; a larger page is read by itself.
  // Values that repeat take far less in the file than in memory.
  static constexpr int64_t kFirstRows = 64;
  static constexpr int64_t kGrowth = 8;

  // The next batch has `rows` at most, and no more than have room.
  void SetRows(int64_t rows, int64_t row_bytes) {
    const int64_t room = std::max<int64_t>(size_.bytes / std::max<int64_t>(row_bytes, 1), 1);
    batch_rows_ = std::min({rows, size_.rows, room});
    reader_->set_batch_size(batch_rows_);
  }

  int64_t StoredBytes(const std::vector<int>& groups, const std::vector<int>& leaves) const {
    int64_t bytes = 0;
    for (const int at : groups) {
      const auto group = reader_->parquet_reader()->metadata()->RowGroup(at);
      for (const int leaf : leaves) bytes += group->ColumnChunk(leaf)->total_uncompressed_size();
    }
    return bytes;
  }

  // Row groups that may hold rows which meet the predicates.
  Result<std::vector<int>> GroupsFor(const std::vector<Predicate>& predicates) const {
    const parquet::FileMetaData& metadata = *reader_->parquet_reader()->metadata();
    std::shared_ptr<arrow::Schema> schema;
    RETURN_NOT_OK(reader_->GetSchema(&schema));
    std::vector<bool> wanted(static_cast<size_t>(metadata.num_row_groups()), true);
    for (const Predicate& predicate : predicates) {
      const auto field = schema->GetFieldByName(predicate.column);
      const std::vector<int> leaves = LeavesOf({predicate.column});
      // Another writer may have stored the column in another unit than we would.
      const bool comparable = field != nullptr && leaves.size() == 1 &&
                              !arrow::is_nested(field->type()->id()) &&
                              std::ranges::all_of(predicate.values, [&](const auto& value) {
                                return value->type->Equals(*field->type());
                              });
      if (!comparable) continue;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const auto group = metadata.RowGroup(static_cast<int>(i));
        const auto range = RangeOf(*group->ColumnChunk(leaves.front()), *field->type());
        wanted[i] = wanted[i] && MayMatch(predicate, range);
      }
    }
    std::vector<int> groups;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) groups.push_back(static_cast<int>(i));
    }
    return groups;
  }

  // Positions of the leaf columns below the named top-level columns.
  std::vector<int> LeavesOf(const std::vector<std::string>& columns) const {
    const parquet::SchemaDescriptor& descriptor = *reader_->parquet_reader()->metadata()->schema();
    std::vector<int> leaves;
    for (int i = 0; i < descriptor.num_columns(); ++i) {
      const std::string& root = descriptor.GetColumnRoot(i)->name();
      if (std::ranges::find(columns, root) != columns.end()) leaves.push_back(i);
    }
    return leaves;
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_count_ = 0;
  BatchSize size_;
  int64_t batch_rows_ = 0;  // Of the next batch.
  int64_t given_ = 0;
};

}  // namespace

ParquetOptions ParquetOptions::For(const LakeSchema& schema) {
  ParquetOptions options;
  options.compression = schema.Option("file.compression", options.compression);
  const std::string level = schema.Option("file.compression.zstd-level");
  std::from_chars(level.data(), level.data() + level.size(), options.zstd_level);
  return options;
}

Result<std::unique_ptr<ParquetFileWriter>> ParquetFileWriter::Create(
    io::FileSystem& files, const std::string& path, const std::vector<FileColumn>& columns,
    const ParquetOptions& options) {
  ASSIGN_OR_RAISE(auto file, files.Open(path, io::FileSystem::Mode::kCreateNew));
  auto writer = std::make_unique<Writer>(std::make_shared<ArrowOutput>(std::move(file)),
                                         FileArrowSchema(columns), options.row_group_bytes);
  const Status opened = writer->Open(columns, options);
  if (opened.ok()) return writer;
  LogIfError(files.Remove(path), "removing a lake file that was not begun");
  return opened;
}

Result<std::unique_ptr<ParquetFileReader>> ParquetFileReader::Open(
    io::FileSystem& files, const std::string& path, const std::vector<std::string>& columns,
    BatchSize batch, const std::vector<Predicate>& predicates, ReadCounters* counts) {
  auto reader = std::make_unique<Reader>();
  const Status opened = reader->Open(files, path, columns, batch, predicates, counts);
  if (!opened.ok()) {
    return opened.WithMessage("lake file cannot be read, path=", path, ": ", opened.message());
  }
  return reader;
}

}  // namespace sluice::lake::paimon
