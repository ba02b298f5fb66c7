#pragma once
// One open RocksDB database of a key store, and the walks over it that stay for the next reader.
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key_store.h"

namespace sluice::kv {

class OpenDb;

/// Iterators that nobody uses now, kept because making one costs more than a short walk with it.
///
/// An iterator keeps the files alive that it saw, and a few blocks: so there are few of them for
/// all stores together, at most one per store, and a store that is written to drops its own.
/// Threads: any.
class IdleIterators {
 public:
  static constexpr size_t kCountMax = 64;

  /// The store's iterator, if it has one here.
  std::unique_ptr<rocksdb::Iterator> Take(const OpenDb* db);
  /// Keep it as the store's only one; beyond kCountMax the one that lay longest goes.
  void Give(const OpenDb* db, std::unique_ptr<rocksdb::Iterator> iterator);

 private:
  struct Idle {
    const OpenDb* db;
    std::unique_ptr<rocksdb::Iterator> iterator;
  };
  std::mutex mutex_;
  std::list<Idle> list_;  // The one that lay longest first.
};

/// An open database. Cursors share it, so that it outlives them.
///
/// Threads: any.
class OpenDb : public std::enable_shared_from_this<OpenDb> {
 public:
  using Values = std::vector<std::optional<std::string>>;

  static Result<std::shared_ptr<OpenDb>> Open(const std::string& folder,
                                              const rocksdb::Options& options,
                                              std::shared_ptr<IdleIterators> idle, bool read_only);
  OpenDb(std::string folder, std::shared_ptr<IdleIterators> idle, rocksdb::DB* db,
         rocksdb::ColumnFamilyHandle* keys, rocksdb::ColumnFamilyHandle* state);
  ~OpenDb();
  OpenDb(const OpenDb&) = delete;
  OpenDb& operator=(const OpenDb&) = delete;

  Result<Applied> ReadApplied();
  Result<Values> Get(std::span<const std::string_view> keys);
  /// nullopt when a key may lie where the device would have to be read.
  Result<std::optional<Values>> GetCached(std::span<const std::string_view> keys);
  /// Durable when it returns.
  Status Write(std::span<const KeyStore::Change> changes, const Applied& applied);
  std::unique_ptr<KeyStore::Cursor> NewCursor(KeyStore::CursorUse use);
  /// Check every block of every file; returns how many keys there are.
  Result<int64_t> VerifyAndCount();
  /// Files as they are now, in a folder that is not there. No Write runs.
  Result<KeyStore::Checkpoint> MakeCheckpoint(const std::string& folder);

  /// An iterator over the keys as they are now, for `use`.
  std::unique_ptr<rocksdb::Iterator> TakeIterator(KeyStore::CursorUse use);
  /// Give back one that read only from memory and met no error.
  void GiveBack(std::unique_ptr<rocksdb::Iterator> iterator);
  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
  const std::shared_ptr<IdleIterators> idle_;
  const std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* const keys_;
  rocksdb::ColumnFamilyHandle* const state_;
};

/// Format: int64 LE log offset, int64 LE row count (-1 = not counted), CRC-32C of both.
std::string EncodeApplied(const Applied& applied);
Result<Applied> ParseApplied(std::string_view bytes);

}  // namespace sluice::kv
