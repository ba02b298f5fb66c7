#include "base/log.h"
#include "coordinator/auto_partition.h"
#include "coordinator/ddl.h"
#include "coordinator/table_options.h"
#include "io/crash_point.h"
#include "types/table_options.h"

namespace sluice::coordinator {

namespace {
// A round is some seconds at most, and one whose partition is gone ends before it commits.
constexpr std::chrono::milliseconds kRoundLook{20};
constexpr int kRoundLooksMax = 500;
}  // namespace

void Ddl::NoteDropped(const meta::TableState& table, const std::string& partition) {
  const std::optional<int64_t> round = options_.round_of(table.info.table_id);
  if (!round.has_value()) return;
  DroppedInRound& dropped = dropped_[table.info.table_id];
  if (dropped.round != *round) dropped = {.round = *round, .partitions = {}};
  dropped.partitions.insert(partition);
}

bool Ddl::RoundMayHold(const meta::TableState& table, const std::string& partition) const {
  const auto found = dropped_.find(table.info.table_id);
  return found != dropped_.end() && found->second.partitions.contains(partition) &&
         options_.round_of(table.info.table_id) == found->second.round;
}

io::Task<Status> Ddl::CheckLakePartition(meta::TablePtr table, types::PartitionInfo partition) {
  const types::TableDescriptor& descriptor = table->info.descriptor;
  // Tiering may have been on before.
  const bool tiered = LakeEnabled(descriptor) || table->LatestLakeSnapshot() != nullptr;
  if (options_.lake == nullptr || !descriptor.has_primary_key() || !tiered) co_return Status::OK();
  auto check = [lake = options_.lake, path = table->info.path, values = partition.values] {
    return lake->CheckPartitionEmpty(path, values);
  };
  co_return co_await options_.pool->Run(*options_.loop, std::move(check));
}

Status Ddl::CheckNewPartition(const meta::TableState& table,
                              const std::vector<std::string>& values) const {
  ASSIGN_OR_RAISE(const AutoPartition by_time, AutoPartition::Of(table.info.descriptor));
  RETURN_NOT_OK(by_time.Check(values[by_time.key_index()], options_.clock->NowMs()));
  const auto most = static_cast<size_t>(options_.settings->max_partition_number);
  if (table.partitions.size() < most) return Status::OK();
  return Error(ErrorCode::kPartitionMaxNum, "too many partitions table=", table.info.path,
               " max.partition.num=", most);
}

io::Task<Status> Ddl::CreatePartition(types::TablePath path, PartitionSpec spec,
                                      bool ignore_if_exists, Still still) {
  for (int look = 0; look < kRoundLooksMax; ++look) {
    auto done = co_await TryCreatePartition(path, spec, ignore_if_exists, still);
    CO_RETURN_NOT_OK(done);
    if (*done) co_return Status::OK();
    co_await io::Sleep(*options_.loop, kRoundLook);
  }
  co_return Error(ErrorCode::kRequestTimeOut,
                  "a tiering round may still write a dropped partition of this name table=", path);
}

// False: a round may still bring rows of a dropped partition of this name into the lake.
io::Task<Result<bool>> Ddl::TryCreatePartition(types::TablePath path, PartitionSpec spec,
                                               bool ignore_if_exists, Still still) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  CO_ASSIGN_OR_RETURN(const meta::TablePtr table, state()->Table(path));
  if (still && !still(*table)) co_return true;
  CO_ASSIGN_OR_RETURN(std::vector<std::string> values,
                      PartitionValues(table->info, spec, /*creating=*/true));
  const types::PartitionInfo named{.values = values};
  const bool exists = table->FindPartition(named.Name()) != nullptr;
  if (exists && ignore_if_exists) co_return true;
  if (!exists) {
    CO_RETURN_NOT_OK(CheckNewPartition(*table, values));
    CO_RETURN_NOT_OK(CheckRoom(table->info.descriptor));
    if (table->info.descriptor.has_primary_key() && RoundMayHold(*table, named.Name()))
      co_return false;
    Status empty = co_await CheckLakePartition(table, named);
    CO_RETURN_NOT_OK(empty);
  }
  CO_ASSIGN_OR_RETURN(auto buckets, Assign(table->info.descriptor));
  CO_ASSIGN_OR_RETURN(const meta::PartitionPtr partition,
                      options_.catalog->CreatePartition(path, std::move(values), std::move(buckets),
                                                        table->info.remote_data_dir));
  CRASH_POINT("ddl.create-partition.after-commit");
  LogInfo("created partition table={} partition={} partition_id={}", path.ToString(),
          partition->info.Name(), partition->info.partition_id);
  Status told = co_await options_.link->TellCreated(state()->FindTable(path), partition);
  LogUntold(told, path);
  co_return true;
}

}  // namespace sluice::coordinator
