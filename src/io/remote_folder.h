#pragma once
#include <string>

#include "io/file.h"

namespace sluice::io {

/// The folder of `remote.data.dir`, with a mark in it that tells it from the empty mount point of a
/// disk that is away. What is written to such a mount point would be hidden once the disk is back,
/// and what is missing there is not gone. Threads: any.
class RemoteFolder {
 public:
  /// None: Check finds all well.
  RemoteFolder() = default;
  /// `path`: as the file system takes it; empty = none.
  explicit RemoteFolder(std::string path);

  /// Have the folder there with its mark. `may_make`: false when it was made before, and its
  /// absence is an error. Errors: kInvalidConfig when it is gone, or cannot be made.
  Status Open(FileSystem& files, bool may_make) const;
  /// To be asked before `path`, in this folder or the folder itself, is written or removed. Paths
  /// elsewhere, as of tables made under another setting, are fine. Waits for the storage.
  /// Errors: kStorage when the folder is not the one that Open found.
  Status Check(FileSystem& files, const std::string& path) const;

 private:
  bool Contains(const std::string& path) const;
  std::string Mark() const;
  Status Gone(ErrorCode code) const;

  std::string path_;  // Without slashes at its end; "" also stands for the root of all.
  bool is_set_ = false;
};

}  // namespace sluice::io
