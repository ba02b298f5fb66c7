#pragma once
#include <string>
#include <string_view>

#include "io/file.h"

namespace sluice::lake::paimon {

/// Write `bytes` to a hidden temporary name beside `path`, sync, and rename unless `path` exists:
/// false then, and the temporary file is gone. The folder is synced on success. `unique`: a name of
/// ours that no other temporary file has.
Result<bool> PutFileIfAbsent(io::FileSystem& files, std::string_view unique,
                             const std::string& path, std::string_view bytes);

/// Replace a file as io::FileSystem::ReplaceFile does, but by a temporary name of its own: two
/// threads may replace the same file at once, and no reader takes the temporary file for something
/// else.
Status ReplaceFileAtomically(io::FileSystem& files, std::string_view unique,
                             const std::string& path, std::string_view bytes);

/// Write a new file and sync it; its folder must be synced by the caller.
Status WriteSynced(io::FileSystem& files, const std::string& path, std::string_view bytes);

}  // namespace sluice::lake::paimon
