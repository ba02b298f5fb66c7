#include "sim/freshness_workload.h"

#include <algorithm>

#include "coordinator/tiering_queue.h"
#include "tiering/memory_cluster_testing.h"
#include "tiering/round.h"

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using Time = coordinator::TieringQueue::Time;

constexpr int64_t kTables = 8;
constexpr size_t kRoundsAtOnce = 2;  // As the service has it.
constexpr Time kFreshness{5000};
constexpr Time kTick{50};        // Between two heartbeats.
constexpr uint64_t kTicks = 20;  // Of a step.
constexpr uint64_t kRoundLeastMs = 30;
constexpr uint64_t kRoundMostMs = 250;

class FreshnessWorkload : public Workload {
 public:
  explicit FreshnessWorkload(Machine& machine) : machine_(machine), pool_(io::Pool::Inline()) {
    for (int64_t id = 0; id < kTables; ++id) {
      const bool keyed = machine.OneIn(2);
      tables_[id].info = tiering::LakeTestTable(id, "t" + std::to_string(id), keyed, 1);
      tables_[id].writes_one_in = 1 + machine.random.Below(60);  // From steadily to hardly.
      cluster_.AddTable(tables_[id].info);
    }
  }

  Status Open(Machine& machine) override;
  void Drop() override {
    running_.clear();
    queue_.reset();
    lake_.reset();
  }
  int steps_max() const override { return 6; }
  Status Step(Machine& machine) override;
  Status Check(Machine&, Stop) override { return Status::OK(); }

 private:
  struct Row {
    int64_t end_offset;
    Time arrived;
  };
  struct Table {
    types::TableInfo info;
    uint64_t writes_one_in = 1;  // Ticks.
    int64_t rows = 0;
    std::vector<Row> waiting;  // That the lake does not show.
  };
  struct Running {
    client::TieringRound handout;
    Time ends;
    bool more;
    int64_t end_offset;  // Of the table in the lake, once it has ended.
  };

  // The lake shows the table's rows below `end_offset`.
  static void Show(Table* table, int64_t end_offset) {
    std::erase_if(table->waiting, [&](const Row& row) { return row.end_offset <= end_offset; });
  }
  Time Now() const { return std::chrono::duration_cast<Time>(machine_.clock.Monotonic()); }
  void Write();
  Status Probe();
  Status EndRounds();
  Status StartRounds();
  Status StartRound(const coordinator::TieringQueue::Handout& handout);
  Result<int64_t> RecordedEnd(const Table& table);
  Status CheckAges() const;

  Machine& machine_;
  tiering::MemoryCluster cluster_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<lake::LakeCatalog> lake_;
  std::optional<coordinator::TieringQueue> queue_;
  std::map<int64_t, Table> tables_;
  std::vector<Running> running_;
  Time opened_{};
};

Status FreshnessWorkload::Open(Machine& machine) {
  lake::LakeCatalogOptions options;
  options.properties = {{"metastore", "filesystem"}, {"warehouse", "/warehouse"}};
  options.files = &machine.files;
  options.clock = &machine.clock;
  options.random = &machine.random;
  ASSIGN_OR_RAISE(lake_, lake::LakeCatalog::Open(std::move(options)));
  opened_ = Now();
  queue_.emplace();
  for (auto& [id, table] : tables_) {
    RETURN_NOT_OK(
        lake_->CreateTable(table.info.path, table.info.descriptor, /*must_be_empty=*/false));
    ASSIGN_OR_RAISE(const int64_t in_lake, RecordedEnd(table));
    Show(&table, in_lake);  // The stop came between a round's commit and its end.
    queue_->Add(id, table.info.path, kFreshness, opened_);
  }
  return Status::OK();
}

Status FreshnessWorkload::Step(Machine& machine) {
  for (uint64_t tick = 0; tick < kTicks; ++tick) {
    machine.clock.Advance(kTick);
    Write();
    RETURN_NOT_OK(EndRounds());
    RETURN_NOT_OK(Probe());
    queue_->Advance(Now());
    RETURN_NOT_OK(StartRounds());
    RETURN_NOT_OK(CheckAges());
  }
  return Status::OK();
}

void FreshnessWorkload::Write() {
  for (auto& [id, table] : tables_) {
    if (!machine_.OneIn(table.writes_one_in)) continue;
    const auto change = table.info.descriptor.has_primary_key() ? wire::ChangeType::kInsert
                                                                : wire::ChangeType::kAppendOnly;
    cluster_.Append(table.info.path, 0, {{change, static_cast<int32_t>(table.rows), "row"}},
                    machine_.clock.NowMs());
    table.waiting.push_back({++table.rows, Now()});
  }
}

Result<int64_t> FreshnessWorkload::RecordedEnd(const Table& table) {
  ASSIGN_OR_RAISE(const auto recorded, cluster_.RecordedSnapshot(table.info.path));
  return recorded.has_value() ? recorded->buckets.front().log_end_offset : 0;
}

Status FreshnessWorkload::Probe() {
  for (const int64_t id : queue_->TakeProbes(Now())) {
    ASSIGN_OR_RAISE(const int64_t in_lake, RecordedEnd(tables_.at(id)));
    queue_->Probed(id, in_lake < tables_.at(id).rows, Now());
  }
  return Status::OK();
}

Status FreshnessWorkload::StartRounds() {
  while (running_.size() < kRoundsAtOnce) {
    const auto handout = queue_->Take(Now());
    if (!handout.has_value()) return Status::OK();
    RETURN_NOT_OK(StartRound(*handout));
  }
  return Status::OK();
}

// It moves what is there when it starts, and shows it when it ends.
Status FreshnessWorkload::StartRound(const coordinator::TieringQueue::Handout& handout) {
  const std::atomic<bool> stopping = false;
  MemoryBudget rows(64 << 20);
  const tiering::RoundOptions options{.link = &cluster_,
                                      .lake = lake_.get(),
                                      .clock = &machine_.clock,
                                      .bucket_pool = pool_.get(),
                                      .rows = &rows,
                                      .stopping = &stopping};
  const client::TieringRound round{handout.table_id, handout.path, handout.tiering_epoch};
  ASSIGN_OR_RAISE(const auto result, tiering::Round(options, round).Run());
  ASSIGN_OR_RAISE(const int64_t end_offset, RecordedEnd(tables_.at(handout.table_id)));
  const milliseconds takes(kRoundLeastMs + machine_.random.Below(kRoundMostMs - kRoundLeastMs + 1));
  running_.push_back({round, Now() + takes, result.more, end_offset});
  return Status::OK();
}

Status FreshnessWorkload::EndRounds() {
  for (const Running& round : running_) {
    if (round.ends > Now()) continue;
    RETURN_NOT_OK(
        queue_->Finish(round.handout.table_id, round.handout.tiering_epoch, round.more, Now()));
    Show(&tables_.at(round.handout.table_id), round.end_offset);
  }
  std::erase_if(running_, [&](const Running& round) { return round.ends <= Now(); });
  return Status::OK();
}

// While the machine was off nothing could be tiered.
Status FreshnessWorkload::CheckAges() const {
  for (const auto& [id, table] : tables_) {
    if (table.waiting.empty()) continue;
    const Time age = Now() - std::max(table.waiting.front().arrived, opened_);
    if (age > kFreshness)
      return Broken("a row of table ", id, " waits for ", age.count(), " ms, freshness is ",
                    kFreshness.count());
  }
  return Status::OK();
}

}  // namespace

std::unique_ptr<Workload> MakeFreshnessWorkload(Machine& machine) {
  return std::make_unique<FreshnessWorkload>(machine);
}

}  // namespace sluice::sim
