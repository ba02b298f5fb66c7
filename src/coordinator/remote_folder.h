#pragma once
#include <string>

#include "io/file.h"

namespace sluice::coordinator {

/// Have the folder of `remote.data.dir` there, with a mark in it that tells it from an empty mount
/// point. `may_make`: false when it was made before, and its absence is an error.
/// Errors: kInvalidConfig when it is gone, or cannot be made.
Status OpenRemoteFolder(io::FileSystem& files, const std::string& folder, bool may_make);

/// Errors: kStorage when the folder is not the one that OpenRemoteFolder opened.
Status CheckRemoteFolder(io::FileSystem& files, const std::string& folder);

}  // namespace sluice::coordinator
