#include "lake/paimon/parquet_file.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>

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
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    if (group_bytes_ >= row_group_bytes_) {
      RETURN_NOT_OK(writer_->NewBufferedRowGroup());
      group_bytes_ = 0;
    }
    RETURN_NOT_OK(writer_->WriteRecordBatch(*named));
    END_PARQUET_CATCH_EXCEPTIONS
    group_bytes_ += arrow::util::ReferencedBufferSize(*named).ValueOr(0);
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
  static constexpr int64_t kPackedRatio =
      3;  // Guess of how much smaller values get; only decides when a file is full.

  std::shared_ptr<ArrowOutput> out_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t row_group_bytes_;
  int64_t group_bytes_ = 0;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

class Reader : public ParquetFileReader {
 public:
  Status Open(io::FileSystem& files, const std::string& path,
              const std::vector<std::string>& columns, int64_t batch_rows) {
    ASSIGN_OR_RAISE(auto input, OpenArrowInput(files, path));
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_batch_size(batch_rows);
    properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    RETURN_NOT_OK(builder.Open(std::move(input)));
    builder.properties(properties);
    RETURN_NOT_OK(builder.Build(&reader_));
    row_count_ = reader_->parquet_reader()->metadata()->num_rows();
    batch_rows_ = batch_rows;
    ASSIGN_OR_RAISE(const std::vector<int> leaves, LeavesOf(columns));
    if (leaves.empty()) {
      schema_ = arrow::schema({});
      return Status::OK();
    }
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
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
      const int64_t rows = std::min(batch_rows_, row_count_ - given_);
      given_ += rows;
      return rows == 0 ? nullptr : arrow::RecordBatch::Make(schema_, rows, arrow::ArrayVector());
    }
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    RETURN_NOT_OK(batches_->ReadNext(&batch));
    END_PARQUET_CATCH_EXCEPTIONS
    return batch;
  }

 private:
  // Positions of the leaf columns below the named top-level columns.
  Result<std::vector<int>> LeavesOf(const std::vector<std::string>& columns) const {
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
  int64_t batch_rows_ = 0;
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
  RETURN_NOT_OK(writer->Open(columns, options));
  return writer;
}

Result<std::unique_ptr<ParquetFileReader>> ParquetFileReader::Open(
    io::FileSystem& files, const std::string& path, const std::vector<std::string>& columns,
    int64_t batch_rows) {
  auto reader = std::make_unique<Reader>();
  if (const Status opened = reader->Open(files, path, columns, batch_rows); !opened.ok()) {
    return opened.WithMessage("lake file cannot be read, path=", path, ": ", opened.message());
  }
  return reader;
}

}  // namespace sluice::lake::paimon
