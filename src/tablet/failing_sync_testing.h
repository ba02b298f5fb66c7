#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tablet/cold_files_testing.h"

namespace sluice::tablet::internal {

/// The machine's files, where the next sync of a log that was opened for reading fails, once: the
/// kernel tells a failed write to one who asks, and to nobody after that.
class FailingSyncFiles : public io::FileSystem {
 public:
  std::atomic<bool> fails_next{false};

  Result<std::unique_ptr<io::File>> Open(const std::string& path, Mode mode) override {
    ASSIGN_OR_RAISE(auto file, real_.Open(path, mode));
    if (mode != Mode::kRead || !path.ends_with(".log")) return file;
    return std::make_unique<FailingFile>(std::move(file), &fails_next);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return real_.Rename(from, to);
  }
  Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) override {
    return real_.RenameIfAbsent(from, to);
  }
  Status Remove(const std::string& path) override { return real_.Remove(path); }
  Status RemoveTree(const std::string& path) override { return real_.RemoveTree(path); }
  Status MakeFoldersBelow(const std::string& top, const std::string& path) override {
    return real_.MakeFoldersBelow(top, path);
  }
  Status SyncPath(const std::string& path) override { return real_.SyncPath(path); }
  Status SyncFolder(const std::string& path) override { return real_.SyncFolder(path); }
  Result<std::vector<Entry>> List(const std::string& folder) override { return real_.List(folder); }
  Result<Entry> Stat(const std::string& path) override { return real_.Stat(path); }
  Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override {
    return real_.LockFile(path);
  }
  Result<Space> SpaceAt(const std::string& path) override { return real_.SpaceAt(path); }

 private:
  class FailingFile : public PassingFile {
   public:
    FailingFile(std::unique_ptr<io::File> real, std::atomic<bool>* fails)
        : PassingFile(std::move(real)), fails_(fails) {}
    Status Sync() override {
      if (fails_->exchange(false)) return Status::IOError("write was lost path=", path());
      return PassingFile::Sync();
    }

   private:
    std::atomic<bool>* const fails_;
  };

  io::FileSystem& real_ = io::LocalFileSystem();
};

}  // namespace sluice::tablet::internal
