#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace rocksdb {
class Env;
}

namespace sluice::kv {

/// How far a store has followed its bucket's log.
struct Applied {
  int64_t log_offset = 0;  ///< Everything below this offset is in the store, nothing from it on.
  std::optional<int64_t> row_count =
      0;  ///< Live keys at that offset; nullopt = not counted (WAL image).
  bool operator==(const Applied&) const = default;
};

/// The sorted keys of one bucket below its write-back table.
///
/// Opened at first use; a store that does not exist yet is empty. Values are opaque here.
/// Threads: reads may run beside each other and beside one Write; Close beside nothing.
class KeyStore {
 public:
  /// A change of one key: its new value, or nullopt to remove it. Views live until Write returns.
  struct Change {
    std::string_view key;
    std::optional<std::string_view> value;
  };
  /// A walk in key order over the store as it was when the cursor was made.
  class Cursor {
   public:
    virtual ~Cursor() = default;
    virtual void Seek(std::string_view key) = 0;  ///< To the first key at or above `key`.
    virtual bool valid() const = 0;
    virtual std::string_view key() const = 0;    ///< Lives until the next call.
    virtual std::string_view value() const = 0;  ///< Lives until the next call.
    virtual void Next() = 0;
    virtual Status status() const = 0;
    /// A kCached cursor ended because the rest is not in memory.
    virtual bool missed() const { return false; }
  };

  virtual ~KeyStore() = default;
  virtual Result<Applied> applied() = 0;
  /// One slot per key, in order; nullopt = absent.
  virtual Result<std::vector<std::optional<std::string>>> Get(
      std::span<const std::string_view> keys) = 0;
  /// As Get, but nullopt when that would wait for the device; of no keys, when the store is
  /// not open.
  virtual Result<std::optional<std::vector<std::optional<std::string>>>> GetCached(
      std::span<const std::string_view> keys) = 0;
  enum class CursorUse {
    kWhole,   ///< A scan of everything: leaves the cache to others.
    kRange,   ///< Of some keys: what it reads stays in the cache.
    kCached,  ///< Only from memory: ends, with `missed()`, where it would wait for the device.
  };
  virtual Result<std::unique_ptr<Cursor>> NewCursor(CursorUse use) = 0;
  /// Apply all changes (each key once) and `applied` as one: durable when this returns, all or
  /// nothing after a crash. After an error it may be called again, with the same or more changes.
  virtual Status Write(std::span<const Change> changes, Applied applied) = 0;
  /// What the files of a checkpoint hold.
  struct Checkpoint {
    Applied applied;
    /// Of the store that the files' names belong to: another store, made anew after a loss, may
    /// give a name again to other bytes. Two files of one store and one name are the same.
    std::string store_id;
  };
  /// Put the store's files as they are now into `folder`, durably: links, where the device has
  /// them. What was in the folder goes; a crash can leave a part of it. May run beside all but
  /// Close. nullopt when nothing was ever written.
  virtual Result<std::optional<Checkpoint>> MakeCheckpoint(const std::string& folder) = 0;
  virtual Status Close() = 0;
};

/// Where stores live: RocksDB folders, or memory in simulation.
///
/// Threads: any. Lifetime: outlives its stores.
class KeyStores {
 public:
  virtual ~KeyStores() = default;
  virtual Result<std::shared_ptr<KeyStore>> Open(const std::string& folder) = 0;
  /// Forget a store that is not open.
  virtual Status Remove(const std::string& folder) = 0;
};

struct RocksOptions {
  size_t block_cache_bytes = 32 << 20;  ///< Shared by all stores, index and filter blocks included.
  int background_threads = 2;           ///< RocksDB's own, for compaction and flush, shared by all.
  int open_files_max = 64;              ///< Per store.
  rocksdb::Env* env = nullptr;          ///< RocksDB's files; the machine's when null.
};

/// Stores that are RocksDB folders: no WAL, lz4 above zstd, bloom filters, files that RocksDB 6.20
/// can read.
std::unique_ptr<KeyStores> MakeRocksStores(io::FileSystem& files, RocksOptions options);

/// What the folder of a store that nobody has open holds.
struct StoreContent {
  bool exists = false;  ///< false: nothing was ever written.
  Applied applied;
  std::optional<Applied> closed;  ///< Of the clean-close mark, when there is one.
  int64_t keys = 0;
};
/// Read such a store whole, with every checksum, and change nothing.
/// Errors: kKvStorage; kCorruptRecord when what it says of itself is damaged.
Result<StoreContent> CheckRocksStore(io::FileSystem& files, const std::string& folder);

}  // namespace sluice::kv
