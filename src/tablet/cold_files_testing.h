#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"

namespace sluice::tablet::internal {

/// A file that hands everything on; tests change what they are about.
class PassingFile : public io::File {
 public:
  explicit PassingFile(std::unique_ptr<io::File> real) : real_(std::move(real)) {}
  using io::File::Append;
  Status Append(std::span<const std::string_view> parts) override { return real_->Append(parts); }
  Status WriteAt(uint64_t position_bytes, std::string_view bytes) override {
    return real_->WriteAt(position_bytes, bytes);
  }
  Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    return real_->ReadAt(position_bytes, size, out);
  }
  Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    return real_->TryReadAt(position_bytes, size, out);
  }
  Status Truncate(uint64_t size_bytes) override { return real_->Truncate(size_bytes); }
  Status Sync() override { return real_->Sync(); }
  uint64_t size_bytes() const override { return real_->size_bytes(); }
  const std::string& path() const override { return real_->path(); }
  int descriptor() const override { return real_->descriptor(); }

 private:
  const std::unique_ptr<io::File> real_;
};

/// The machine's files as a slow device would show them to a shard: bytes are not in memory until
/// somebody has waited for them, and who waits where `may_wait` says no is remembered.
class ColdFiles : public io::FileSystem {
 public:
  explicit ColdFiles(std::function<bool()> may_wait) : may_wait_(std::move(may_wait)) {}
  /// "operation path" of each wait that should not have been.
  std::vector<std::string> Waits() const {
    const std::lock_guard lock(mutex_);
    return waits_;
  }
  /// As on a system that does not tell whether it succeeds.
  void RefuseSyncAll() { refuses_sync_all_ = true; }

  Result<std::unique_ptr<io::File>> Open(const std::string& path, Mode mode) override {
    ASSIGN_OR_RAISE(auto file, real_.Open(path, mode));
    return std::make_unique<ColdFile>(*this, std::move(file));
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return real_.Rename(from, to);
  }
  Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) override {
    return real_.RenameIfAbsent(from, to);
  }
  Status Remove(const std::string& path) override {
    if (path.ends_with(".log")) Note("remove", path);  // Frees as much as it held.
    return real_.Remove(path);
  }
  Status RemoveTree(const std::string& path) override {
    Note("remove tree", path);
    return real_.RemoveTree(path);
  }
  Status MakeFoldersBelow(const std::string& top, const std::string& path) override {
    Note("make folders", path);
    return real_.MakeFoldersBelow(top, path);
  }
  Status SyncPath(const std::string& path) override {
    Note("sync path", path);
    return real_.SyncPath(path);
  }
  Status SyncFolder(const std::string& path) override {
    Note("sync folder", path);
    return real_.SyncFolder(path);
  }
  Result<std::vector<Entry>> List(const std::string& folder) override {
    Note("list", folder);
    return real_.List(folder);
  }
  Result<Entry> Stat(const std::string& path) override { return real_.Stat(path); }
  Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override {
    ASSIGN_OR_RAISE(auto lock, real_.LockFile(path));
    return std::make_unique<ColdLock>(*this, path, std::move(lock));
  }
  Result<Space> SpaceAt(const std::string& path) override { return real_.SpaceAt(path); }

 private:
  class ColdLock : public Lock {
   public:
    ColdLock(ColdFiles& files, std::string path, std::unique_ptr<Lock> real)
        : files_(files), path_(std::move(path)), real_(std::move(real)) {}
    bool IsInPlace() const override { return real_->IsInPlace(); }
    Status SyncAll() override {
      files_.Note("sync all", path_);
      if (files_.refuses_sync_all_) return Status::NotImplemented("sync of all path=", path_);
      return real_->SyncAll();
    }

   private:
    ColdFiles& files_;
    const std::string path_;
    const std::unique_ptr<Lock> real_;
  };

  class ColdFile : public PassingFile {
   public:
    ColdFile(ColdFiles& files, std::unique_ptr<io::File> real)
        : PassingFile(std::move(real)), files_(files) {}
    Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
      files_.Note("read", path());
      files_.Warmed(path(), position_bytes);
      return PassingFile::ReadAt(position_bytes, size, out);
    }
    Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
      if (!files_.IsWarm(path(), position_bytes)) return false;
      return PassingFile::TryReadAt(position_bytes, size, out);
    }
    Status Sync() override {
      files_.Note("sync", path());
      return PassingFile::Sync();
    }

   private:
    ColdFiles& files_;
  };

  void Note(const std::string& operation, const std::string& path) {
    if (may_wait_()) return;
    const std::lock_guard lock(mutex_);
    waits_.push_back(operation + " " + path);
  }
  void Warmed(const std::string& path, uint64_t position_bytes) {
    const std::lock_guard lock(mutex_);
    warm_.emplace(path, position_bytes);
  }
  bool IsWarm(const std::string& path, uint64_t position_bytes) const {
    const std::lock_guard lock(mutex_);
    return warm_.contains({path, position_bytes});
  }

  io::FileSystem& real_ = io::LocalFileSystem();
  const std::function<bool()> may_wait_;
  std::atomic<bool> refuses_sync_all_{false};
  mutable std::mutex mutex_;  // Guards what follows.
  std::set<std::pair<std::string, uint64_t>> warm_;
  std::vector<std::string> waits_;
};

}  // namespace sluice::tablet::internal
