#include "meta/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <set>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "meta/node_tree_internal.h"
#include "rocks/full_disk.h"
#include "rocks/open_files.h"

namespace sluice::meta {

namespace {

// The metadata is small and held in memory, so the database needs little more than its log.
constexpr size_t kWriteBufferBytes = 4 << 20;
constexpr size_t kBlockCacheBytes = 1 << 20;
constexpr int kOpenTables = 64;
constexpr size_t kVersionBytes = sizeof(int64_t);

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return Status::OK();
  return Error(ErrorCode::kStorage, "metadata store failed folder=", folder,
               " cause=", status.ToString());
}

rocksdb::Options StoreOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = kWriteBufferBytes;
  rocks::KeepFilesOpen(&options, kOpenTables);
  options.max_background_jobs = 1;
  rocks::FailWithoutAborting(&options);
  if (env != nullptr) options.env = env;
  // A torn last record was never acknowledged; damage before it is refused.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.checksum = rocksdb::kCRC32c;
  table.format_version = 5;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

Result<std::unique_ptr<rocksdb::DB>> OpenDb(const std::string& folder, rocksdb::Env* env) {
  rocksdb::DB* db = nullptr;
  RETURN_NOT_OK(FromRocks(rocksdb::DB::Open(StoreOptions(env), folder, &db), folder));
  return std::unique_ptr<rocksdb::DB>(db);
}

Result<std::unique_ptr<rocksdb::DB>> OpenDbToRead(const std::string& folder) {
  rocksdb::Options options = StoreOptions(/*env=*/nullptr);
  options.create_if_missing = false;
  rocksdb::DB* db = nullptr;
  RETURN_NOT_OK(FromRocks(rocksdb::DB::OpenForReadOnly(options, folder, &db), folder));
  return std::unique_ptr<rocksdb::DB>(db);
}

/// Format: key = node key; value = version (8 bytes, big-endian), then the node's value.
class RocksStore : public TreeStore {
 public:
  RocksStore(std::string folder, rocksdb::Env* env, std::unique_ptr<rocksdb::DB> db, bool read_only)
      : folder_(std::move(folder)), env_(env), read_only_(read_only), db_(std::move(db)) {}

  Status Load() {
    const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(rocksdb::ReadOptions()));
    NodeTree::Changes nodes;
    for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
      const rocksdb::Slice value = rows->value();
      if (value.size() < kVersionBytes)
        return Corrupt("metadata node is cut short folder=", folder_);
      nodes[rows->key().ToString()] =
          NodeTree::Node{std::string(value.data() + kVersionBytes, value.size() - kVersionBytes),
                         LoadBe<int64_t>(value.data())};
    }
    RETURN_NOT_OK(FromRocks(rows->status(), folder_));
    tree_.Commit(nodes);
    return Status::OK();
  }

 protected:
  Status Persist(const NodeTree::Changes& changes) override {
    if (read_only_)
      return Error(ErrorCode::kStorage, "metadata store is open to read folder=", folder_);
    if (!failed_keys_.empty()) RETURN_NOT_OK(Reopen());
    rocksdb::WriteBatch batch;
    for (const auto& [key, node] : changes)
      RETURN_NOT_OK(Add(key, node.has_value() ? &*node : nullptr, &batch));
    const Status written = Write(&batch);
    if (!written.ok()) {
      for (const auto& [key, _] : changes) failed_keys_.insert(key);
    }
    return written;
  }

 private:
  // RocksDB refuses every write after one that failed, which may have reached its log all the same:
  // the opened database gets the nodes as they are in memory, where a failed change never was.
  Status Reopen() {
    db_.reset();
    ASSIGN_OR_RAISE(db_, OpenDb(folder_, env_));
    rocksdb::WriteBatch batch;
    for (const std::string& key : failed_keys_) RETURN_NOT_OK(Add(key, tree_.Find(key), &batch));
    RETURN_NOT_OK(Write(&batch));
    failed_keys_.clear();
    LogInfo("metadata store is open again after a failed write folder={}", folder_);
    return Status::OK();
  }

  // Null = the node is gone.
  Status Add(const std::string& key, const NodeTree::Node* node, rocksdb::WriteBatch* batch) {
    return FromRocks(node != nullptr ? batch->Put(key, Encode(*node)) : batch->Delete(key),
                     folder_);
  }

  Status Write(rocksdb::WriteBatch* batch) {
    rocksdb::WriteOptions options;
    options.sync = true;
    return FromRocks(db_->Write(options, batch), folder_);
  }

  static std::string Encode(const NodeTree::Node& node) {
    std::string bytes;
    bytes.reserve(kVersionBytes + node.value.size());
    AppendBe<int64_t>(&bytes, node.version);
    return bytes + node.value;
  }

  const std::string folder_;
  rocksdb::Env* const env_;
  const bool read_only_;
  std::unique_ptr<rocksdb::DB> db_;    // Null when it failed and could not be opened again yet.
  std::set<std::string> failed_keys_;  // Of changes whose write failed; not empty = open it again.
};

}  // namespace

Result<std::unique_ptr<MetaStore>> OpenRocksMetaStore(const std::string& folder,
                                                      rocksdb::Env* env) {
  ASSIGN_OR_RAISE(auto db, OpenDb(folder, env));
  auto store = std::make_unique<RocksStore>(folder, env, std::move(db), /*read_only=*/false);
  RETURN_NOT_OK(store->Load());
  return std::unique_ptr<MetaStore>(std::move(store));
}

Result<std::unique_ptr<MetaStore>> ReadRocksMetaStore(const std::string& folder) {
  ASSIGN_OR_RAISE(auto db, OpenDbToRead(folder));
  auto store = std::make_unique<RocksStore>(folder, nullptr, std::move(db), /*read_only=*/true);
  RETURN_NOT_OK(store->Load());
  return std::unique_ptr<MetaStore>(std::move(store));
}

}  // namespace sluice::meta
