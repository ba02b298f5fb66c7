#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "io/file.h"

// The parts of LocalFileSystem().
namespace sluice::io::internal {

Result<std::unique_ptr<File>> OpenLocalFile(const std::string& path, FileSystem::Mode mode);
Result<std::unique_ptr<FileSystem::Lock>> TakeLocalLock(const std::string& path);

/// FileSystem::RenameIfAbsent for file systems whose rename always replaces: a hard link is as
/// exclusive, and until `from` is removed both names are the same file.
///
/// Errors: kStorage where the file system has no links either.
Result<bool> RenameByLink(const std::string& from, const std::string& to);

/// What a rename means that found `to` taken: when both names are one file, an earlier call was
/// stopped half way, so remove `from` and return true; else return false and change nothing.
Result<bool> FinishHalfRename(const std::string& from, const std::string& to);

/// Whether syncfs tells of writes that failed, on a Linux of this release ("6.1.0-13-amd64"): it
/// does since 5.8.
bool SyncfsTells(std::string_view release);

}  // namespace sluice::io::internal
