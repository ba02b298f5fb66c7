#include "meta/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "base/bytes.h"
#include "base/check.h"
#include "meta/node_tree_internal.h"

namespace sluice::meta {

namespace {

// The metadata is small and held in memory, so the database needs little more than its log.
constexpr size_t kWriteBufferBytes = 4 << 20;
constexpr size_t kBlockCacheBytes = 1 << 20;
constexpr size_t kVersionBytes = sizeof(int64_t);

Status FromRocks(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return Status::OK();
  return Error(ErrorCode::kStorage, "metadata store failed folder=", folder,
               " cause=", status.ToString());
}

rocksdb::Options StoreOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = kWriteBufferBytes;
  options.max_open_files = 64;
  options.max_background_jobs = 1;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 << 20;
  // A torn last record was never acknowledged; damage before it is refused.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.checksum = rocksdb::kCRC32c;
  table.format_version = 5;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

/// Format: key = node key; value = version (8 bytes, big-endian), then the node's value.
class RocksStore : public TreeStore {
 public:
  RocksStore(std::string folder, std::unique_ptr<rocksdb::DB> db)
      : folder_(std::move(folder)), db_(std::move(db)) {}

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
    rocksdb::WriteBatch batch;
    for (const auto& [key, node] : changes) {
      // Sessions end with the process, so their nodes stay in memory.
      const bool stored = node.has_value() && node->session == 0;
      RETURN_NOT_OK(FromRocks(stored ? batch.Put(key, Encode(*node)) : batch.Delete(key), folder_));
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    return FromRocks(db_->Write(options, &batch), folder_);
  }

 private:
  static std::string Encode(const NodeTree::Node& node) {
    std::string bytes;
    bytes.reserve(kVersionBytes + node.value.size());
    AppendBe<int64_t>(&bytes, node.version);
    return bytes + node.value;
  }

  std::string folder_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

Result<std::unique_ptr<MetaStore>> OpenRocksMetaStore(const std::string& folder) {
  rocksdb::DB* raw = nullptr;
  RETURN_NOT_OK(FromRocks(rocksdb::DB::Open(StoreOptions(), folder, &raw), folder));
  auto store = std::make_unique<RocksStore>(folder, std::unique_ptr<rocksdb::DB>(raw));
  RETURN_NOT_OK(store->Load());
  return std::unique_ptr<MetaStore>(std::move(store));
}

}  // namespace sluice::meta
