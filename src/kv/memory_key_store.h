#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kv/key_store.h"

namespace sluice::kv {

/// Stores in memory, for simulation and tests: what Write returned from survives closing and
/// dropping a store. They have no files, so a checkpoint of them is refused.
class MemoryKeyStores : public KeyStores {
 public:
  Result<std::shared_ptr<KeyStore>> Open(const std::string& folder) override;
  Status Remove(const std::string& folder) override;

  /// Fail every Write from now on (a full disk), or stop doing so.
  void FailWrites(bool fail) { fail_writes_ = fail; }
  /// Let every GetCached find nothing in memory from now on, or stop doing so.
  void Cool(bool cold) { cold_ = cold; }
  /// Keys written since the start, each Write's changes counted.
  int64_t keys_written() const { return keys_written_; }

 private:
  friend class MemoryKeyStore;
  struct Content {
    std::map<std::string, std::string, std::less<>> values;
    Applied applied;
  };
  // Contents are immutable once published: a Write replaces the whole, so that cursors keep what
  // they saw.
  using Published = std::shared_ptr<const Content>;

  std::mutex mutex_;  // Guards contents_: a flush pool writes while the shard reads.
  std::map<std::string, Published> contents_;
  std::atomic<bool> fail_writes_ = false;
  std::atomic<bool> cold_ = false;
  std::atomic<int64_t> keys_written_ = 0;
};

}  // namespace sluice::kv
