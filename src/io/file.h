#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::io {

/// One open file. Calls return when the page cache has the bytes (or, for Sync, the device).
///
/// Threads: one thread at a time, except that ReadAt and Sync may run beside anything.
class File {
 public:
  virtual ~File() = default;
  /// Write all parts one after another at the end (one writev). On an error part of them may have
  /// been written.
  virtual Status Append(std::span<const std::string_view> parts) = 0;
  Status Append(std::string_view bytes) {
    return Append(std::span<const std::string_view>(&bytes, 1));
  }
  /// Overwrite in place at `position_bytes`, which may reach past the end.
  virtual Status WriteAt(uint64_t position_bytes, std::string_view bytes) = 0;
  /// Read up to `size` bytes at `position_bytes`; fewer only at the end of the file.
  virtual Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const = 0;
  /// As ReadAt, but only what the page cache holds: returns false instead of waiting for the
  /// device.
  virtual Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const = 0;
  Result<std::string> ReadString(uint64_t position_bytes, size_t size) const;
  virtual Status Truncate(uint64_t size_bytes) = 0;
  /// Make everything written so far durable.
  virtual Status Sync() = 0;
  virtual uint64_t size_bytes() const = 0;
  virtual const std::string& path() const = 0;
  /// The descriptor, for sending file ranges to sockets; -1 in simulation.
  virtual int descriptor() const = 0;
};

/// A tree of files: the machine's, or a simulated one that can lose what was not synced.
///
/// Errors: a missing path gives arrow's KeyError-like Status for which IsNotFound() holds; the rest
/// IOError with the path.
class FileSystem {
 public:
  enum class Mode { kRead, kReadWrite, kCreate, kCreateNew };  // kCreate keeps existing content.
  struct Entry {
    std::string name;  // Without its folder.
    bool is_folder;
    uint64_t size_bytes;
    int64_t modified_ms;
  };
  /// An exclusive lock held while the object lives.
  class Lock {
   public:
    virtual ~Lock() = default;
    /// False when the locked path names another file by now, or none: its folder was moved.
    virtual bool IsInPlace() const = 0;
    /// Make durable, by one wait, all that anybody wrote to the file system that the locked file is
    /// on, names too. Errors: also of writes since the lock was taken; NotImplemented where none
    /// are told.
    virtual Status SyncAll() = 0;
  };

  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> Open(const std::string& path, Mode mode) = 0;
  /// Replace `to` if it exists.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  /// Move `from` to `to` unless `to` exists: false then, and `from` stays. `to` appears at once and
  /// whole. Where the file system cannot do it in one step, a crash can leave both names on the one
  /// file: the move has happened then. Calling it again removes `from` and returns true; who does
  /// not call it again must give `from` a name that its own recovery removes.
  /// Errors: kStorage where the file system has no way to do it.
  virtual Result<bool> RenameIfAbsent(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  /// Remove a folder with all below it; fine when it is not there.
  virtual Status RemoveTree(const std::string& path) = 0;
  /// Make the folder and those above it, durably, also when they are there already: see SyncPath.
  Status MakeFolders(const std::string& path) { return MakeFoldersBelow("", path); }
  /// As MakeFolders, but `top`, which `path` is below or equal to, must be there: neither it nor a
  /// folder above it is made, also when it goes away meanwhile. Errors: IsNotFound then.
  virtual Status MakeFoldersBelow(const std::string& top, const std::string& path) = 0;
  /// Make durable the names that lead to a folder: a process that was killed may have made them and
  /// not synced them. Costs nothing for a path that is known to be durable. Folders above whose
  /// names nobody can sync (no permission, no such operation there) are passed over.
  virtual Status SyncPath(const std::string& path) = 0;
  /// Make created, renamed and removed names of a folder durable.
  virtual Status SyncFolder(const std::string& path) = 0;
  /// Entries of a folder in name order.
  virtual Result<std::vector<Entry>> List(const std::string& folder) = 0;
  virtual Result<Entry> Stat(const std::string& path) = 0;
  Result<bool> Exists(const std::string& path);
  /// Errors: a Status that names the folder when another process holds it.
  virtual Result<std::unique_ptr<Lock>> LockFile(const std::string& path) = 0;
  /// Bytes free for us on the device below `path`, those in use, and its size, which may be more
  /// than both: a part may be kept for the system.
  struct Space {
    uint64_t free_bytes;
    uint64_t used_bytes;
    uint64_t total_bytes;
  };
  virtual Result<Space> SpaceAt(const std::string& path) = 0;

  Result<std::string> ReadFile(const std::string& path);
  /// Replace a whole file: write beside it, sync, rename, sync the folder.
  Status ReplaceFile(const std::string& path, std::string_view bytes);
};

/// True when `status` says that a path does not exist.
bool IsNotFound(const Status& status);
Status NotFound(const std::string& path);

/// The machine's files.
FileSystem& LocalFileSystem();

/// "a/b" joined with one slash.
std::string JoinPath(std::string_view folder, std::string_view name);
/// Folder part of a path, without the last slash.
std::string FolderOf(std::string_view path);

}  // namespace sluice::io
