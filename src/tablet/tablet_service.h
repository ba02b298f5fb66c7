#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "io/disk_guard.h"
#include "io/file.h"
#include "io/pool.h"
#include "io/random.h"
#include "io/remote_folder.h"
#include "io/transport.h"
#include "kv/key_store.h"
#include "log/log.h"
#include "shard/shards.h"
#include "tablet/table_source.h"
#include "types/ids.h"

namespace sluice::tablet {

/// Settings that may change while the server runs, and are read each time. Threads: any.
struct LiveOptions {
  /// kv.snapshot.interval
  std::atomic<std::chrono::milliseconds> kv_snapshot_interval{std::chrono::milliseconds(600'000)};
  /// log.retention.roll-active-segment.enabled
  std::atomic<bool> roll_active_segment{false};
};

/// What a tablet server runs on and with. The pointers outlive the service.
struct TabletOptions {
  int32_t server_id = 0;
  std::string data_dir;  ///< `data.dir`; laid out as docs/formats/log.md says.
  const TableSource* tables = nullptr;
  shard::Shards* shards = nullptr;  ///< Each bucket lives on one of them.
  io::FileSystem* files = nullptr;
  io::Clock* clock = nullptr;
  io::Random* random = nullptr;
  io::Pool* read_pool = nullptr;   ///< Reads that would wait for the device.
  io::Pool* sync_pool = nullptr;   ///< fsync and checkpoints.
  io::Pool* flush_pool = nullptr;  ///< Moves of keys to the stores.
  /// Files in remote storage, which may be slow: nothing else waits for it. Null: there is none.
  io::Pool* remote_pool = nullptr;
  const io::DiskGuard* remote_disk = nullptr;  ///< Of remote storage, as `disk`.
  io::RemoteFolder remote_folder;              ///< Where `remote_disk` must be for any change.
  /// Sends a call to the coordinator, as of a server; its reply. Null = there is none.
  std::function<io::Task<Result<std::string>>(io::Loop& loop, io::Call call)> call_coordinator;
  kv::KeyStores* key_stores = nullptr;
  const io::DiskGuard* disk = nullptr;  ///< Of the data folder; null = writes are always taken.
  /// INIT_WRITER: a writer id never given before (the coordinator's).
  std::function<io::Task<Result<int64_t>>(io::Loop& loop)> new_writer_id;
  /// Take `count` values of a table's auto-increment column that nobody has; the first of them.
  std::function<io::Task<Result<int64_t>>(io::Loop& loop, int64_t table_id, int64_t count)>
      new_column_ids;

  /// Copies of KV snapshots, a thread for each shard; null = none are made.
  io::Pool* snapshot_pool = nullptr;
  std::shared_ptr<LiveOptions> live = std::make_shared<LiveOptions>();  ///< Never null.

  log::LogOptions log;                          ///< `files` is ours to fill.
  size_t open_files_max = 512;                  ///< Log files that stay open, per shard.
  size_t write_back_bytes_max = 64 << 20;       ///< Keys in memory, per bucket.
  uint64_t write_back_share_bytes = 256 << 20;  ///< The same, all buckets together.
  /// What a restart after a kill may have to check of logs, and to replay into keys, all buckets
  /// together; what it had to, beyond `save_soon_bytes_min`, is saved as soon as the bucket is up.
  uint64_t unsaved_log_bytes_max = 128 << 20;
  uint64_t replay_bytes_max = 64 << 20;
  uint64_t save_soon_bytes_min = 256 << 10;
  /// A clean stop moves all keys to the stores; what it has not begun to move by then is replayed
  /// by the next start.
  std::chrono::milliseconds stop_moves_max{10'000};
  /// What all calls together hold beside their requests: see CallMemory.
  uint64_t call_bytes_max = 256 << 20;
  size_t waiting_puts_bytes_max = 8 << 20;  ///< Puts of one bucket that wait for a read.
  std::chrono::milliseconds recovery_checkpoint_interval{60'000};
  std::chrono::milliseconds checkpoint_file_interval{5'000};  ///< Saves of recovery points.
  std::chrono::milliseconds retention_interval{300'000};
  /// Between two copies of closed segments to remote storage; 0 = nothing is copied.
  std::chrono::milliseconds remote_log_interval{0};
  size_t remote_uploads_max = 5;  ///< Segments of a bucket that are copied at a time.
  std::chrono::milliseconds scanner_ttl{600'000};
  size_t scanners_per_bucket_max = 8;
  size_t scanners_max = 200;  ///< Per server.
};

/// A bucket as pages and metrics show it.
struct BucketStatus {
  types::BucketId id;
  bool leader = false;
  int32_t leader_epoch = 0;
  int64_t log_start_offset = 0;  ///< For clients: in remote storage, or here.
  int64_t local_start_offset = 0;
  int64_t log_end_offset = 0;
  int64_t high_watermark = 0;
  int64_t recovery_point = 0;
  int64_t lake_end_offset = -1;  ///< -1 = not tiered.
  uint64_t log_size_bytes = 0;
  uint64_t write_back_bytes = 0;
  uint64_t unsaved_log_bytes = 0;     ///< A restart after a kill would check them.
  uint64_t replay_bytes = 0;          ///< And replay these into the keys.
  uint64_t opened_scan_bytes = 0;     ///< What the last opening had to check,
  uint64_t opened_replay_bytes = 0;   ///< and to replay.
  int64_t remote_end_offset = -1;     ///< Exclusive; -1 = nothing is in remote storage.
  int64_t remote_copied_offset = -1;  ///< Everything below it was copied there once.
  size_t remote_segments = 0;
  uint64_t remote_size_bytes = 0;
  uint64_t remote_copied_segments = 0;  ///< Since the bucket was opened, as what follows.
  uint64_t remote_copied_bytes = 0;
  uint64_t remote_copy_errors = 0;
};

/// KV snapshots since the start.
struct SnapshotCounts {
  uint64_t made = 0;
  uint64_t failed = 0;
  uint64_t copied_bytes = 0;
};

class TabletCore;

/// The calls of tablet scope over the replicas of this server.
///
/// A request is cut by bucket where it arrived; its parts go to the owner shards in order of
/// arrival, and the last answer releases the reply. Threads: Handle and the other tasks may start
/// on any loop and go on there when they are done.
class TabletService : public io::Service {
 public:
  explicit TabletService(TabletOptions options);
  ~TabletService() override;

  /// Take the data folder (one process at a time) and start the timers. Replicas open when the
  /// coordinator names their leaders. Errors: kStorage when another process holds the folder.
  io::Task<Status> Start(io::Loop& loop);
  /// Answer the fetches that wait for data, and let none wait any more: whoever stops the listeners
  /// waits for the calls that came by them. Threads: any.
  void EndWaits();
  /// Refuse new calls, let waiting ones go, close every replica cleanly. To be awaited before the
  /// object goes.
  io::Task<Status> Stop(io::Loop& loop);

  /// Errors: per bucket inside the reply wherever the protocol has a place for them;
  /// kUnsupportedVersion for a call that is not ours.
  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override;

  /// All replicas of this server.
  io::Task<std::vector<BucketStatus>> Buckets(io::Loop& loop);
  /// Memory of all write-back tables. Threads: any.
  uint64_t write_back_bytes() const;
  /// What calls hold beside their requests, as far as it counts. Threads: any.
  int64_t call_bytes() const;
  /// What openings had to check of logs, and to replay into keys. Threads: any.
  struct OpeningBytes {
    uint64_t scanned = 0;
    uint64_t replayed = 0;
  };
  OpeningBytes opening_bytes() const;
  /// Threads: any.
  SnapshotCounts snapshot_counts() const;
  /// Log batches that filters left out of fetches, since the start. Threads: any.
  uint64_t skipped_batches() const;

 private:
  std::shared_ptr<TabletCore> core_;
};

}  // namespace sluice::tablet
