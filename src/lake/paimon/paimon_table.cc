#include "lake/paimon/paimon_table.h"

#include <unordered_set>

#include "base/check.h"
#include "base/log.h"
#include "lake/paimon/binary_row.h"
#include "lake/paimon/bucket_writer.h"
#include "lake/paimon/commit.h"
#include "lake/paimon/compaction.h"
#include "lake/paimon/expire.h"
#include "lake/paimon/fluss_table.h"
#include "lake/paimon/orphan_sweep.h"
#include "lake/paimon/pruning.h"
#include "lake/paimon/split_reader.h"
#include "lake/paimon/system_tables.h"

namespace sluice::lake::paimon {
namespace {

class PaimonTable : public LakeTable {
 public:
  PaimonTable(const TableServices& services, types::TablePath path, const std::string& location)
      : files_(*services.files),
        clock_(*services.clock),
        random_(*services.random),
        path_(std::move(path)),
        paths_(location),
        schemas_(files_, paths_),
        snapshots_(files_, paths_),
        session_(files_, random_, paths_),
        manifests_(files_, random_, paths_, schemas_, session_),
        committer_(files_, clock_, paths_, snapshots_, manifests_, schemas_, session_) {}

  Status Open(const ShareOf& share_of) {
    ASSIGN_OR_RAISE(schema_, schemas_.Latest());
    share_ = share_of(*schema_);
    write_ = std::make_shared<const WriteContext>(
        WriteContext{files_, clock_, paths_, session_, schema_});
    return Status::OK();
  }

  const types::TablePath& path() const override { return path_; }
  const LakeSchema& schema() const override { return *schema_; }
  const std::string& location() const override { return paths_.location(); }

  Result<std::unique_ptr<BucketWriter>> OpenWriter(const WriterOptions& options) override {
    RETURN_NOT_OK(CheckSupported(schema_->options));
    ASSIGN_OR_RAISE(auto shaper, RowShaper::Make(schema_, options.columns));
    BucketPlace place;
    ASSIGN_OR_RAISE(place.partition,
                    EncodePartition(TypesOf(*schema_, schema_->partition_keys), options.partition));
    ASSIGN_OR_RAISE(const std::string partition, PartitionFolder(*schema_, place.partition));
    place.total_buckets = schema_->bucket_count();
    const bool unaware = place.total_buckets == -1;
    if (schema_->has_primary_key() && place.total_buckets < 1) {
      return Error(ErrorCode::kInvalidTable,
                   "lake tables with a primary key need a fixed bucket count, table=",
                   path_.ToString(), " bucket=", place.total_buckets);
    }
    if (options.bucket < 0 || (!unaware && options.bucket >= place.total_buckets)) {
      return Error(ErrorCode::kInvalidTable,
                   "bucket is not one of the lake table's, table=", path_.ToString(),
                   " bucket=", options.bucket, " buckets=", place.total_buckets);
    }
    place.fluss_bucket = options.bucket;
    place.bucket = unaware ? 0 : options.bucket;
    place.folder = paths_.Bucket(partition, place.bucket);
    if (!unaware) {
      ASSIGN_OR_RAISE(place.first_sequence, NextSequence(place));
    }
    RETURN_NOT_OK(session_.Begin());
    return schema_->has_primary_key()
               ? MakeKeyWriter(write_, std::move(shaper), std::move(place))
               : MakeAppendWriter(write_, std::move(shaper), std::move(place));
  }

  Result<int64_t> Commit(std::vector<std::unique_ptr<PreparedFiles>> files,
                         const CommitOptions& options) override {
    CommitChange change{.options = options, .schema = schema_};
    for (const auto& prepared : files) {
      const auto& bucket = static_cast<const PreparedBucket&>(*prepared);
      std::ranges::move(bucket.Entries(bucket.data), std::back_inserter(change.delta));
      std::ranges::move(bucket.Entries(bucket.changelog), std::back_inserter(change.changelog));
    }
    ASSIGN_OR_RAISE(const auto id, committer_.Commit(change));
    CHECK(id.has_value());  // A commit that only adds files meets no conflict.
    for (size_t i = 0; i < files.size(); ++i) session_.Settle();
    return *id;
  }

  void Discard(std::vector<std::unique_ptr<PreparedFiles>> files) override {
    for (const auto& prepared : files) {
      const auto& bucket = static_cast<const PreparedBucket&>(*prepared);
      bool all_gone = true;
      for (const auto* metas : {&bucket.data, &bucket.changelog}) {
        for (const DataFileMeta& file : *metas) {
          const Status removed = files_.Remove(io::JoinPath(bucket.folder, file.name));
          LogIfError(removed, "removing a lake file of an abandoned commit");
          all_gone = all_gone && removed.ok();
        }
      }
      if (all_gone) session_.Settle();
    }
  }

  Result<std::optional<LakeSnapshot>> LatestSnapshot() override {
    ASSIGN_OR_RAISE(const auto id, snapshots_.LatestId());
    if (!id.has_value()) return std::nullopt;
    ASSIGN_OR_RAISE(LakeSnapshot snapshot, snapshots_.Read(*id));
    return snapshot;
  }
  Result<LakeSnapshot> SnapshotById(int64_t id) override { return snapshots_.Read(id); }
  Result<LakeSnapshot> SnapshotAtTime(int64_t time_ms) override {
    return snapshots_.AtTime(time_ms);
  }
  // Asked for recovery: a snapshot whose commit broke off may be visible and not yet durable, and
  // what is built on the answer (the coordinator's record) must not outlive it.
  Result<std::optional<LakeSnapshot>> NewestSnapshotOf(std::string_view user) override {
    ASSIGN_OR_RAISE(auto newest, snapshots_.NewestOf(user));
    if (newest.has_value()) RETURN_NOT_OK(snapshots_.MakeDurable());
    return newest;
  }
  Result<std::vector<LakeSnapshot>> Snapshots() override {
    ASSIGN_OR_RAISE(const auto ids, snapshots_.Ids());
    std::vector<LakeSnapshot> all;
    for (const int64_t id : ids) {
      ASSIGN_OR_RAISE(auto snapshot, snapshots_.Find(id));
      if (snapshot.has_value()) all.push_back(std::move(*snapshot));  // Else it expired meanwhile.
    }
    return all;
  }

  Result<LakePlan> Plan(const LakeSnapshot& snapshot, const PlanOptions& options) override {
    if (!snapshot.index_manifest.empty() || schema_->Option("deletion-vectors.enabled") == "true") {
      return Error(ErrorCode::kInvalidTable,
                   "lake tables with index files or deletion vectors are not supported, table=",
                   path_.ToString());
    }
    ASSIGN_OR_RAISE(const auto live, LiveAt(snapshot));
    LakePlan plan{snapshot, {}};
    ASSIGN_OR_RAISE(plan.splits,
                    MakeSplits(paths_, schemas_, *schema_, *live, options, &plan.files_skipped));
    return plan;
  }

  Result<std::unique_ptr<LakeReader>> Read(const LakeSplit& split,
                                           const std::vector<std::string>& names,
                                           int64_t bytes_max) override {
    std::vector<types::Column> columns;
    for (const std::string& name : names) {
      const int at = schema_->IndexOf(name);
      if (at < 0) {
        return Error(ErrorCode::kInvalidTable,
                     "column is not in the lake table, table=", path_.ToString(), " column=", name);
      }
      columns.push_back(schema_->columns[static_cast<size_t>(at)]);
    }
    return OpenSplitReader(ReadContext{files_, schemas_, &counts_}, schema_, split,
                           std::move(columns), bytes_max);
  }

  Result<bool> MayHold(const std::vector<std::string>& partition, int32_t bucket,
                       const std::vector<Predicate>& predicates) override {
    const Pruner pruner(schemas_, *schema_, predicates);
    if (pruner.empty()) return true;
    ASSIGN_OR_RAISE(const bool placed, pruner.MayHoldBucket(bucket, schema_->bucket_count()));
    if (!placed || schema_->partition_keys.empty()) return placed;
    const auto row = EncodePartition(TypesOf(*schema_, schema_->partition_keys), partition);
    return row.ok() ? pruner.MayHoldPartition(*row) : Result<bool>(true);
  }
  LakeReadCounts read_counts() const override {
    return {counts_.files, counts_.row_groups, counts_.row_groups_skipped};
  }

  Result<std::shared_ptr<arrow::RecordBatch>> SystemTable(std::string_view name) override {
    if (name == "snapshots") return SnapshotsTable(snapshots_);
    if (name == "schemas") return SchemasTable(schemas_);
    if (name == "options") return OptionsTable(*schema_);
    RETURN_NOT_OK(SystemTableColumns(name));
    ASSIGN_OR_RAISE(const auto latest, LatestSnapshot());
    if (!latest.has_value()) return FilesTable(paths_, *schema_, {});
    ASSIGN_OR_RAISE(const auto live, LiveAt(*latest));
    return FilesTable(paths_, *schema_, *live);
  }

  Status Pin(int64_t snapshot_id) override { return share_->pins().Take(snapshot_id); }
  void Unpin(int64_t snapshot_id) override { share_->pins().Release(snapshot_id); }

  Result<std::optional<int64_t>> Compact(const CompactOptions& options) override {
    RETURN_NOT_OK(CheckSupported(schema_->options));
    ASSIGN_OR_RAISE(const auto latest, LatestSnapshot());
    if (!latest.has_value()) return std::nullopt;
    ASSIGN_OR_RAISE(const auto live, LiveAt(*latest));
    const bool outdated = std::ranges::any_of(
        *live, [this](const ManifestEntry& entry) { return entry.file.schema_id > schema_->id; });
    if (outdated) return std::nullopt;  // Columns added since it was opened would be lost.
    CommitChange change{.kind = "COMPACT", .options = {.user = options.user}, .schema = schema_};
    const ReadContext read{files_, schemas_};
    RETURN_NOT_OK(session_.Begin());
    Compactor compactor(*write_, read);
    for (const BucketFiles& bucket : GroupByBucket(*live)) {
      auto entries = schema_->has_primary_key() ? compactor.CompactKeyed(bucket, options)
                                                : compactor.CompactAppend(bucket, options);
      if (!entries.ok()) {
        DropAdded(change.delta);
        return entries.status();
      }
      std::ranges::move(*entries, std::back_inserter(change.delta));
    }
    if (change.delta.empty()) {
      session_.Settle();
      return std::nullopt;
    }
    ASSIGN_OR_RAISE(const auto id, committer_.Commit(change));
    if (id.has_value()) {
      session_.Settle();
    } else {
      DropAdded(change.delta);
    }
    return id;
  }

  Result<int64_t> Expire(const ExpireOptions& options) override {
    LogIfError(share_->pins().Renew(), "release of a lake snapshot");
    return Expiration(files_, clock_, paths_, snapshots_, manifests_, session_, *schema_)
        .Run(options);
  }

  Result<int64_t> RemoveOrphans(const OrphanOptions& options) override {
    return OrphanSweep(files_, clock_, paths_, manifests_).Run(options);
  }

 private:
  Result<std::shared_ptr<const LiveFiles>> LiveAt(const LakeSnapshot& snapshot) const {
    return share_->live().Get(manifests_, snapshots_, snapshot);
  }

  // Sequence numbers go on where the bucket's files end.
  Result<int64_t> NextSequence(const BucketPlace& place) {
    ASSIGN_OR_RAISE(const auto latest, LatestSnapshot());
    if (!latest.has_value()) return 0;
    ASSIGN_OR_RAISE(const auto live, LiveAt(*latest));
    int64_t next = 0;
    for (const ManifestEntry& entry : *live) {
      if (entry.bucket != place.bucket || entry.partition != place.partition) continue;
      next = std::max(next, entry.file.max_sequence + 1);
    }
    return next;
  }

  // Remove files that a compaction wrote and nobody will name; files that only changed their level
  // stay.
  void DropAdded(const std::vector<ManifestEntry>& change) {
    std::unordered_set<std::string> old;
    for (const ManifestEntry& entry : change) {
      if (entry.is_delete) old.insert(entry.file.name);
    }
    for (const ManifestEntry& entry : change) {
      if (entry.is_delete || old.contains(entry.file.name)) continue;
      const auto folder = PartitionFolder(*schema_, entry.partition);
      if (!folder.ok()) continue;
      LogIfError(files_.Remove(io::JoinPath(paths_.Bucket(*folder, entry.bucket), entry.file.name)),
                 "removing a lake file of an abandoned compaction");
    }
  }

  io::FileSystem& files_;
  io::Clock& clock_;
  io::Random& random_;
  types::TablePath path_;
  TablePaths paths_;
  SchemaStore schemas_;
  SnapshotStore snapshots_;
  WriterSession session_;
  ManifestStore manifests_;
  Committer committer_;
  ReadCounters counts_;
  std::shared_ptr<const LakeSchema> schema_;
  std::shared_ptr<const WriteContext> write_;
  std::shared_ptr<TableShare> share_;
};

}  // namespace

Result<std::unique_ptr<LakeTable>> OpenPaimonTable(const TableServices& services,
                                                   const types::TablePath& path,
                                                   const std::string& location,
                                                   const ShareOf& share_of) {
  auto table = std::make_unique<PaimonTable>(services, path, location);
  RETURN_NOT_OK(table->Open(share_of));
  return table;
}

}  // namespace sluice::lake::paimon
