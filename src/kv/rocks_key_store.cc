#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "io/crash_point.h"
#include "kv/key_store.h"
#include "kv/open_db_internal.h"
#include "rocks/full_disk.h"
#include "rocks/open_files.h"

namespace sluice::kv {
namespace {

constexpr char kDbFolder[] = "db";
constexpr char kLastNewFile[] = "CURRENT";
// Written at a clean close, so that a bucket that nobody touches need not be opened at start.
constexpr char kClosedFile[] = "applied";

// What a flush must leave free on the device: RocksDB writes its manifest beside the keys.
constexpr uint64_t kReservedBytes = 4 << 20;

constexpr size_t kCheckCacheBytes = 1 << 20;

rocksdb::Options DbOptions(const RocksOptions& options,
                           const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;           // RocksDB 6.20 of the Java clients reads no later one,
  table.checksum = rocksdb::kCRC32c;  // nor the newer checksums.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = cache;
  // Lookups find their key in a block by hash. RocksDB reads such blocks since 5.15.
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  // What a flush writes is what was put last, and is read next.
  table.prepopulate_block_cache =
      rocksdb::BlockBasedTableOptions::PrepopulateBlockCache::kFlushOnly;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  rocksdb::Options db;
  db.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.atomic_flush = true;  // Keys and applied offset reach the disk as one.
  db.compression = rocksdb::kLZ4Compression;
  db.bottommost_compression = rocksdb::kZSTD;
  db.level_compaction_dynamic_level_bytes = true;
  rocks::KeepFilesOpen(&db, options.open_files_max);
  db.max_background_jobs = options.background_threads;
  db.max_file_opening_threads = 1;
  db.skip_stats_update_on_db_open = true;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  rocks::FailWithoutAborting(&db);
  db.avoid_flush_during_shutdown = true;  // Every Write flushes; what failed comes again.
  if (options.env != nullptr) db.env = options.env;
  db.max_manifest_file_size = 4 << 20;
  return db;
}

using Values = OpenDb::Values;

class EmptyCursor : public KeyStore::Cursor {
 public:
  void Seek(std::string_view) override {}
  bool valid() const override { return false; }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  void Next() override {}
  Status status() const override { return Status::OK(); }
};

// Of a store that would have to be opened first.
class ClosedCursor : public EmptyCursor {
 public:
  bool missed() const override { return true; }
};

class RocksKeyStore : public KeyStore {
 public:
  RocksKeyStore(io::FileSystem& files, std::string folder, rocksdb::Options options,
                std::shared_ptr<IdleIterators> idle)
      : files_(files),
        folder_(std::move(folder)),
        options_(std::move(options)),
        idle_(std::move(idle)) {}

  Result<Applied> applied() override {
    const std::lock_guard lock(opening_);
    if (Current().db == nullptr) {
      const auto closed = files_.ReadFile(ClosedFile());
      if (closed.ok()) {
        const auto parsed = ParseApplied(*closed);
        if (parsed.ok()) return parsed;
        LogWarn("clean-close mark is damaged, the store is opened instead folder={}", folder_);
      }
    }
    ASSIGN_OR_RAISE(const auto db, OpenLocked(/*create=*/false));
    return db == nullptr ? Result<Applied>(Applied{}) : db->ReadApplied();
  }

  Result<Values> Get(std::span<const std::string_view> keys) override {
    ASSIGN_OR_RAISE(const auto db, Open(/*create=*/false));
    if (db == nullptr) return Values(keys.size());
    return db->Get(keys);
  }

  Result<std::optional<Values>> GetCached(std::span<const std::string_view> keys) override {
    const State now = Current();
    if (now.db != nullptr) return now.db->GetCached(keys);
    if (!now.absent) return std::nullopt;  // Opening it takes a while.
    return std::optional<Values>(Values(keys.size()));
  }

  Result<std::unique_ptr<Cursor>> NewCursor(CursorUse use) override {
    State now = Current();
    if (now.db == nullptr && now.absent) return std::make_unique<EmptyCursor>();
    if (now.db == nullptr && use == CursorUse::kCached) return std::make_unique<ClosedCursor>();
    ASSIGN_OR_RAISE(auto db, Open(/*create=*/false));
    if (db == nullptr) return std::make_unique<EmptyCursor>();
    return db->NewCursor(use);
  }

  Status Write(std::span<const Change> changes, Applied applied) override {
    const std::lock_guard whole(writing_);
    ASSIGN_OR_RAISE(const auto db, OpenForWrite());
    RETURN_NOT_OK(CheckSpace(changes));
    const Status written = db->Write(changes, applied);
    if (!written.ok()) {
      const std::lock_guard lock(opening_);
      failure_ = written;
    }
    return written;
  }

  Result<std::optional<Checkpoint>> MakeCheckpoint(const std::string& folder) override {
    // RocksDB makes it beside and renames it.
    for (const char* suffix : {"", ".tmp"}) RETURN_NOT_OK(files_.RemoveTree(folder + suffix));
    const std::lock_guard whole(writing_);
    ASSIGN_OR_RAISE(const auto db, Open(/*create=*/false));
    if (db == nullptr) return std::optional<Checkpoint>();
    RETURN_NOT_OK(CheckSpace({}));
    ASSIGN_OR_RAISE(auto made, db->MakeCheckpoint(folder));
    return std::make_optional(std::move(made));
  }

  Status Close() override {
    const std::lock_guard lock(opening_);
    auto db = Current().db;
    if (db == nullptr) return Status::OK();
    ASSIGN_OR_RAISE(const Applied applied, db->ReadApplied());
    SetCurrent({});
    db.reset();
    if (!failure_.ok()) return Status::OK();  // What was read may not be on the disk.
    return files_.ReplaceFile(ClosedFile(), EncodeApplied(applied));
  }

 private:
  std::string DbFolder() const { return io::JoinPath(folder_, kDbFolder); }
  // The last file of a new database: before it is there nothing was written.
  Result<bool> DbExists() { return files_.Exists(io::JoinPath(DbFolder(), kLastNewFile)); }
  std::string ClosedFile() const { return io::JoinPath(folder_, kClosedFile); }

  // The database once it is open; else whether it is known that there is none.
  struct State {
    std::shared_ptr<OpenDb> db;
    bool absent = false;
  };
  State Current() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  void SetCurrent(State state) {
    const std::lock_guard lock(mutex_);
    std::swap(state_, state);
  }

  Result<std::shared_ptr<OpenDb>> Open(bool create) {
    if (auto now = Current(); now.db != nullptr) return now.db;
    const std::lock_guard lock(opening_);
    return OpenLocked(create);
  }

  // RocksDB refuses every write after one that failed. Opening the database again drops what did
  // not reach the disk, which the write-back table still has.
  Result<std::shared_ptr<OpenDb>> OpenForWrite() {
    const std::lock_guard lock(opening_);
    if (failure_.ok()) return OpenLocked(/*create=*/true);
    RETURN_NOT_OK(CheckSpace({}));
    if (!LetGoUnlessRead()) {
      return Error(ErrorCode::kKvStorage, "key store failed and is read, folder=", folder_);
    }
    ASSIGN_OR_RAISE(auto db, OpenLocked(/*create=*/true));
    RETURN_NOT_OK(failure_);
    LogInfo("key store is open again after a failed write folder={}", folder_);
    return db;
  }

  bool LetGoUnlessRead() {
    State gone;  // Closed without the lock.
    const std::lock_guard lock(mutex_);
    if (state_.db.use_count() > 1) return false;
    std::swap(gone, state_);
    return true;
  }

  Status CheckSpace(std::span<const Change> changes) {
    uint64_t needed = kReservedBytes;
    for (const Change& change : changes)
      needed += change.key.size() + change.value.value_or("").size();
    ASSIGN_OR_RAISE(const auto space, files_.SpaceAt(folder_));
    if (space.free_bytes >= needed) return Status::OK();
    return Error(ErrorCode::kKvStorage, "disk is full folder=", folder_,
                 " free_bytes=", space.free_bytes, " needed_bytes=", needed);
  }

  // The database, opened at its first use; nullptr when it does not exist and shall not be made.
  Result<std::shared_ptr<OpenDb>> OpenLocked(bool create) {
    if (auto now = Current(); now.db != nullptr) return now.db;
    ASSIGN_OR_RAISE(const bool exists, DbExists());
    SetCurrent({.db = nullptr, .absent = !exists});
    if (!exists && !create) return std::shared_ptr<OpenDb>();
    // RocksDB syncs what is in its folder, not the names that lead to it; and the log is cut below
    // what was written here.
    RETURN_NOT_OK(files_.MakeFolders(DbFolder()));
    auto opened = OpenDb::Open(DbFolder(), options_, idle_, /*read_only=*/false);
    failure_ = opened.status();
    if (!opened.ok() && exists) {
      // A full disk refuses the open, which writes; reads go on.
      ASSIGN_OR_RAISE(auto db, OpenDb::Open(DbFolder(), options_, idle_, /*read_only=*/true));
      SetCurrent({.db = db});
      return db;
    }
    ASSIGN_OR_RAISE(auto db, std::move(opened));
    // From the first write on the mark would be behind the store. Synced also when it is gone: a
    // power loss could bring back what another process removed.
    ASSIGN_OR_RAISE(const bool marked, files_.Exists(ClosedFile()));
    if (marked) RETURN_NOT_OK(files_.Remove(ClosedFile()));
    CRASH_POINT("kv.mark-removed");
    RETURN_NOT_OK(files_.SyncFolder(folder_));
    SetCurrent({.db = db});
    return db;
  }

  io::FileSystem& files_;
  const std::string folder_;
  const rocksdb::Options options_;
  const std::shared_ptr<IdleIterators> idle_;

  std::mutex writing_;  // A checkpoint lies between two writes. Taken before the others.
  std::mutex opening_;  // Who opens or closes the database holds it, on a pool; guards failure_.
  // Why the database takes no writes until it is opened again; OK = it does.
  Status failure_;

  mutable std::mutex mutex_;  // Held for moments only: the shard comes here at each read.
  State state_;
};

class RocksKeyStores : public KeyStores {
 public:
  RocksKeyStores(io::FileSystem& files, const RocksOptions& options)
      : files_(files),
        options_(DbOptions(options, rocksdb::NewLRUCache(options.block_cache_bytes))) {
    options_.env->SetBackgroundThreads(options.background_threads, rocksdb::Env::LOW);
    options_.env->SetBackgroundThreads(1, rocksdb::Env::HIGH);
  }

  Result<std::shared_ptr<KeyStore>> Open(const std::string& folder) override {
    return std::make_shared<RocksKeyStore>(files_, folder, options_, idle_);
  }
  Status Remove(const std::string& folder) override { return files_.RemoveTree(folder); }

 private:
  io::FileSystem& files_;
  rocksdb::Options options_;
  const std::shared_ptr<IdleIterators> idle_ = std::make_shared<IdleIterators>();
};

}  // namespace

std::unique_ptr<KeyStores> MakeRocksStores(io::FileSystem& files, RocksOptions options) {
  return std::make_unique<RocksKeyStores>(files, options);
}

Result<StoreContent> CheckRocksStore(io::FileSystem& files, const std::string& folder) {
  StoreContent content;
  const auto closed = files.ReadFile(io::JoinPath(folder, kClosedFile));
  if (!io::IsNotFound(closed.status())) {
    RETURN_NOT_OK(closed);
    ASSIGN_OR_RAISE(content.closed, ParseApplied(*closed));
  }
  const std::string db_folder = io::JoinPath(folder, kDbFolder);
  ASSIGN_OR_RAISE(content.exists, files.Exists(io::JoinPath(db_folder, kLastNewFile)));
  if (!content.exists) return content;
  rocksdb::Options options = DbOptions({}, rocksdb::NewLRUCache(kCheckCacheBytes));
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  ASSIGN_OR_RAISE(const auto db, OpenDb::Open(db_folder, options, std::make_shared<IdleIterators>(),
                                              /*read_only=*/true));
  ASSIGN_OR_RAISE(content.applied, db->ReadApplied());
  ASSIGN_OR_RAISE(content.keys, db->VerifyAndCount());
  return content;
}

}  // namespace sluice::kv
