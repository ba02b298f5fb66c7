#include "tablet/tablet_service.h"

#include "tablet/calls.h"
#include "tablet/tablet_core.h"
#include "wire/api.h"

namespace sluice::tablet {
namespace {

using CallFunction = Reply (*)(TabletCorePtr core, io::Loop& loop, io::Call call);

// Null for a call that this server does not answer.
CallFunction FunctionOf(int16_t api_key) {
  switch (static_cast<wire::ApiKey>(api_key)) {
    case wire::ApiKey::kProduceLog:
      return ProduceLog;
    case wire::ApiKey::kListOffsets:
      return ListOffsets;
    case wire::ApiKey::kPutKv:
      return PutKv;
    case wire::ApiKey::kLookup:
      return Lookup;
    case wire::ApiKey::kPrefixLookup:
      return PrefixLookup;
    case wire::ApiKey::kLimitScan:
      return LimitScan;
    case wire::ApiKey::kScanKv:
      return ScanKv;
    case wire::ApiKey::kGetTableStats:
      return GetTableStats;
    case wire::ApiKey::kInitWriter:
      return InitWriter;
    case wire::ApiKey::kNotifyLeaderAndIsr:
      return NotifyLeaderAndIsr;
    case wire::ApiKey::kStopReplica:
      return StopReplica;
    case wire::ApiKey::kUpdateMetadata:
      return UpdateMetadata;
    case wire::ApiKey::kNotifyLakeTableOffset:
      return NotifyLakeTableOffset;
    default:
      return nullptr;
  }
}

Status NotOffered(int16_t api_key) {
  const wire::ApiInfo* api = wire::FindApi(api_key);
  return Error(ErrorCode::kUnsupportedVersion,
               "tablet server does not answer the call key=", api_key,
               " name=", api == nullptr ? "unknown" : api->name);
}

}  // namespace

TabletService::TabletService(TabletOptions options)
    : core_(std::make_shared<TabletCore>(std::move(options))) {}
TabletService::~TabletService() = default;

io::Task<Status> TabletService::Start(io::Loop& loop) { return core_->Start(loop); }
void TabletService::EndWaits() { core_->EndWaits(); }
io::Task<Status> TabletService::Stop(io::Loop& loop) { return core_->Stop(loop); }

io::Task<Result<io::Payload>> TabletService::Handle(io::Loop& loop,
                                                    std::shared_ptr<const io::Principal> principal,
                                                    io::Call call) {
  const bool fetches = call.api_key == static_cast<int16_t>(wire::ApiKey::kFetchLog);
  const CallFunction function = FunctionOf(call.api_key);
  if (!fetches && function == nullptr) co_return NotOffered(call.api_key);
  const TabletCorePtr core = core_;
  const auto pass = core->gate().Enter();
  if (!pass) co_return Error(ErrorCode::kNotLeaderOrFollower, "tablet server is stopping");
  Reply running = fetches ? FetchLog(core, loop, std::move(call), std::move(principal))
                          : function(core, loop, std::move(call));
  auto answer = co_await std::move(running);
  if (!answer.ok()) co_return ForClient(answer.status(), nullptr, core->options().data_dir);
  co_return answer;
}

int64_t TabletService::call_bytes() const { return core_->call_budget()->used_bytes(); }

uint64_t TabletService::write_back_bytes() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < core_->shard_count(); ++i) sum += core_->shard(i).saver().key_bytes();
  return sum;
}

TabletService::OpeningBytes TabletService::opening_bytes() const {
  OpeningBytes sum;
  for (size_t i = 0; i < core_->shard_count(); ++i) {
    const Saver& saver = core_->shard(i).saver();
    sum.scanned += saver.scanned_bytes();
    sum.replayed += saver.replayed_bytes();
  }
  return sum;
}

uint64_t TabletService::skipped_batches() const { return core_->skipped_batches(); }

SnapshotCounts TabletService::snapshot_counts() const {
  SnapshotCounts sum;
  for (size_t i = 0; i < core_->shard_count(); ++i) {
    const SnapshotCounts counts = core_->shard(i).snapshots().counts();
    sum.made += counts.made;
    sum.failed += counts.failed;
    sum.copied_bytes += counts.copied_bytes;
  }
  return sum;
}

io::Task<std::vector<BucketStatus>> TabletService::Buckets(io::Loop& loop) {
  return core_->Statuses(loop);
}

}  // namespace sluice::tablet
