#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "types/schema.h"

namespace sluice::tablet {

/// What the coordinator has on record of the part of a bucket's log that lies in remote storage.
struct RemoteLogRecord {
  std::string root;                ///< `remote.data.dir` of the table or partition; empty = none.
  std::string manifest_path;       ///< Empty = nothing was copied yet.
  int64_t start_offset = -1;       ///< -1 = nothing is there.
  int64_t end_offset = -1;         ///< Exclusive; -1 = nothing is there.
  int64_t copied_end_offset = -1;  ///< Everything below it was copied once.
};

/// Where the tablet server learns what a table looks like. In one process: the catalog.
///
/// Threads: any.
class TableSource {
 public:
  virtual ~TableSource() = default;
  /// The table with its latest schema and properties. Errors: kTableNotExist.
  virtual Result<std::shared_ptr<const types::TableInfo>> ById(int64_t table_id) const = 0;
  /// One version of its schema. Errors: kSchemaNotExist.
  virtual Result<std::shared_ptr<const types::Schema>> SchemaOf(int64_t table_id,
                                                                int32_t schema_id) const = 0;
  /// Whether the lake has rows of the table, or may have.
  virtual bool InLake(int64_t table_id) const = 0;
  /// The newest recorded KV snapshot of a bucket.
  struct RecordedSnapshot {
    int64_t snapshot_id = -1;
    int64_t log_offset = 0;
    std::string metadata_path;
  };
  virtual std::optional<RecordedSnapshot> LatestKvSnapshot(const types::BucketId&) const {
    return std::nullopt;
  }
  /// Who records snapshots now.
  virtual int32_t CoordinatorEpoch() const { return 0; }
  /// `remote.data.dir` of the table or partition; empty = none.
  virtual std::string RemoteRootOf(const types::BucketId&) const { return ""; }
  virtual RemoteLogRecord RemoteLogOf(const types::BucketId&) const { return {}; }
};

}  // namespace sluice::tablet
