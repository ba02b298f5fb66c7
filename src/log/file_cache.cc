#include "log/file_cache.h"

namespace sluice::log {

Result<std::shared_ptr<io::File>> FileCache::Get(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().file;
  }
  ASSIGN_OR_RAISE(std::shared_ptr<io::File> file, files_.Open(path, io::FileSystem::Mode::kCreate));
  entries_.push_front({path, file});
  by_path_[path] = entries_.begin();
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  return file;
}

void FileCache::Drop(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return;
  entries_.erase(found->second);
  by_path_.erase(found);
}

}  // namespace sluice::log
