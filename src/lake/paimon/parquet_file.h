#pragma once
#include <arrow/type_fwd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "lake/paimon/columns.h"
#include "lake/predicate.h"

namespace sluice::lake::paimon {

/// LakeReadCounts, as they grow.
struct ReadCounters {
  std::atomic<int64_t> files = 0, row_groups = 0, row_groups_skipped = 0;
};

struct ParquetOptions {
  std::string compression = "zstd";  ///< Option file.compression: zstd, snappy, lz4, gzip, none.
  int32_t zstd_level = 1;
  int64_t row_group_bytes = int64_t{64}
                            << 20;  ///< Of values in memory; bounds what a writer holds.
  static ParquetOptions For(const LakeSchema& schema);
};

/// How large a reader's batches are at most: few rows at first, then as many as have room by what
/// the last ones held.
struct BatchSize {
  int64_t rows = 32 * 1024;
  int64_t bytes = int64_t{16} << 20;
};

/// Writes one Parquet file. Not closed = not synced: the file must not be committed then.
class ParquetFileWriter {
 public:
  static Result<std::unique_ptr<ParquetFileWriter>> Create(io::FileSystem& files,
                                                           const std::string& path,
                                                           const std::vector<FileColumn>& columns,
                                                           const ParquetOptions& options);
  virtual ~ParquetFileWriter() = default;
  /// `batch` is in file form. Errors: kInvalidTable for NULL in a NOT NULL column, names it.
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  /// Bytes in the file and, roughly, in the open row group.
  virtual int64_t size_bytes() const = 0;
  /// Write the footer, sync the file and return its size.
  virtual Result<int64_t> Close() = 0;
};

/// Reads named top-level columns of a Parquet file, whoever wrote it.
class ParquetFileReader {
 public:
  /// Columns that the file does not have are left out of schema(). `predicates` are on columns of
  /// the file, values in file form: row groups whose statistics rule them out are not read.
  /// `counts` may be null.
  /// Errors: IOError; kCorruptRecord when it is not a Parquet file.
  static Result<std::unique_ptr<ParquetFileReader>> Open(
      io::FileSystem& files, const std::string& path, const std::vector<std::string>& columns,
      BatchSize batch, const std::vector<Predicate>& predicates, ReadCounters* counts);
  virtual ~ParquetFileReader() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual int64_t row_count() const = 0;
  /// The next batch, null at the end. Without columns: batches of rows alone.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

}  // namespace sluice::lake::paimon
