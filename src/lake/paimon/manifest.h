#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::lake::paimon {

/// A BinaryRow of no columns with its arity in front.
std::string EmptyRow();

/// Least and greatest values of some columns, as rows with their arity in front
/// (Java's SimpleStats).
struct SimpleStats {
  std::string min_values = EmptyRow();
  std::string max_values = EmptyRow();
  std::vector<std::optional<int64_t>> null_counts;  ///< One per column, nullopt = unknown.
  bool operator==(const SimpleStats&) const = default;
};

/// One data or changelog file. Source: DataFileMeta.
struct DataFileMeta {
  std::string name;
  int64_t size_bytes = 0;
  int64_t row_count = 0;
  std::string min_key = EmptyRow();  ///< Arity in front; an arity-0 row in append tables.
  std::string max_key = EmptyRow();
  SimpleStats key_stats;
  SimpleStats value_stats;
  int64_t min_sequence = 0;
  int64_t max_sequence = 0;
  int64_t schema_id = 0;
  int32_t level = 0;
  std::vector<std::string> extra_files;
  std::optional<int64_t> creation_time_ms;  ///< Local wall clock as if it were UTC.
  std::optional<int64_t> delete_row_count;
  std::optional<std::string> embedded_index;
  std::optional<int32_t> source;                                ///< 0 new input, 1 compaction.
  std::optional<std::vector<std::string>> value_stats_columns;  ///< nullopt = all columns.
  std::optional<std::string> external_path;
  std::optional<int64_t> first_row_id;
  std::optional<std::vector<std::string>> write_columns;
  bool operator==(const DataFileMeta&) const = default;
};

struct ManifestEntry {
  bool is_delete = false;
  std::string partition = EmptyRow();  ///< Row of the partition columns, arity in front.
  int32_t bucket = 0;
  int32_t total_buckets = -1;
  DataFileMeta file;

  /// What makes two entries speak of one file (Java's FileEntry.Identifier).
  std::string Identity() const;
  bool operator==(const ManifestEntry&) const = default;
};

/// A manifest as a manifest list names it. Source: ManifestFileMeta.
struct ManifestMeta {
  std::string name;
  int64_t size_bytes = 0;
  int64_t added_files = 0;
  int64_t deleted_files = 0;
  SimpleStats partition_stats;
  int64_t schema_id = 0;
  std::optional<int32_t> min_bucket, max_bucket, min_level, max_level;
  std::optional<int64_t> min_row_id, max_row_id;
  bool operator==(const ManifestMeta&) const = default;
};

// Avro files. `sync_marker`: 16 random bytes. Errors: kCorruptRecord, also for versions other
// than 2.
Result<std::string> WriteManifest(const std::vector<ManifestEntry>& entries,
                                  std::string_view sync_marker);
Result<std::vector<ManifestEntry>> ParseManifest(std::string_view file);
Result<std::string> WriteManifestList(const std::vector<ManifestMeta>& manifests,
                                      std::string_view sync_marker);
Result<std::vector<ManifestMeta>> ParseManifestList(std::string_view file);

}  // namespace sluice::lake::paimon
