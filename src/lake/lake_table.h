#pragma once
#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lake/predicate.h"
#include "types/ids.h"
#include "types/schema.h"

namespace sluice::lake {

/// What a row does to its key. Values are the lake's own (`_VALUE_KIND`).
enum class RowKind : uint8_t { kInsert = 0, kUpdateBefore = 1, kUpdateAfter = 2, kDelete = 3 };

/// Kind for a change type byte of a log batch (0 append only, 1 insert, 2 update before, 3 update
/// after, 4 delete).
inline RowKind KindOfChange(uint8_t change_type) {
  return change_type == 0 ? RowKind::kInsert : static_cast<RowKind>(change_type - 1);
}

// Columns that Fluss 0.9 puts behind the user's columns of every lake table.
inline constexpr std::string_view kBucketColumn = "__bucket";
inline constexpr std::string_view kOffsetColumn = "__offset";
inline constexpr std::string_view kTimestampColumn = "__timestamp";

/// The commit user of tiering (Fluss's own name), under which recovery looks for snapshots.
inline constexpr std::string_view kTieringUser = "__fluss_lake_tiering";
/// Snapshot property with the path of the offsets file.
inline constexpr std::string_view kOffsetsProperty = "fluss-offsets";

/// One version of a lake table's schema. `Column::id` and `RowField::field_id` hold the *lake's*
/// field ids.
struct LakeSchema {
  int64_t id = 0;
  std::vector<types::Column> columns;
  int32_t highest_field_id = -1;
  std::vector<std::string> partition_keys;
  std::vector<std::string> primary_keys;  ///< Partition columns included.
  std::map<std::string, std::string> options;
  std::string comment;
  int64_t time_ms = 0;

  bool has_primary_key() const { return !primary_keys.empty(); }
  /// Position of a column by exact name, -1 when there is none.
  int IndexOf(std::string_view name) const;
  int IndexOfId(int32_t field_id) const;
  /// Primary key without the partition columns, in primary-key order: the sort key of files.
  std::vector<std::string> TrimmedPrimaryKey() const;
  /// Option `bucket`; -1 when it is not set.
  int32_t bucket_count() const;
  std::string Option(const std::string& key, const std::string& fallback = "") const;
};

/// Arrow type of a lake column as readers give it: DataType::ToArrow, except that TIME is always
/// time32[ms].
std::shared_ptr<arrow::DataType> LakeArrowType(const types::DataType& type);

/// A committed version of the table.
struct LakeSnapshot {
  int64_t id = 0;
  int64_t schema_id = 0;
  std::string commit_user;
  int64_t commit_identifier = 0;
  std::string commit_kind;  ///< APPEND, COMPACT, OVERWRITE or ANALYZE.
  int64_t time_ms = 0;
  std::string base_manifest_list;
  std::optional<int64_t> base_manifest_list_bytes;
  std::string delta_manifest_list;
  std::optional<int64_t> delta_manifest_list_bytes;
  std::string changelog_manifest_list;  ///< Empty = none.
  std::optional<int64_t> changelog_manifest_list_bytes;
  std::string index_manifest;  ///< Empty = none.
  int64_t total_records = 0;
  int64_t delta_records = 0;
  std::optional<int64_t> changelog_records;
  std::optional<int64_t> watermark;
  std::string statistics;  ///< Empty = none.
  std::map<std::string, std::string> properties;
  std::optional<int64_t> next_row_id;

  bool compaction() const { return commit_kind == "COMPACT"; }
};

/// Rows of one log batch for a writer.
struct LakeRows {
  std::shared_ptr<arrow::RecordBatch>
      rows;  ///< Columns as WriterOptions::columns, Arrow types of DataType::ToArrow.
  std::span<const RowKind> kinds;  ///< One per row; empty = all inserts.
  int64_t base_offset = 0;         ///< Log offset of the first row; the others follow densely.
  int64_t timestamp_ms = 0;        ///< Commit time of the batch.
};

struct WriterOptions {
  std::vector<std::string>
      columns;  ///< What the batches hold, by name, in order; lake columns not named become NULL.
  std::vector<std::string>
      partition;  ///< Text values in partition-key order (PartitionInfo::values); empty = none.
  int32_t bucket = 0;  ///< Fluss bucket. An unaware table stores it in __bucket alone.
};

/// Files that a writer finished and nobody can see yet. Hand it to Commit, or drop it with Discard.
class PreparedFiles {
 public:
  virtual ~PreparedFiles() = default;
  virtual int64_t record_count() const = 0;
  virtual int64_t size_bytes() const = 0;
};

/// Writes the rows of one bucket of one partition in one round.
///
/// Threads: one thread at a time; several writers of a table may run beside each other.
class BucketWriter {
 public:
  virtual ~BucketWriter() = default;
  /// Errors: kInvalidTable for NULL in a NOT NULL column, names it.
  virtual Status Write(const LakeRows& rows) = 0;
  /// Bytes held in memory.
  virtual int64_t buffered_bytes() const = 0;
  /// Close and sync all files. The writer is done after it. No rows = no files.
  virtual Result<std::unique_ptr<PreparedFiles>> Finish() = 0;
};

struct CommitOptions {
  std::string user{kTieringUser};
  int64_t identifier = INT64_MAX;
  std::map<std::string, std::string> properties;
  /// Commit only while this is the newest snapshot of `user` (0 = it has none); checked in one step
  /// with the commit. Errors: kFencedTieringEpoch when it is not.
  std::optional<int64_t> newest_of_user;
};

/// One data file as a reader of raw files needs it.
struct LakeFile {
  std::string path;  ///< Whole path on the file system.
  int64_t size_bytes = 0;
  int64_t record_count = 0;
  int64_t schema_id = 0;
  int32_t level = 0;
  /// True when every column of the newest schema is in the file under its present name and type, or
  /// not yet in the file's schema: then any Parquet reader may read the file by name, columns that
  /// are not there being NULL.
  bool readable_by_name = false;
  std::vector<std::string>
      missing_columns;  ///< Columns of the newest schema that the file's schema lacks.
};

/// A part of a snapshot that can be read by itself: files of one bucket of one partition.
struct LakeSplit {
  std::vector<std::optional<std::string>>
      partition;       ///< Text values in partition-key order; nullopt = NULL.
  int32_t bucket = 0;  ///< 0 in an unaware table, whatever __bucket says.
  bool raw = true;     ///< Files hold visible rows only, each key once: read them as they are. Else
                       ///< they must be merged.
  std::vector<LakeFile> files;
  int64_t record_count = 0;  ///< Rows in the files; more than what is visible when not raw.
  std::shared_ptr<const void> detail;  ///< What the table itself needs to read the split.
};

struct LakePlan {
  LakeSnapshot snapshot;
  std::vector<LakeSplit> splits;
  int64_t files_skipped = 0;  ///< By predicates.
};

struct PlanOptions {
  std::optional<int32_t> bucket;  ///< Only this bucket.
  /// Only partitions with these text values, by partition key.
  std::map<std::string, std::string> partition;
  /// Leave out files, and in files row groups, that can hold no row which meets all of these. Rows
  /// that do not meet them may still come.
  std::vector<Predicate> predicates;
};

/// What the readers of a table have done so far.
struct LakeReadCounts {
  int64_t files = 0;  ///< Opened.
  int64_t row_groups = 0;
  int64_t row_groups_skipped = 0;
};

/// Batches of a split or of anything that gives rows.
class LakeReader {
 public:
  virtual ~LakeReader() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// The next batch, null at the end.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

struct CompactOptions {
  std::string user = "sluice-compaction";  ///< Not the tiering user, whose snapshots mean offsets.
  /// Buckets with fewer sorted runs are left alone, and of append buckets the newest small files
  /// while they are fewer. Small files that no newer one can join are merged from two on.
  int32_t files_min = 5;
  bool full = false;  ///< Merge every bucket as far as it goes, whatever its runs weigh.
};

struct ExpireOptions {
  std::optional<int64_t>
      retained_min;  ///< Snapshots always kept; default: the table's option, else 10.
  std::optional<int64_t>
      retained_ms;     ///< Younger ones are kept; default: the table's option, else one hour.
  int64_t limit = 50;  ///< Most snapshots dropped by one call.
  /// No snapshot from this one on is dropped: usually the coordinator's readable snapshot.
  std::optional<int64_t> keep_from;
};

struct OrphanOptions {
  /// Files whose writer left no record go from this age on (Paimon's own bound is a day); nullopt =
  /// only those of writers that are known to have died, which costs nothing when there are none.
  std::optional<int64_t> older_than_ms;
};

/// A lake table, opened at its newest schema.
///
/// Lifetime: its writers and readers must not outlive it.
/// Threads: any; calls may block on files. Two writers of one table meet at Commit alone.
class LakeTable {
 public:
  static constexpr int64_t kReadBytesMax = int64_t{16} << 20;

  virtual ~LakeTable() = default;
  virtual const types::TablePath& path() const = 0;
  /// The schema when the table was opened.
  virtual const LakeSchema& schema() const = 0;
  /// The table's folder.
  virtual const std::string& location() const = 0;

  // Writing.
  /// Errors: kInvalidTable when a column is unknown to the lake or its type differs.
  virtual Result<std::unique_ptr<BucketWriter>> OpenWriter(const WriterOptions& options) = 0;
  /// Make the files visible as one APPEND snapshot, also when there are none, and return its id.
  /// Durable on return. A commit that is lost to another writer is tried again. On an error the
  /// caller cannot know whether it happened: look with NewestSnapshotOf.
  virtual Result<int64_t> Commit(std::vector<std::unique_ptr<PreparedFiles>> files,
                                 const CommitOptions& options) = 0;
  /// Remove files that will never be committed.
  virtual void Discard(std::vector<std::unique_ptr<PreparedFiles>> files) = 0;

  // Snapshots. "No snapshot" is an ok nullopt; a snapshot that should exist and does not is
  // kLakeSnapshotNotExist.
  virtual Result<std::optional<LakeSnapshot>> LatestSnapshot() = 0;
  virtual Result<LakeSnapshot> SnapshotById(int64_t id) = 0;
  /// Newest snapshot at or before the time. Errors: kLakeSnapshotNotExist naming the time when all
  /// are younger.
  virtual Result<LakeSnapshot> SnapshotAtTime(int64_t time_ms) = 0;
  /// Newest snapshot by this commit user, for recovery. Durable on return, also when the commit
  /// that made it broke off: what is built on the answer cannot outlive it.
  virtual Result<std::optional<LakeSnapshot>> NewestSnapshotOf(std::string_view user) = 0;
  /// All snapshots, oldest first.
  virtual Result<std::vector<LakeSnapshot>> Snapshots() = 0;

  // Reading.
  virtual Result<LakePlan> Plan(const LakeSnapshot& snapshot, const PlanOptions& options) = 0;
  /// Rows of a split: the named columns of the newest schema, in that order (none = row counts
  /// only), matched to the files by field id; columns that a file lacks are NULL. Primary-key rows
  /// come in key order, newest per key, deleted ones left out. A batch holds `bytes_max` or a
  /// few rows, and the reader a few times as much.
  virtual Result<std::unique_ptr<LakeReader>> Read(const LakeSplit& split,
                                                   const std::vector<std::string>& columns,
                                                   int64_t bytes_max = kReadBytesMax) = 0;
  /// False when no row that meets the predicates can be in this partition (text values in key
  /// order) and bucket, in the lake or in a log whose rows are placed as the lake's.
  virtual Result<bool> MayHold(const std::vector<std::string>& partition, int32_t bucket,
                               const std::vector<Predicate>& predicates) = 0;
  virtual LakeReadCounts read_counts() const = 0;
  /// Rows of a system table: "snapshots", "schemas", "options", "files".
  /// Errors: kTableNotExist for another name.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> SystemTable(std::string_view name) = 0;

  // Pins keep a snapshot and those after it from being expired, by whomever.
  /// Writes only when the readers of this table, in all its openings of one catalog, had no pin of
  /// so old a snapshot, and every ten seconds: the written pin may so hold longer than any reader.
  /// One that its process left behind goes with the other orphans. Errors: kLakeSnapshotNotExist;
  /// kStorage when it cannot be written.
  virtual Status Pin(int64_t snapshot_id) = 0;
  /// Once for each Pin.
  virtual void Unpin(int64_t snapshot_id) = 0;

  // Upkeep.
  /// Merge files as one COMPACT snapshot and return its id, or nullopt when nothing was worth it,
  /// another writer changed the same files first, or there are files of a newer schema than the
  /// table was opened at. It has the properties of the snapshot that it comes to lie on: no row
  /// moves in or out.
  virtual Result<std::optional<int64_t>> Compact(const CompactOptions& options) = 0;
  /// Drop old snapshots with the files that only they need; returns how many.
  virtual Result<int64_t> Expire(const ExpireOptions& options) = 0;
  /// Remove data, changelog, manifest and temporary files of ours that nothing in the table names:
  /// at once where the record of their writer shows that it died, else by age. Others may be
  /// writing. Returns how many.
  virtual Result<int64_t> RemoveOrphans(const OrphanOptions& options) = 0;
};

/// Columns of a system table, for DESCRIBE and binding. Errors: kTableNotExist.
Result<std::vector<types::Column>> SystemTableColumns(std::string_view name);

}  // namespace sluice::lake
