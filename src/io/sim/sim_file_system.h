#pragma once
#include <functional>
#include <memory>
#include <string>

#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"

namespace sluice::io {

/// A tree of files in memory that keeps synced and unsynced content apart, as a disk under a page
/// cache does.
///
/// At Crash each unsynced write of a file survives, is lost or is torn, by chance; of the unsynced
/// names of a folder (created, renamed, removed) a first part survives. A rename is whole or not at
/// all. MakeFolders makes each name and then syncs it, so that a stop between the two leaves one
/// that only a later sync makes durable. Paths are taken as absolute.
/// Threads: any, as with the machine's files; hooks run on the caller's thread.
class SimFileSystem : public FileSystem {
 public:
  explicit SimFileSystem(Clock& clock);
  ~SimFileSystem() override;

  /// Called before every operation that changes something, as ("append", "/data/log"), ("sync", …),
  /// ("rename", …). False stops the machine there: this operation and all later ones fail until
  /// Crash or Restart.
  using Hook = std::function<bool(std::string_view operation, const std::string& path)>;
  void SetHook(Hook hook);
  /// Let the n-th changing operation from now on fail once (1 = the next).
  void FailOperation(uint64_t n);
  /// Changing operations so far.
  uint64_t operations() const;
  /// Let the disk be full once `bytes` more are written; an append that meets the end writes
  /// nothing.
  void SetFreeBytes(uint64_t bytes);

  /// How RenameIfAbsent is done: in one step, by a link and a removal (the machine may stop between
  /// them), or not at all.
  enum class Renames { kOneStep, kByLink, kNone };
  void SetRenames(Renames renames);

  /// Power loss and start: unsynced content and names survive by chance, open files and locks are
  /// gone.
  void Crash(Random& random);
  /// Kill of the process and start: everything written stays, open files and locks are gone.
  void Restart();

  Result<std::unique_ptr<File>> Open(const std::string& path, Mode mode) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status RemoveTree(const std::string& path) override;
  Status MakeFoldersBelow(const std::string& top, const std::string& path) override;
  Status SyncPath(const std::string& path) override;
  Status SyncFolder(const std::string& path) override;
  Result<std::vector<Entry>> List(const std::string& folder) override;
  Result<Entry> Stat(const std::string& path) override;
  Result<std::unique_ptr<Lock>> LockFile(const std::string& path) override;
  Result<Space> SpaceAt(const std::string& path) override;

 private:
  Status Link(const std::string& from, const std::string& to);
  Status MakeFolder(const std::string& path);
  Status SyncName(const std::string& path);

  struct State;
  class OpenFile;
  class HeldLock;
  std::shared_ptr<State>
      state_;  // Shared with open files, which fail once their machine has stopped.
};

}  // namespace sluice::io
