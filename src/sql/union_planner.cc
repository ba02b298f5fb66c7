#include <algorithm>
#include <numeric>
#include <set>

#include "base/log.h"
#include "sql/key_store_internal.h"
#include "types/table_options.h"

namespace sluice::sql {

namespace {

// Of the table, or of one of its partitions.
io::Task<Result<std::map<int32_t, int64_t>>> OffsetsOf(io::Loop& loop, client::Admin admin,
                                                       types::TableInfo table,
                                                       std::optional<int64_t> partition_id,
                                                       client::OffsetType type) {
  std::vector<int32_t> buckets(static_cast<size_t>(table.descriptor.bucket_count.value_or(1)));
  std::iota(buckets.begin(), buckets.end(), 0);
  co_return co_await admin.ListOffsets(loop, table.path, table.table_id, partition_id,
                                       std::move(buckets), type, -1);
}

std::map<UnionBucket, int64_t> LakeOffsets(const client::LakeSnapshot& readable,
                                           const UnionRead& read) {
  std::map<int64_t, std::string> names;
  for (const auto& [name, partition] : read.partitions) names[partition.partition_id] = name;
  std::map<UnionBucket, int64_t> offsets;
  for (const client::LakeBucketOffset& offset : readable.buckets) {
    const auto name = offset.partition_id ? names.find(*offset.partition_id) : names.end();
    if (offset.partition_id && name == names.end()) continue;  // Lives in the lake alone.
    offsets[{offset.partition_id ? name->second : "", offset.bucket}] = offset.log_end_offset;
  }
  return offsets;
}

}  // namespace

Result<std::shared_ptr<const UnionRead>> UnionPlanner::Plan(const types::TablePath& path) const {
  for (int plans = 1;; ++plans) {
    auto read = PlanOnce(path);
    if (read.ok() || !IsOvertaken(read.status())) return read;
    if (plans == kPlansMax) {
      const Status& why = read.status();
      return why.WithMessage(why.message(), ", also when planned anew, table=", path,
                             " plans=", plans);
    }
    ++*planned_anew;
    LogInfo("read is planned anew table={} reason={}", path.ToString(), read.status().message());
  }
}

Result<std::shared_ptr<const UnionRead>> UnionPlanner::PlanOnce(
    const types::TablePath& path) const {
  client::Admin admin(cluster);
  auto read = std::make_shared<UnionRead>();
  read->cluster = cluster;
  read->interruption = interruption;
  read->loop = &loop;
  read->memory = memory;
  read->passing = passing;
  ASSIGN_OR_RAISE(read->table, interruption->Wait(loop, admin.GetTable(loop, path)));
  const types::TableDescriptor& table = read->table.descriptor;
  UnionFacts facts{.primary_key = table.has_primary_key()};

  // First the readable snapshot with its offsets: later the log can only have grown.
  ASSIGN_OR_RAISE(const auto readable, Readable(path));
  if (readable) {
    facts.snapshot_id = readable->snapshot_id;
    RETURN_NOT_OK(TakeLake(path, readable->snapshot_id, read.get()));
  }
  // Then the high watermarks.
  if (table.partitioned()) {
    client::PartitionSpec all;
    ASSIGN_OR_RAISE(const auto listed,
                    interruption->Wait(loop, admin.ListPartitions(loop, path, std::move(all))));
    for (const types::PartitionInfo& partition : listed)
      read->partitions[partition.Name()] = partition;
  }
  ASSIGN_OR_RAISE(facts.high_watermarks, Offsets(*read, client::OffsetType::kLatest));
  if (readable) facts.lake_offsets = LakeOffsets(*readable, *read);
  read->plan = PlanUnion(facts);

  if (scans > 1 && table.has_primary_key() && !KeepsOldRows(table))
    read->kept = std::make_shared<KeptKeys>(memory);
  RETURN_NOT_OK(FixStarts(read.get()));
  return read;
}

namespace {

// Whether it matters where the log of a part starts.
bool NeedsStart(const UnionPart& part) {
  return part.base != UnionPart::Base::kKeys && part.reads_log();
}

// Up to where the lake of the plan has the bucket; -1 = not at all.
int64_t LakeEnd(const UnionPart& part) {
  return part.base == UnionPart::Base::kLake ? part.log_from : -1;
}

}  // namespace

// "The start" of a log that moves to the lake may pass rows which were moved since, and that of any
// log may differ between two scans: fix where it is now. A start learned before a snapshot that
// has no more of the bucket has lost no row to the lake: one past the lake's end is of records that
// expired while tiering was switched off.
Status UnionPlanner::FixStarts(UnionRead* read) const {
  const bool moves = types::LakeEnabled(read->table.descriptor) || read->plan.snapshot_id;
  if (!std::ranges::any_of(read->plan.parts, NeedsStart) || (!moves && scans == 1))
    return Status::OK();
  const types::TablePath& path = read->table.path;
  std::set<std::string> wanted;
  for (const UnionPart& part : read->plan.parts) {
    if (NeedsStart(part)) wanted.insert(part.bucket.partition);
  }
  ASSIGN_OR_RAISE(const auto starts, Offsets(*read, client::OffsetType::kEarliest, &wanted));
  const auto starts_late = [&starts](const UnionPart& part) {
    const auto start = starts.find(part.bucket);
    return NeedsStart(part) && start != starts.end() && start->second > LakeEnd(part);
  };
  std::map<UnionBucket, int64_t> moved;
  if (moves && std::ranges::any_of(read->plan.parts, starts_late)) {
    ASSIGN_OR_RAISE(const auto later, Readable(path));
    if (later) moved = LakeOffsets(*later, *read);
  }
  for (UnionPart& part : read->plan.parts) {
    if (!starts_late(part)) continue;
    const auto offset = moved.find(part.bucket);
    if (offset != moved.end() && offset->second > LakeEnd(part))
      return Error(ErrorCode::kLogOffsetOutOfRange,
                   "log moved to the lake while the read was planned, table=", path, " ",
                   read->IdOf(part.bucket), " offset=", offset->second);
    const int64_t start = starts.at(part.bucket);
    if (part.base == UnionPart::Base::kNothing) {
      part.log_from = start;
    } else {
      PassGap(&part, read->table.descriptor.has_primary_key(), start);
    }
  }
  return Status::OK();
}

Result<std::optional<client::LakeSnapshot>> UnionPlanner::Readable(
    const types::TablePath& path) const {
  auto readable = interruption->Wait(
      loop, client::Admin(cluster).GetLakeSnapshot(loop, path, std::nullopt, /*readable=*/true));
  const ErrorCode code = CodeOf(readable.status());
  if (code == ErrorCode::kLakeSnapshotNotExist || code == ErrorCode::kLakeStorageNotConfigured)
    return std::nullopt;
  RETURN_NOT_OK(readable.status());
  return std::move(readable).ValueUnsafe();
}

Status UnionPlanner::TakeLake(const types::TablePath& path, int64_t snapshot_id,
                              UnionRead* read) const {
  ASSIGN_OR_RAISE(read->lake, open_lake(path));
  ASSIGN_OR_RAISE(read->pin, LakePin::Take(read->lake, path, snapshot_id, unpinned));
  ASSIGN_OR_RAISE(const lake::LakeSnapshot snapshot, read->lake->SnapshotById(snapshot_id));
  auto plan = read->lake->Plan(snapshot, {});
  if (!plan.ok()) return LakeError(*read->lake, plan.status());
  read->lake_plan = std::move(plan).ValueUnsafe();
  return Status::OK();
}

Result<std::map<UnionBucket, int64_t>> UnionPlanner::Offsets(
    const UnionRead& read, client::OffsetType type, const std::set<std::string>* wanted) const {
  std::vector<std::pair<std::string, std::optional<int64_t>>> partitions;
  if (!read.table.descriptor.partitioned()) partitions.emplace_back("", std::nullopt);
  for (const auto& [name, partition] : read.partitions) {
    if (wanted == nullptr || wanted->contains(name))
      partitions.emplace_back(name, partition.partition_id);
  }
  std::map<UnionBucket, int64_t> all;
  for (const auto& [name, id] : partitions) {
    const auto offsets =
        interruption->Wait(loop, OffsetsOf(loop, client::Admin(cluster), read.table, id, type));
    if (CodeOf(offsets.status()) == ErrorCode::kPartitionNotExists) continue;  // Dropped just now.
    RETURN_NOT_OK(offsets.status());
    for (const auto& [bucket, offset] : *offsets) all[{name, bucket}] = offset;
  }
  return all;
}

}  // namespace sluice::sql
