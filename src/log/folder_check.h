#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace sluice::log {

/// One thing that a check found.
struct Finding {
  enum class Kind {
    kDamage,  ///< Bytes are wrong or missing.
    kNote,    ///< What a stop in the middle leaves, and the next start puts in order.
  };
  Kind kind = Kind::kDamage;
  std::string file;               ///< Or folder.
  std::optional<int64_t> offset;  ///< Record offset.
  std::string text;
};

/// What is known from outside of a log that is checked.
struct FolderCheckOptions {
  bool clean_stop = false;                ///< The data folder says that every log was closed.
  std::optional<int64_t> recovery_point;  ///< Of the checkpoint file.
};

struct FolderCheck {
  std::vector<Finding> findings;
  int64_t start_offset = 0;
  int64_t end_offset = 0;      ///< Behind the last batch that was found.
  int64_t recovery_point = 0;  ///< Below it everything must be there.
  uint64_t segments = 0, batches = 0, records = 0, size_bytes = 0;
};

/// Check everything in a log's folder, and change nothing: segments follow each other without
/// holes, every batch has its place and its CRC, commit timestamps never fall, both indexes name
/// batches that stand there, state and writer snapshots can be read and lie inside the log.
/// Errors: of the folder alone; whatever is wrong with its files is a finding.
Result<FolderCheck> CheckFolder(io::FileSystem& files, const std::string& folder,
                                const FolderCheckOptions& options);

}  // namespace sluice::log
