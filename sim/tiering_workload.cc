#include "sim/tiering_workload.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "base/log.h"
#include "io/crash_point.h"
#include "tiering/memory_cluster_testing.h"
#include "tiering/round.h"
#include "tiering/upkeep.h"

namespace sluice::sim {
namespace {

using tiering::LogRow;
using tiering::MemoryCluster;
using wire::ChangeType;

constexpr int32_t kBuckets = 2;
constexpr int32_t kKeys = 12;
constexpr char kTieringWarehouse[] = "/warehouse";

// The cluster as the machine's tiering reaches it: a call may find that the machine has stopped,
// before or after the cluster did what was asked.
class SimCluster : public MemoryCluster {
 public:
  using Offsets = std::map<int32_t, int64_t>;
  explicit SimCluster(Machine& machine) : machine_(machine) {}

  Result<std::string> Prepare(const types::TablePath& path, int64_t table_id,
                              std::vector<client::LakeBucketOffset> offsets) override {
    RETURN_NOT_OK(machine_.Operation("prepare"));
    ASSIGN_OR_RAISE(Offsets merged, Recorded(path));
    for (const auto& bucket : offsets) merged[bucket.bucket] = bucket.log_end_offset;
    ASSIGN_OR_RAISE(const std::string file,
                    MemoryCluster::Prepare(path, table_id, std::move(offsets)));
    prepared_[file] = std::move(merged);
    RETURN_NOT_OK(machine_.Operation("prepared"));
    return file;
  }
  Status Commit(client::LakeCommit commit) override {
    // Few stops would come between the lake's commit and the coordinator's record by themselves.
    if (machine_.OneIn(12)) machine_.StopAt(1);
    RETURN_NOT_OK(machine_.Operation("commit"));
    RETURN_NOT_OK(MemoryCluster::Commit(std::move(commit)));
    return machine_.Operation("committed");
  }

  Result<Offsets> Recorded(const types::TablePath& path) {
    Offsets offsets;
    ASSIGN_OR_RAISE(const auto recorded, RecordedSnapshot(path));
    if (!recorded.has_value()) return offsets;
    for (const auto& bucket : recorded->buckets) offsets[bucket.bucket] = bucket.log_end_offset;
    return offsets;
  }
  /// What the offsets file at `file` says; null when nobody wrote it.
  const Offsets* Prepared(const std::string& file) const {
    const auto found = prepared_.find(file);
    return found == prepared_.end() ? nullptr : &found->second;
  }

 private:
  Machine& machine_;
  std::map<std::string, Offsets> prepared_;
};

using LakeRow = tiering::TestLake::Row;

// Rows of a batch with the columns id, name, __bucket, __offset.
void AppendRows(const arrow::RecordBatch& batch, std::vector<LakeRow>* rows) {
  const auto& ids = static_cast<const arrow::Int32Array&>(*batch.column(0));
  const auto& names = static_cast<const arrow::StringArray&>(*batch.column(1));
  const auto& buckets = static_cast<const arrow::Int32Array&>(*batch.column(2));
  const auto& offsets = static_cast<const arrow::Int64Array&>(*batch.column(3));
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    rows->push_back({ids.Value(i), names.GetString(i), buckets.Value(i), offsets.Value(i)});
  }
}

class TieringWorkload : public Workload {
 public:
  explicit TieringWorkload(Machine& machine) : cluster_(machine), pool_(io::Pool::Inline()) {
    table_ =
        tiering::LakeTestTable(/*table_id=*/7, "t", /*primary_key=*/machine.OneIn(2), kBuckets);
    table_.descriptor.custom_properties = {{"paimon.snapshot.num-retained.min", "1"},
                                           {"paimon.snapshot.time-retained", "1 min"}};
    cluster_.AddTable(table_);
    for (const char* name : {"tiering.round", "tiering.adopted", "tiering.compacted",
                             "tiering.expired", "tiering.round-in-upkeep",
                             "tiering.upkeep-in-round", "tiering.compaction-over-a-round"}) {
      ExpectProbe(name);
    }
  }

  Status Open(Machine& machine) override {
    lake::LakeCatalogOptions options;
    options.properties = {{"metastore", "filesystem"}, {"warehouse", kTieringWarehouse}};
    options.files = &machine.files;
    options.clock = &machine.clock;
    options.random = &machine.random;
    ASSIGN_OR_RAISE(lake_, lake::LakeCatalog::Open(std::move(options)));
    RETURN_NOT_OK(
        lake_->CreateTable(table_.path, table_.descriptor, /*must_be_empty=*/false).status());
    ASSIGN_OR_RAISE(const auto table, lake_->OpenTable(table_.path));
    return table->RemoveOrphans({}).status();
  }
  void Drop() override { lake_.reset(); }
  int steps_max() const override { return 7; }

  Status Step(Machine& machine) override {
    machine.clock.Advance(std::chrono::seconds(machine.random.Below(1200)));
    if (machine.OneIn(2)) return AppendToLog(machine);
    const bool upkeep = machine.OneIn(4);
    if (machine.OneIn(2)) return upkeep ? KeepUp() : Round(machine);
    return Interleave(machine, upkeep);
  }
  Status Check(Machine& machine, Stop stop) override;

 private:
  Status AppendToLog(Machine& machine);
  Status Round(Machine& machine);
  Status KeepUp();
  Status Interleave(Machine& machine, bool upkeep);
  Result<std::vector<LakeRow>> ReadLake(lake::LakeTable& table, const lake::LakeSnapshot& snapshot);
  std::vector<LakeRow> ExpectedAt(const SimCluster::Offsets& offsets);

  SimCluster cluster_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<lake::LakeCatalog> lake_;
  types::TableInfo table_;
  std::map<int32_t, std::string>
      values_;                      // Of the key table, by id; a key's bucket is id % kBuckets.
  int64_t committed_snapshot_ = 0;  // The newest that a round returned.
  bool round_came_in_ = false;      // While an upkeep was under way.
  int64_t made_ = 0;
};

Status TieringWorkload::AppendToLog(Machine& machine) {
  const auto bucket = static_cast<int32_t>(machine.random.Below(kBuckets));
  std::vector<LogRow> batch;
  for (uint64_t count = machine.random.Below(6); count > 0; --count) {
    const std::string name = "v" + std::to_string(made_++);
    const auto id = static_cast<int32_t>(machine.random.Below(kKeys)) * kBuckets + bucket;
    if (!table_.descriptor.has_primary_key()) {
      batch.push_back({ChangeType::kAppendOnly, id, name});
      continue;
    }
    const auto old = values_.find(id);
    if (old == values_.end()) {
      batch.push_back({ChangeType::kInsert, id, name});
    } else if (machine.OneIn(3)) {
      batch.push_back({ChangeType::kDelete, id, old->second});
      values_.erase(old);
      continue;
    } else {
      batch.push_back({ChangeType::kUpdateBefore, id, old->second});
      batch.push_back({ChangeType::kUpdateAfter, id, name});
    }
    values_[id] = name;
  }
  cluster_.Append(table_.path, bucket, std::move(batch), machine.clock.NowMs());
  return Status::OK();
}

Status TieringWorkload::Round(Machine& machine) {
  const std::atomic<bool> stopping = false;
  MemoryBudget rows(64 << 20);
  const tiering::RoundOptions options{.link = &cluster_,
                                      .lake = lake_.get(),
                                      .clock = &machine.clock,
                                      .bucket_pool = pool_.get(),
                                      .rows = &rows,
                                      .stopping = &stopping};
  ASSIGN_OR_RAISE(const auto before, cluster_.RecordedSnapshot(table_.path));
  ASSIGN_OR_RAISE(const auto table, lake_->OpenTable(table_.path));
  ASSIGN_OR_RAISE(const auto newest, table->NewestSnapshotOf(lake::kTieringUser));
  if (newest.has_value() && (!before.has_value() || before->snapshot_id < newest->id))
    Probe("tiering.adopted");
  ASSIGN_OR_RAISE(const auto result, tiering::Round(options, cluster_.Handout(table_.path)).Run());
  if (result.summary.snapshot_id < 0) return Status::OK();
  Probe("tiering.round");
  committed_snapshot_ = result.summary.snapshot_id;
  return Status::OK();
}

Status TieringWorkload::KeepUp() {
  ASSIGN_OR_RAISE(const auto done, tiering::KeepUp(cluster_, *lake_, table_.path, /*files_min=*/2));
  if (done.compacted_snapshot.has_value()) Probe("tiering.compacted");
  if (round_came_in_ && done.compacted_snapshot.value_or(0) > committed_snapshot_)
    Probe("tiering.compaction-over-a-round");
  if (done.expired_snapshots > 0) Probe("tiering.expired");
  return Status::OK();
}

// Upkeep with a round in its midst, or the other way round: both are threads of one service.
Status TieringWorkload::Interleave(Machine& machine, bool upkeep) {
  uint64_t steps_before = 1 + machine.random.Below(8);  // Named steps of the outer one.
  Status inner;
  io::SetCrashHook([&](std::string_view) {
    if (steps_before == 0 || --steps_before > 0) return;
    Probe(upkeep ? "tiering.round-in-upkeep" : "tiering.upkeep-in-round");
    const int64_t before = committed_snapshot_;
    inner = upkeep ? AppendToLog(machine) : KeepUp();
    if (upkeep && inner.ok()) inner = Round(machine);
    round_came_in_ = committed_snapshot_ != before;
  });
  const Status outer = upkeep ? KeepUp() : Round(machine);
  io::SetCrashHook({});
  round_came_in_ = false;
  return inner.ok() ? outer : inner;
}

Result<std::vector<LakeRow>> TieringWorkload::ReadLake(lake::LakeTable& table,
                                                       const lake::LakeSnapshot& snapshot) {
  std::vector<LakeRow> rows;
  ASSIGN_OR_RAISE(const auto plan, table.Plan(snapshot, {}));
  for (const lake::LakeSplit& split : plan.splits) {
    ASSIGN_OR_RAISE(const auto reader, table.Read(split, {"id", "name", "__bucket", "__offset"}));
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, reader->Next());
      if (batch == nullptr) break;
      AppendRows(*batch, &rows);
    }
  }
  std::ranges::sort(rows, {}, [](const auto& row) { return std::pair(row.bucket, row.offset); });
  return rows;
}

std::vector<LakeRow> TieringWorkload::ExpectedAt(const SimCluster::Offsets& offsets) {
  std::vector<LakeRow> rows;
  for (const auto& [bucket, end] : offsets) {
    MemoryCluster::Log log = cluster_.LogOf(table_.path, bucket);
    std::erase_if(log, [&](const auto& batch) { return batch.base_offset >= end; });
    const auto part = tiering::Expected(log, bucket, table_.descriptor.has_primary_key());
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

Status TieringWorkload::Check(Machine&, Stop) {
  ASSIGN_OR_RAISE(const auto table, lake_->OpenTable(table_.path));
  ASSIGN_OR_RAISE(const auto latest, table->LatestSnapshot());
  ASSIGN_OR_RAISE(const auto newest, table->NewestSnapshotOf(lake::kTieringUser));
  ASSIGN_OR_RAISE(const auto recorded, cluster_.RecordedSnapshot(table_.path));
  const int64_t newest_id = newest.has_value() ? newest->id : 0;
  if (newest_id < committed_snapshot_) {
    return Broken("snapshot ", committed_snapshot_,
                  " was committed and is lost, newest of tiering=", newest_id,
                  " latest=", latest.has_value() ? latest->id : 0,
                  " recorded=", recorded.has_value() ? recorded->snapshot_id : 0);
  }
  if (recorded.has_value() && recorded->snapshot_id > newest_id) {
    return Broken("the coordinator knows snapshot ", recorded->snapshot_id, ", the lake ends at ",
                  newest_id);
  }
  if (!newest.has_value())
    return latest.has_value() ? Broken("a snapshot without tiering") : Status::OK();
  const auto file = newest->properties.find(std::string(lake::kOffsetsProperty));
  if (file == newest->properties.end()) return Broken("snapshot ", newest_id, " names no offsets");
  const SimCluster::Offsets* offsets = cluster_.Prepared(file->second);
  if (offsets == nullptr)
    return Broken("snapshot ", newest_id, " names offsets that nobody prepared");
  if (latest->properties != newest->properties) {
    return Broken("snapshot ", latest->id, " names other offsets than snapshot ", newest_id,
                  ", whose rows it holds");
  }
  const auto expected = ExpectedAt(*offsets);
  ASSIGN_OR_RAISE(const auto found, ReadLake(*table, *latest));
  if (found == expected) return Status::OK();
  return Broken("snapshot ", latest->id, " holds ", found.size(),
                " rows, the log below its offsets has ", expected.size());
}

}  // namespace

std::unique_ptr<Workload> MakeTieringWorkload(Machine& machine) {
  return std::make_unique<TieringWorkload>(machine);
}

}  // namespace sluice::sim
