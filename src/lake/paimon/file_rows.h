#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "lake/paimon/manifest_store.h"
#include "lake/paimon/parquet_file.h"
#include "lake/paimon/sort_key.h"

namespace sluice::lake::paimon {

/// What readers of one table share. Everything outlives them.
struct ReadContext {
  io::FileSystem& files;
  SchemaStore& schemas;
  ReadCounters* counts = nullptr;
};

/// Rows of one batch of a data file, in the columns of a newer schema.
struct FileRows {
  int64_t count = 0;
  int64_t size_bytes = 0;                              ///< Of all values, with the keys.
  std::vector<std::shared_ptr<arrow::Array>> columns;  ///< As asked for, LakeArrowType.
  SortKeys keys;                                       ///< With keys only, as the two below.
  std::shared_ptr<arrow::Int64Array> sequences;
  std::shared_ptr<arrow::Int8Array> kinds;
};

/// Reads a data file by the names of its own schema version and gives the columns asked for by
/// field id.
class FileRowsReader {
 public:
  /// `columns`: of the newest schema. `partition`: serialized row, for files without partition
  /// columns. `with_keys`: also sort keys, sequence numbers and kinds, for merging. `predicates`:
  /// row groups that can hold no row which meets them are left out.
  static Result<std::unique_ptr<FileRowsReader>> Open(
      const ReadContext& context, const LakeSchema& newest,
      const std::vector<types::Column>& columns, const ManifestEntry& entry,
      const std::string& path, bool with_keys, BatchSize batch,
      const std::vector<Predicate>& predicates = {});
  /// The next batch, null at the end.
  Result<std::unique_ptr<FileRows>> Next();
  const std::string& path() const { return path_; }

 private:
  struct Source {
    int position = -1;        // In the file's batches; -1 = not in the file.
    types::DataTypePtr type;  // In the file's schema version.
    std::shared_ptr<arrow::Array>
        constant;  // Value of a partition column that the file lacks, length one.
  };
  FileRowsReader() = default;
  Status FindPartitionValues(const LakeSchema& newest, const std::string& partition);
  Result<std::shared_ptr<arrow::Array>> ColumnOf(const arrow::RecordBatch& batch, size_t i) const;
  Status AddKeys(const arrow::RecordBatch& batch, FileRows* rows) const;

  std::unique_ptr<ParquetFileReader> file_;
  std::string path_;
  std::vector<types::Column> columns_;
  std::vector<Source> sources_;
  std::vector<Source> keys_;
  bool with_keys_ = false;
  int sequence_position_ = -1, kind_position_ = -1;
};

}  // namespace sluice::lake::paimon
