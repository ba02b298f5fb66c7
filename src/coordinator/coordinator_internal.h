#pragma once
#include <memory>
#include <optional>
#include <string>

#include "coordinator/coordinator.h"
#include "coordinator/ddl.h"
#include "coordinator/kv_snapshots_internal.h"
#include "coordinator/lake_snapshots_internal.h"
#include "coordinator/partition_keeper_internal.h"
#include "coordinator/producer_offsets_internal.h"
#include "coordinator/tablet_link.h"
#include "coordinator/tiering_desk_internal.h"
#include "shard/gate.h"
#include "wire/api.h"

namespace sluice::coordinator {

/// The coordinator's parts, confined to its loop.
struct CoordinatorCore : std::enable_shared_from_this<CoordinatorCore> {
  explicit CoordinatorCore(Coordinator::Options given);

  io::Task<Status> Start();
  io::Task<void> Stop();
  io::Task<Result<io::Payload>> Serve(io::Call call);
  Result<int64_t> NewWriterId();
  Status CheckWrite() const {
    return options.disk == nullptr ? Status::OK() : options.disk->CheckWrite();
  }
  /// Tell the tablet servers everything once more, after a while.
  void TellAgain();
  static io::Task<void> TellNow(std::shared_ptr<CoordinatorCore> self);
  /// Remove expired producer offsets, now and then again.
  void SweepProducers();

  Coordinator::Options options;
  TabletLink link;
  Ddl ddl;
  LakeSnapshots lake_snapshots;
  ProducerOffsets producers;
  std::shared_ptr<KvSnapshots> kv_snapshots;
  std::shared_ptr<TieringDesk> desk;
  std::shared_ptr<PartitionKeeper> keeper;

  bool in_office = false;
  shard::Gate calls;  ///< Those under way hold it, so that Stop can wait for them.

  std::optional<io::Loop::TimerId> sweep_timer;
  std::optional<io::Loop::TimerId> tell_timer;
  std::chrono::milliseconds tell_delay{};
  int64_t next_writer_id = 0;
  int64_t writer_ids_left = 0;
};

/// Answers one call; null when the coordinator has no such call.
using CallHandler = io::Task<Result<io::Payload>> (*)(CoordinatorCore& core, std::string body);
CallHandler FindHandler(int16_t api_key);
/// True for a call that makes the metadata grow, so that a nearly full disk refuses it. Drops are
/// not among them: they make room.
bool AddsMetadata(int16_t api_key);
/// What a request of this call may hold: its work is done on the coordinator's loop, and what it
/// adds stays in memory. No bound of its own for calls of servers and of tiering, which are bounded
/// by the buckets that there are.
size_t BodyBytesMax(int16_t api_key);

}  // namespace sluice::coordinator
