#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <mutex>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "kv/key_store.h"
#include "rocks/full_disk.h"
#include "rocks/open_files.h"

namespace sluice::kv {
namespace {

// Keys live alone in the default column family, since Java clients iterate all of it. What we say
// about them stands in a second one; atomic flushes keep the two together.
constexpr char kStateFamily[] = "state";
constexpr char kAppliedKey[] = "applied";
constexpr char kDbFolder[] = "db";
constexpr char kLastNewFile[] = "CURRENT";
// Written at a clean close, so that a bucket that nobody touches need not be opened at start.
constexpr char kClosedFile[] = "applied";

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return Status::OK();
  return Error(ErrorCode::kKvStorage, "key store failed folder=", folder,
               " cause=", status.ToString());
}

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// Format: int64 LE log offset, int64 LE row count (-1 = not counted), CRC-32C of both.
constexpr size_t kAppliedBytes = 20;

std::string EncodeApplied(const Applied& applied) {
  std::string bytes;
  AppendLe<int64_t>(&bytes, applied.log_offset);
  AppendLe<int64_t>(&bytes, applied.row_count.value_or(-1));
  AppendLe<uint32_t>(&bytes, Crc32c(bytes));
  return bytes;
}

Result<Applied> ParseApplied(std::string_view bytes) {
  if (bytes.size() != kAppliedBytes ||
      LoadLe<uint32_t>(bytes.data() + 16) != Crc32c(bytes.substr(0, 16))) {
    return Corrupt("applied offset of a key store is damaged size_bytes=", bytes.size());
  }
  const auto rows = LoadLe<int64_t>(bytes.data() + 8);
  return Applied{LoadLe<int64_t>(bytes.data()), rows < 0 ? std::nullopt : std::make_optional(rows)};
}

// What a flush must leave free on the device: RocksDB writes its manifest beside the keys.
constexpr uint64_t kReservedBytes = 4 << 20;

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

using Values = std::vector<std::optional<std::string>>;

// An open database. Cursors share it, so that it outlives them.
class OpenDb {
 public:
  static Result<std::shared_ptr<OpenDb>> Open(const std::string& folder,
                                              const rocksdb::Options& options, bool read_only) {
    rocksdb::ColumnFamilyOptions state_options(options);
    state_options.write_buffer_size = 64 << 10;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families{
        {rocksdb::kDefaultColumnFamilyName, options}, {kStateFamily, state_options}};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened =
        read_only ? rocksdb::DB::OpenForReadOnly(options, folder, families, &handles, &db)
                  : rocksdb::DB::Open(options, folder, families, &handles, &db);
    RETURN_NOT_OK(FromRocks(opened, folder));
    return std::make_shared<OpenDb>(folder, db, handles[0], handles[1]);
  }

  OpenDb(std::string folder, rocksdb::DB* db, rocksdb::ColumnFamilyHandle* keys,
         rocksdb::ColumnFamilyHandle* state)
      : folder_(std::move(folder)), db_(db), keys_(keys), state_(state) {}
  ~OpenDb() {
    LogIfError(FromRocks(db_->DestroyColumnFamilyHandle(keys_), folder_), "release of a key store");
    LogIfError(FromRocks(db_->DestroyColumnFamilyHandle(state_), folder_),
               "release of a key store");
  }
  OpenDb(const OpenDb&) = delete;
  OpenDb& operator=(const OpenDb&) = delete;

  Result<Applied> ReadApplied() {
    std::string bytes;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), state_, kAppliedKey, &bytes);
    if (status.IsNotFound()) return Applied{};  // Made, but never written to.
    RETURN_NOT_OK(FromRocks(status, folder_));
    return ParseApplied(bytes);
  }

  Result<Values> Get(std::span<const std::string_view> keys) {
    std::vector<rocksdb::Slice> slices;
    slices.reserve(keys.size());
    for (const std::string_view key : keys) slices.push_back(ToSlice(key));
    std::vector<rocksdb::PinnableSlice> found(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet(rocksdb::ReadOptions(), keys_, keys.size(), slices.data(), found.data(),
                  statuses.data());
    Values values(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses[i].IsNotFound()) continue;
      RETURN_NOT_OK(FromRocks(statuses[i], folder_));
      values[i].emplace(found[i].data(), found[i].size());
    }
    return values;
  }

  // Key by key: MultiGet reads blocks that are not in the cache in spite of `read_tier`.
  // A key that may lie in a file that is not open comes as found and empty: unknown too.
  Result<std::optional<Values>> GetCached(std::span<const std::string_view> keys) {
    rocksdb::ReadOptions cached_only;
    cached_only.read_tier = rocksdb::kBlockCacheTier;
    rocksdb::PinnableSlice found;
    Values values(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      found.Reset();
      const rocksdb::Status status = db_->Get(cached_only, keys_, ToSlice(keys[i]), &found);
      if (status.IsNotFound()) continue;
      if (status.IsIncomplete()) return std::nullopt;
      RETURN_NOT_OK(FromRocks(status, folder_));
      if (found.empty()) return std::nullopt;
      values[i].emplace(found.data(), found.size());
    }
    return std::optional<Values>(std::move(values));
  }

  Status Write(std::span<const KeyStore::Change> changes, const Applied& applied) {
    rocksdb::WriteBatch batch;
    for (const KeyStore::Change& change : changes) {
      const rocksdb::Status status =
          change.value.has_value() ? batch.Put(keys_, ToSlice(change.key), ToSlice(*change.value))
                                   : batch.Delete(keys_, ToSlice(change.key));
      RETURN_NOT_OK(FromRocks(status, folder_));
    }
    RETURN_NOT_OK(FromRocks(batch.Put(state_, kAppliedKey, EncodeApplied(applied)), folder_));
    rocksdb::WriteOptions no_wal;  // The bucket's log is the WAL.
    no_wal.disableWAL = true;
    RETURN_NOT_OK(FromRocks(db_->Write(no_wal, &batch), folder_));
    // A memtable would be lost with the process, and replay would grow beyond what the write-back
    // table held.
    return FromRocks(db_->Flush(rocksdb::FlushOptions(), {keys_, state_}), folder_);
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator(KeyStore::CursorUse use) {
    rocksdb::ReadOptions read;
    // A scan of everything would push the hot blocks out.
    read.fill_cache = use != KeyStore::CursorUse::kWhole;
    if (use == KeyStore::CursorUse::kCached) read.read_tier = rocksdb::kBlockCacheTier;
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(read, keys_));
  }
  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
  const std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* const keys_;
  rocksdb::ColumnFamilyHandle* const state_;
};

class DbCursor : public KeyStore::Cursor {
 public:
  DbCursor(std::shared_ptr<OpenDb> db, KeyStore::CursorUse use)
      : db_(std::move(db)), at_(db_->NewIterator(use)) {}
  void Seek(std::string_view key) override { at_->Seek(ToSlice(key)); }
  bool valid() const override { return at_->Valid(); }
  std::string_view key() const override { return ToView(at_->key()); }
  std::string_view value() const override { return ToView(at_->value()); }
  void Next() override { at_->Next(); }
  Status status() const override {
    return missed() ? Status::OK() : FromRocks(at_->status(), db_->folder());
  }
  bool missed() const override { return at_->status().IsIncomplete(); }

 private:
  const std::shared_ptr<OpenDb> db_;
  const std::unique_ptr<rocksdb::Iterator> at_;
};

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
  RocksKeyStore(io::FileSystem& files, std::string folder, rocksdb::Options options)
      : files_(files), folder_(std::move(folder)), options_(std::move(options)) {}

  Result<Applied> applied() override {
    const std::lock_guard lock(mutex_);
    if (db_ == nullptr) {
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
    std::shared_ptr<OpenDb> db;
    {
      const std::lock_guard lock(mutex_);
      db = db_;
    }
    if (db != nullptr) return db->GetCached(keys);
    ASSIGN_OR_RAISE(const bool exists, DbExists());
    if (exists) return std::nullopt;  // Opening it takes a while.
    return std::optional<Values>(Values(keys.size()));
  }

  Result<std::unique_ptr<Cursor>> NewCursor(CursorUse use) override {
    if (use == CursorUse::kCached) {
      ASSIGN_OR_RAISE(const auto none, GetCached({}));
      if (!none.has_value()) return std::make_unique<ClosedCursor>();
    }
    ASSIGN_OR_RAISE(auto db, Open(/*create=*/false));
    if (db == nullptr) return std::make_unique<EmptyCursor>();
    return std::make_unique<DbCursor>(std::move(db), use);
  }

  Status Write(std::span<const Change> changes, Applied applied) override {
    ASSIGN_OR_RAISE(const auto db, OpenForWrite());
    RETURN_NOT_OK(CheckSpace(changes));
    const Status written = db->Write(changes, applied);
    if (!written.ok()) {
      const std::lock_guard lock(mutex_);
      failure_ = written;
    }
    return written;
  }

  Status Close() override {
    const std::lock_guard lock(mutex_);
    if (db_ == nullptr) return Status::OK();
    ASSIGN_OR_RAISE(const Applied applied, db_->ReadApplied());
    db_.reset();
    if (!failure_.ok()) return Status::OK();  // What was read may not be on the disk.
    return files_.ReplaceFile(ClosedFile(), EncodeApplied(applied));
  }

 private:
  std::string DbFolder() const { return io::JoinPath(folder_, kDbFolder); }
  // The last file of a new database: before it is there nothing was written.
  Result<bool> DbExists() { return files_.Exists(io::JoinPath(DbFolder(), kLastNewFile)); }
  std::string ClosedFile() const { return io::JoinPath(folder_, kClosedFile); }

  Result<std::shared_ptr<OpenDb>> Open(bool create) {
    const std::lock_guard lock(mutex_);
    return OpenLocked(create);
  }

  // RocksDB refuses every write after one that failed. Opening the database again drops what did
  // not reach the disk, which the write-back table still has.
  Result<std::shared_ptr<OpenDb>> OpenForWrite() {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) return OpenLocked(/*create=*/true);
    RETURN_NOT_OK(CheckSpace({}));
    if (db_ != nullptr && db_.use_count() > 1) {
      return Error(ErrorCode::kKvStorage, "key store failed and is read, folder=", folder_);
    }
    db_.reset();
    ASSIGN_OR_RAISE(auto db, OpenLocked(/*create=*/true));
    RETURN_NOT_OK(failure_);
    LogInfo("key store is open again after a failed write folder={}", folder_);
    return db;
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
    if (db_ != nullptr) return db_;
    ASSIGN_OR_RAISE(const bool exists, DbExists());
    if (!exists && !create) return std::shared_ptr<OpenDb>();
    // RocksDB syncs what is in its folder, not the names that lead to it; and the log is cut below
    // what was written here.
    RETURN_NOT_OK(files_.MakeFolders(DbFolder()));
    auto opened = OpenDb::Open(DbFolder(), options_, /*read_only=*/false);
    failure_ = opened.status();
    if (!opened.ok() && exists) {
      // A full disk refuses the open, which writes; reads go on.
      ASSIGN_OR_RAISE(db_, OpenDb::Open(DbFolder(), options_, /*read_only=*/true));
      return db_;
    }
    ASSIGN_OR_RAISE(auto db, std::move(opened));
    // From the first write on the mark would be behind the store.
    ASSIGN_OR_RAISE(const bool marked, files_.Exists(ClosedFile()));
    if (marked) RETURN_NOT_OK(files_.Remove(ClosedFile()));
    db_ = std::move(db);
    return db_;
  }

  io::FileSystem& files_;
  const std::string folder_;
  const rocksdb::Options options_;
  std::mutex mutex_;  // Guards what follows: the flush pool and the shard may both come first.
  std::shared_ptr<OpenDb> db_;
  // Why db_ takes no writes until it is opened again; OK = it does.
  Status failure_;
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
    return std::make_shared<RocksKeyStore>(files_, folder, options_);
  }
  Status Remove(const std::string& folder) override { return files_.RemoveTree(folder); }

 private:
  io::FileSystem& files_;
  rocksdb::Options options_;
};

}  // namespace

std::unique_ptr<KeyStores> MakeRocksStores(io::FileSystem& files, RocksOptions options) {
  return std::make_unique<RocksKeyStores>(files, options);
}

}  // namespace sluice::kv
