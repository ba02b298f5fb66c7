#pragma once
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "io/file.h"

namespace sluice::log {

/// Open files of one shard's logs, at most `capacity` of them; the longest unused is closed first.
///
/// A file that a reader still sends from stays open until that reader lets go.
/// Threads: any: a log opens on a pool while others of its shard are in use.
class FileCache {
 public:
  FileCache(io::FileSystem& files, size_t capacity) : files_(files), capacity_(capacity) {}

  /// The file at `path`, opened for reading and writing and created when absent.
  Result<std::shared_ptr<io::File>> Get(const std::string& path);
  /// Forget `path`, before it is removed or renamed.
  void Drop(const std::string& path);
  io::FileSystem& file_system() { return files_; }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<io::File> file;
  };
  io::FileSystem& files_;
  const size_t capacity_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::list<Entry> entries_;  // Last used first.
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
};

}  // namespace sluice::log
