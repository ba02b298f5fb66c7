#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/clock.h"
#include "lake/paimon/manifest.h"
#include "lake/paimon/parquet_file.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/stats.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake::paimon {

/// What the writers of one table share. Everything outlives them.
struct WriteContext {
  io::FileSystem& files;
  io::Clock& clock;
  const TablePaths& paths;
  WriterSession& session;
  std::shared_ptr<const LakeSchema> schema;
};

/// Where files go and what they are.
struct DataFileSpec {
  std::string folder;            ///< Of the bucket.
  std::string prefix = "data-";  ///< or "changelog-".
  int32_t level = 0;
  int32_t source = 0;          ///< 0 new input, 1 compaction.
  int64_t first_sequence = 0;  ///< Append tables: sequence number of the first row.
  bool one_file = false;       ///< However large: of inputs that are known to fit.
};

/// Writes rows in file form (FileColumnsOf) into as many files as the target size asks for, and
/// gathers their statistics. Rows of primary-key tables come in key order, each key once
/// (changelog: in key and sequence order).
class DataFileWriter {
 public:
  DataFileWriter(const WriteContext& context, DataFileSpec spec);

  Status Write(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t rows);
  /// Begin a new file with the next rows.
  Status EndFile() { return CloseFile(); }
  int64_t buffered_bytes() const { return file_ == nullptr ? 0 : file_->size_bytes(); }
  /// Close and sync everything. The folder is synced too. Abort may still take it all back.
  Result<std::vector<DataFileMeta>> Finish();
  /// Remove what was written; false when some of it stays.
  bool Abort();

 private:
  Status Roll();
  Status CloseFile();
  Status TrackKeys(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t rows);

  const WriteContext& context_;
  DataFileSpec spec_;
  std::vector<FileColumn> columns_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
  size_t key_columns_;    // _KEY_* in front; 0 in append tables.
  size_t value_columns_;  // Position of the first column of the table itself.
  std::vector<types::DataTypePtr> key_types_, value_types_;
  int64_t target_bytes_;
  int64_t next_sequence_;
  std::vector<DataFileMeta> done_;

  // The open file.
  std::unique_ptr<ParquetFileWriter> file_;
  DataFileMeta meta_;
  std::unique_ptr<StatsCollector> key_stats_, value_stats_;
};

/// Target size of data files by the table's option, else Paimon's default.
int64_t TargetFileBytes(const LakeSchema& schema);

/// Time of the wall clock in the machine's zone, as milliseconds as if that zone were UTC.
int64_t LocalWallClockMs(int64_t utc_ms);

}  // namespace sluice::lake::paimon
