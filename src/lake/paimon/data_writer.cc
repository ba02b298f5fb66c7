#include "lake/paimon/data_writer.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <ctime>

#include "base/log.h"
#include "lake/paimon/binary_row.h"
#include "types/byte_size.h"

namespace sluice::lake::paimon {
namespace {

constexpr size_t kValueTruncate = 16;
constexpr size_t kKeyTruncate = 128;

std::vector<types::DataTypePtr> TypesIn(const std::vector<FileColumn>& columns, size_t from,
                                        size_t to) {
  std::vector<types::DataTypePtr> types;
  for (size_t i = from; i < to; ++i) types.push_back(columns[i].type);
  return types;
}

int64_t CountRetractions(const arrow::Array& kinds) {
  int64_t count = 0;
  const auto& values = static_cast<const arrow::Int8Array&>(kinds);
  for (int64_t i = 0; i < values.length(); ++i) count += values.Value(i) & 1;  // -U is 1, -D is 3.
  return count;
}

}  // namespace

int64_t LocalWallClockMs(int64_t utc_ms) {
  const std::time_t seconds = utc_ms / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return utc_ms + int64_t{local.tm_gmtoff} * 1000;
}

int64_t TargetFileBytes(const LakeSchema& schema) {
  const int64_t fallback = int64_t{schema.has_primary_key() ? 128 : 256} << 20;
  const int64_t wanted = types::ParseByteSize(schema.Option("target-file-size")).ValueOr(0);
  return wanted > 0 ? wanted : fallback;
}

DataFileWriter::DataFileWriter(const WriteContext& context, DataFileSpec spec)
    : context_(context),
      spec_(std::move(spec)),
      columns_(FileColumnsOf(*context.schema)),
      arrow_schema_(FileArrowSchema(columns_)),
      key_columns_(context.schema->has_primary_key() ? context.schema->TrimmedPrimaryKey().size()
                                                     : 0),
      value_columns_(context.schema->has_primary_key() ? key_columns_ + 2 : 0),
      key_types_(TypesIn(columns_, 0, key_columns_)),
      value_types_(TypesIn(columns_, value_columns_, columns_.size())),
      target_bytes_(TargetFileBytes(*context.schema)),
      next_sequence_(spec_.first_sequence) {}

Status DataFileWriter::Roll() {
  if (file_ != nullptr && (spec_.one_file || file_->size_bytes() < target_bytes_))
    return Status::OK();
  RETURN_NOT_OK(CloseFile());
  RETURN_NOT_OK(MakeFoldersOf(context_.files, context_.paths, spec_.folder));
  meta_ = DataFileMeta();
  meta_.name = spec_.prefix + context_.session.NewName() + ".parquet";
  meta_.schema_id = context_.schema->id;
  meta_.level = spec_.level;
  meta_.source = spec_.source;
  meta_.delete_row_count = 0;
  meta_.min_sequence = INT64_MAX;
  meta_.max_sequence = INT64_MIN;
  key_stats_ = std::make_unique<StatsCollector>(key_types_, kKeyTruncate);
  value_stats_ = std::make_unique<StatsCollector>(value_types_, kValueTruncate);
  ASSIGN_OR_RAISE(file_,
                  ParquetFileWriter::Create(context_.files, io::JoinPath(spec_.folder, meta_.name),
                                            columns_, ParquetOptions::For(*context_.schema)));
  return Status::OK();
}

Status DataFileWriter::TrackKeys(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                 int64_t rows) {
  const std::vector<std::shared_ptr<arrow::Array>> keys(
      columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(key_columns_));
  key_stats_->Update(keys);
  if (meta_.row_count == 0) {
    ASSIGN_OR_RAISE(meta_.min_key, EncodeRow(key_types_, keys, 0));
  }
  ASSIGN_OR_RAISE(meta_.max_key, EncodeRow(key_types_, keys, rows - 1));
  const auto& sequences = static_cast<const arrow::Int64Array&>(*columns[key_columns_]);
  for (int64_t i = 0; i < rows; ++i) {
    meta_.min_sequence = std::min(meta_.min_sequence, sequences.Value(i));
    meta_.max_sequence = std::max(meta_.max_sequence, sequences.Value(i));
  }
  *meta_.delete_row_count += CountRetractions(*columns[key_columns_ + 1]);
  return Status::OK();
}

Status DataFileWriter::Write(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                             int64_t rows) {
  if (rows == 0) return Status::OK();
  RETURN_NOT_OK(Roll());
  RETURN_NOT_OK(file_->Write(*arrow::RecordBatch::Make(arrow_schema_, rows, columns)));
  value_stats_->Update(
      {columns.begin() + static_cast<std::ptrdiff_t>(value_columns_), columns.end()});
  if (key_columns_ > 0) {
    RETURN_NOT_OK(TrackKeys(columns, rows));
  } else {
    meta_.min_sequence = std::min(meta_.min_sequence, next_sequence_);
    next_sequence_ += rows;
    meta_.max_sequence = next_sequence_ - 1;
  }
  meta_.row_count += rows;
  return Status::OK();
}

Status DataFileWriter::CloseFile() {
  if (file_ == nullptr) return Status::OK();
  if (key_columns_ > 0) {
    ASSIGN_OR_RAISE(meta_.key_stats, key_stats_->Finish());
  }
  ASSIGN_OR_RAISE(meta_.value_stats, value_stats_->Finish());
  ASSIGN_OR_RAISE(meta_.size_bytes, file_->Close());
  file_.reset();  // From here on `done_` knows it.
  meta_.creation_time_ms = LocalWallClockMs(context_.clock.NowMs());
  done_.push_back(std::move(meta_));
  return Status::OK();
}

Result<std::vector<DataFileMeta>> DataFileWriter::Finish() {
  RETURN_NOT_OK(CloseFile());
  if (!done_.empty())
    RETURN_NOT_OK(SyncFolders(context_.files, context_.paths.location(), spec_.folder));
  return done_;
}

bool DataFileWriter::Abort() {
  bool all = true;
  if (file_ != nullptr) done_.push_back(std::move(meta_));
  file_.reset();
  for (const DataFileMeta& file : done_) {
    const Status removed = context_.files.Remove(io::JoinPath(spec_.folder, file.name));
    all = all && removed.ok();
    if (!removed.ok())
      LogInfo("lake file that nobody names stays behind file={} reason={}", file.name,
              removed.message());
  }
  done_.clear();
  return all;
}

}  // namespace sluice::lake::paimon
