#include <algorithm>

#include "base/log.h"
#include "coordinator/auto_partition.h"
#include "coordinator/partition_keeper_internal.h"

namespace sluice::coordinator {

namespace {

std::optional<AutoPartition> RulesOf(const meta::TableState& table) {
  if (!table.partitioned()) return std::nullopt;
  auto rules = AutoPartition::Of(table.info.descriptor);
  if (!rules.ok()) {  // Made under other rules, or its time zone is gone from the machine.
    LogWarn("partitions by time are not kept table={} cause={}", table.info.path.ToString(),
            rules.status().ToString());
    return std::nullopt;
  }
  return rules->enabled() ? std::make_optional(*std::move(rules)) : std::nullopt;
}

// By the options that the table has.
bool IsOver(const meta::TableState& table, const std::vector<std::string>& values, int64_t now_ms) {
  const std::optional<AutoPartition> rules = RulesOf(table);
  if (!rules.has_value()) return false;
  const std::optional<std::string> first = rules->FirstKept(now_ms);
  return first.has_value() && values[rules->key_index()] < *first;
}

std::vector<std::string> WantedBy(const meta::TableState& table, int64_t now_ms, int64_t most) {
  const std::optional<AutoPartition> rules = RulesOf(table);
  return rules.has_value() ? rules->Wanted(now_ms, most) : std::vector<std::string>();
}

bool IsWanted(const meta::TableState& table, const std::string& value, int64_t now_ms,
              int64_t most) {
  return std::ranges::count(WantedBy(table, now_ms, most), value) > 0;
}

PartitionSpec SpecOfValues(const meta::TableState& table, const std::vector<std::string>& values) {
  PartitionSpec spec;
  const auto& keys = table.info.descriptor.partition_keys;
  for (size_t i = 0; i < keys.size(); ++i) spec.emplace_back(keys[i], values[i]);
  return spec;
}

}  // namespace

void PartitionKeeper::Start() {
  stopped_ = false;
  io::Spawn(KeepAll(shared_from_this()));
}

io::Task<void> PartitionKeeper::Stop() {
  stopped_ = true;
  if (timer_.has_value()) options_.loop->Cancel(*timer_);
  timer_.reset();
  co_await looks_.CloseAndWait(*options_.loop);
}

void PartitionKeeper::Arm() {
  const std::chrono::milliseconds interval(options_.settings->auto_partition_interval_ms);
  timer_ = options_.loop->After(interval, [self = shared_from_this()] {
    self->timer_.reset();
    if (!self->stopped_) io::Spawn(KeepAll(self));
  });
}

io::Task<void> PartitionKeeper::KeepAll(std::shared_ptr<PartitionKeeper> self) {
  const auto pass = self->looks_.Enter();
  std::vector<types::TablePath> paths;
  const meta::CatalogStatePtr state = self->options_.catalog->state();
  for (const auto& [table_id, table] : state->tables_by_id) {
    if (table->partitioned()) paths.push_back(table->info.path);
  }
  for (const types::TablePath& path : paths) {
    if (self->stopped_) break;
    co_await Keep(self, path);
  }
  if (!self->stopped_) self->Arm();
}

io::Task<void> PartitionKeeper::Keep(std::shared_ptr<PartitionKeeper> self, types::TablePath path) {
  const meta::TablePtr table = self->options_.catalog->state()->FindTable(path);
  if (table == nullptr || !RulesOf(*table).has_value()) co_return;
  const int64_t now_ms = self->options_.clock->NowMs();
  co_await self->DropOver(table, now_ms);
  co_await self->CreateWanted(table, now_ms);
}

io::Task<void> PartitionKeeper::DropOver(meta::TablePtr table, int64_t now_ms) {
  std::vector<std::vector<std::string>> over;
  for (const auto& [name, partition] : table->partitions) {
    if (IsOver(*table, partition->info.values, now_ms)) over.push_back(partition->info.values);
  }
  for (const std::vector<std::string>& values : over) {
    if (stopped_) co_return;
    PartitionSpec spec = SpecOfValues(*table, values);
    Ddl::Still still = [table_id = table->info.table_id, values,
                        now_ms](const meta::TableState& now) {
      return now.info.table_id == table_id && IsOver(now, values, now_ms);
    };
    const Status dropped =
        co_await options_.ddl->DropPartition(table->info.path, std::move(spec),
                                             /*ignore_if_not_exists=*/true, std::move(still));
    if (CodeOf(dropped) == ErrorCode::kTableNotExist) co_return;
    if (!dropped.ok()) {
      LogWarn("a partition that is over is not dropped yet table={} partition={} cause={}",
              table->info.path.ToString(), types::PartitionInfo{.values = values}.Name(),
              dropped.ToString());
    }
  }
}

io::Task<void> PartitionKeeper::CreateWanted(meta::TablePtr table, int64_t now_ms) {
  // With several columns nobody knows the values of the others: writers make those partitions.
  if (table->info.descriptor.partition_keys.size() > 1) co_return;
  const int64_t most = options_.settings->max_partition_number;
  const std::vector<std::string> wanted = WantedBy(*table, now_ms, most);
  for (const std::string& value : wanted) {
    if (table->FindPartition(value) != nullptr) continue;
    if (stopped_) co_return;
    Status created = options_.may_create();
    if (created.ok()) {
      std::vector<std::string> values{value};
      PartitionSpec spec = SpecOfValues(*table, values);
      Ddl::Still still = [table_id = table->info.table_id, value, now_ms,
                          most](const meta::TableState& now) {
        return now.info.table_id == table_id && IsWanted(now, value, now_ms, most);
      };
      created = co_await options_.ddl->CreatePartition(table->info.path, std::move(spec),
                                                       /*ignore_if_exists=*/true, std::move(still));
    }
    if (created.ok()) continue;
    if (CodeOf(created) == ErrorCode::kTableNotExist) co_return;
    LogWarn("a partition by time is not made yet table={} partition={} cause={}",
            table->info.path.ToString(), value, created.ToString());
    if (CodeOf(created) == ErrorCode::kPartitionMaxNum) co_return;  // So it is for the others.
  }
}

}  // namespace sluice::coordinator
