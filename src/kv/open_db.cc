#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "kv/open_db_internal.h"

namespace sluice::kv {
namespace {

// Keys live alone in the default column family, since Java clients iterate all of it. What we say
// about them stands in a second one; atomic flushes keep the two together.
constexpr char kStateFamily[] = "state";
constexpr char kAppliedKey[] = "applied";

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return Status::OK();
  return Error(ErrorCode::kKvStorage, "key store failed folder=", folder,
               " cause=", status.ToString());
}

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

constexpr size_t kAppliedBytes = 20;

class DbCursor : public KeyStore::Cursor {
 public:
  DbCursor(std::shared_ptr<OpenDb> db, KeyStore::CursorUse use)
      : db_(std::move(db)), use_(use), at_(db_->TakeIterator(use)) {}
  ~DbCursor() override {
    if (use_ == KeyStore::CursorUse::kCached && at_->status().ok()) db_->GiveBack(std::move(at_));
  }
  DbCursor(const DbCursor&) = delete;
  DbCursor& operator=(const DbCursor&) = delete;

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
  const KeyStore::CursorUse use_;
  std::unique_ptr<rocksdb::Iterator> at_;
};

}  // namespace

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

std::unique_ptr<rocksdb::Iterator> IdleIterators::Take(const OpenDb* db) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(list_, db, &Idle::db);
  if (at == list_.end()) return nullptr;
  auto iterator = std::move(at->iterator);
  list_.erase(at);
  return iterator;
}

void IdleIterators::Give(const OpenDb* db, std::unique_ptr<rocksdb::Iterator> iterator) {
  std::list<Idle> dropped;  // Destroyed without the lock: this may remove files.
  const std::lock_guard lock(mutex_);
  auto old = std::ranges::find(list_, db, &Idle::db);
  if (old == list_.end() && list_.size() == kCountMax) old = list_.begin();
  if (old != list_.end()) dropped.splice(dropped.end(), list_, old);
  list_.push_back(Idle{db, std::move(iterator)});
}

Result<std::shared_ptr<OpenDb>> OpenDb::Open(const std::string& folder,
                                             const rocksdb::Options& options,
                                             std::shared_ptr<IdleIterators> idle, bool read_only) {
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
  return std::make_shared<OpenDb>(folder, std::move(idle), db, handles[0], handles[1]);
}

OpenDb::OpenDb(std::string folder, std::shared_ptr<IdleIterators> idle, rocksdb::DB* db,
               rocksdb::ColumnFamilyHandle* keys, rocksdb::ColumnFamilyHandle* state)
    : folder_(std::move(folder)), idle_(std::move(idle)), db_(db), keys_(keys), state_(state) {}

OpenDb::~OpenDb() {
  idle_->Take(this);
  LogIfError(FromRocks(db_->DestroyColumnFamilyHandle(keys_), folder_), "release of a key store");
  LogIfError(FromRocks(db_->DestroyColumnFamilyHandle(state_), folder_), "release of a key store");
}

Result<Applied> OpenDb::ReadApplied() {
  std::string bytes;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), state_, kAppliedKey, &bytes);
  if (status.IsNotFound()) return Applied{};  // Made, but never written to.
  RETURN_NOT_OK(FromRocks(status, folder_));
  return ParseApplied(bytes);
}

Result<OpenDb::Values> OpenDb::Get(std::span<const std::string_view> keys) {
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
Result<std::optional<OpenDb::Values>> OpenDb::GetCached(std::span<const std::string_view> keys) {
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

Status OpenDb::Write(std::span<const KeyStore::Change> changes, const Applied& applied) {
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
  const rocksdb::Status flushed = db_->Flush(rocksdb::FlushOptions(), {keys_, state_});
  idle_->Take(this);  // It would keep the files alive that compaction replaces now.
  return FromRocks(flushed, folder_);
}

Result<KeyStore::Checkpoint> OpenDb::MakeCheckpoint(const std::string& folder) {
  KeyStore::Checkpoint made;
  ASSIGN_OR_RAISE(made.applied, ReadApplied());
  RETURN_NOT_OK(FromRocks(db_->GetDbIdentity(made.store_id), folder_));
  rocksdb::Checkpoint* raw = nullptr;
  RETURN_NOT_OK(FromRocks(rocksdb::Checkpoint::Create(db_.get(), &raw), folder_));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  RETURN_NOT_OK(FromRocks(checkpoint->CreateCheckpoint(folder), folder));
  return made;
}

Result<int64_t> OpenDb::VerifyAndCount() {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  RETURN_NOT_OK(FromRocks(db_->VerifyChecksum(read), folder_));
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(read, keys_));
  int64_t count = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) ++count;
  RETURN_NOT_OK(FromRocks(at->status(), folder_));
  return count;
}

std::unique_ptr<KeyStore::Cursor> OpenDb::NewCursor(KeyStore::CursorUse use) {
  return std::make_unique<DbCursor>(shared_from_this(), use);
}

std::unique_ptr<rocksdb::Iterator> OpenDb::TakeIterator(KeyStore::CursorUse use) {
  if (use == KeyStore::CursorUse::kCached) {
    // Brought to the newest state; of a database opened for reading only it cannot be.
    auto idle = idle_->Take(this);
    if (idle != nullptr && idle->Refresh().ok()) return idle;
  }
  rocksdb::ReadOptions read;
  // A scan of everything would push the hot blocks out.
  read.fill_cache = use != KeyStore::CursorUse::kWhole;
  if (use == KeyStore::CursorUse::kCached) read.read_tier = rocksdb::kBlockCacheTier;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(read, keys_));
}

void OpenDb::GiveBack(std::unique_ptr<rocksdb::Iterator> iterator) {
  idle_->Give(this, std::move(iterator));
}

}  // namespace sluice::kv
