#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/clock.h"
#include "meta/catalog_state.h"
#include "meta/store.h"

namespace sluice::meta {

inline constexpr std::string_view kDefaultDatabase = "fluss";

/// Databases, tables, partitions, assignments, lake snapshots, views and counters over a MetaStore.
///
/// Each change is one durable batch, then a new snapshot is published; when the store refuses,
/// nothing changes. The catalog checks existence and its own invariants; rules about options and
/// schemas are the coordinator's. Format: the nodes and JSON of the Java server's ZooKeeper tree
/// (docs/formats/metadata.md), own nodes below "/sluice". Threads: state() from anywhere;
/// everything else from one thread.
class Catalog {
 public:
  /// Load everything; make the default database when it is missing.
  static Result<std::unique_ptr<Catalog>> Open(MetaStore& store, io::Clock& clock);
  /// Load everything and change nothing.
  static Result<CatalogStatePtr> Read(MetaStore& store);
  ~Catalog();

  CatalogStatePtr state() const;

  /// Begin the reign of a coordinator: its epoch, one above the last.
  Result<int32_t> RaiseCoordinatorEpoch();

  // Databases. Errors: kDatabaseNotExist, kDatabaseAlreadyExist, kDatabaseNotEmpty.
  Status CreateDatabase(const std::string& name, const types::DatabaseDescriptor& descriptor);
  Status AlterDatabase(const std::string& name, const types::DatabaseDescriptor& descriptor);
  /// `cascade` drops its tables and views too. Of the drops: `follow_up`, work that is left (files
  /// to delete), is recorded in the same batch; returns its id, 0 without one.
  Result<int64_t> DropDatabase(const std::string& name, bool cascade,
                               std::optional<DdlIntent> follow_up = std::nullopt);

  /// Tables. Errors: kDatabaseNotExist, kTableNotExist, kTableAlreadyExist (a view counts).
  struct NewTable {
    types::TablePath path;
    types::TableDescriptor descriptor;  ///< Complete: ids, bucket count and defaults filled in.
    std::vector<BucketState> buckets;   ///< Empty for a partitioned table.
    std::string remote_data_dir;
    std::optional<int64_t> intent;  ///< Removed in the same batch.
  };
  Result<TablePtr> CreateTable(NewTable table);
  /// Replace the descriptor; when its schema differs it becomes the next schema id.
  Status AlterTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                    std::optional<int64_t> intent = std::nullopt);
  Result<int64_t> DropTable(const types::TablePath& path,
                            std::optional<DdlIntent> follow_up = std::nullopt);

  /// Partitions. Errors: kTableNotExist, kPartitionAlreadyExists, kPartitionNotExists.
  Result<PartitionPtr> CreatePartition(const types::TablePath& path,
                                       std::vector<std::string> values,
                                       std::vector<BucketState> buckets,
                                       std::string remote_data_dir);
  Result<int64_t> DropPartition(const types::TablePath& path, const std::string& name,
                                std::optional<DdlIntent> follow_up = std::nullopt);

  /// Take `count` writer ids never given before; returns the first.
  Result<int64_t> NextWriterIds(int64_t count);
  /// The same of the values of a table's auto-increment column, which begin at 1.
  /// Errors: kTableNotExist; kInvalidTable when the table has no such column.
  Result<int64_t> NextColumnIds(int64_t table_id, int64_t count);

  /// Add a lake snapshot, or replace the one of the same id, and forget those before
  /// `earliest_to_keep` (nullopt = all but the new one; -1 or an unknown id = none). Returns what
  /// was forgotten.
  Result<std::vector<LakeSnapshot>> RecordLakeSnapshot(int64_t table_id, LakeSnapshot snapshot,
                                                       std::optional<int64_t> earliest_to_keep);

  /// Add the newest KV snapshot of a bucket (nullopt: add none) and forget those named, in one
  /// batch. The newest one is never forgotten. Errors: kUnknownTableOrBucket; kInvalidUpdateVersion
  /// when one with this id or a newer one is recorded.
  Status RecordKvSnapshot(const types::BucketId& bucket, std::optional<KvSnapshotEntry> added,
                          const std::set<int64_t>& forgotten);
  /// Replace what is known of the remote part of a bucket's log.
  /// Errors: kTableNotExist, kUnknownTableOrBucket.
  Status RecordRemoteLog(int64_t table_id, const PartitionBucket& bucket, RemoteLogState remote);

  /// DDL intents; `intent.id` is given here and returned.
  Result<int64_t> AddIntent(DdlIntent intent);
  Status RemoveIntent(int64_t id);

  /// Views. Errors: kDatabaseNotExist, kTableAlreadyExist (by a table, or a view unless `replace`),
  /// kTableNotExist.
  Status CreateView(ViewInfo view, bool replace);
  Status DropView(const types::TablePath& path);

  // Small values by area and key ("jobs", "producers"), not part of the snapshots. Keys are names
  // without '/'.
  Status PutValue(const std::string& area, const std::string& key, std::string value);
  Status DeleteValue(const std::string& area, const std::string& key);
  /// Many values of one area in one durable batch; nullopt = the value goes.
  using ValueChanges = std::map<std::string, std::optional<std::string>>;
  Status ChangeValues(const std::string& area, ValueChanges changes);
  Result<std::optional<std::string>> GetValue(const std::string& area,
                                              const std::string& key) const;
  Result<std::vector<std::string>> ListValues(const std::string& area) const;

 private:
  Catalog(MetaStore& store, io::Clock& clock) : store_(store), clock_(clock) {}
  Status Load();
  // Make `ops` durable, then publish `next`.
  Status Commit(std::vector<MetaStore::Op> ops, CatalogState next);
  // A copy of the current state with the next revision.
  CatalogState Next() const;
  // The value that a counter will have; the caller's batch must hold `ops`.
  Result<int64_t> TakeFromCounter(const std::string& path, int64_t count,
                                  std::vector<MetaStore::Op>* ops);

  MetaStore& store_;
  io::Clock& clock_;
  mutable std::mutex mutex_;  // Guards the pointer only.
  CatalogStatePtr state_;
};

}  // namespace sluice::meta
