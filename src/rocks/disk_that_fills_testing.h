#pragma once
#include <atomic>
#include <memory>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace sluice::rocks {

/// RocksDB's files on a disk that the test fills: writes fail then, half written.
struct DiskThatFills {
  DiskThatFills();
  ~DiskThatFills();

  std::atomic<bool> full{false};
  const std::unique_ptr<rocksdb::Env> env;
};

}  // namespace sluice::rocks
