#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "io/file.h"
#include "types/ids.h"

namespace sluice::log {

// Offsets of all the buckets of one data folder, in a small text file.
//
// There is no checkpoint of high watermarks: everything in a sole replica's log that recovery finds
// whole was, or may have been, acknowledged, so the high watermark starts at the log's end.

inline constexpr char kRecoveryPointFile[] = "recovery-point-offset-checkpoint";
inline constexpr char kCleanShutdownFile[] = ".fluss_cleanshutdown";

using Checkpoint = std::map<types::BucketId, int64_t>;

/// Replace a checkpoint file, durably.
///
/// Format: lines "0" (version), the number of entries, then "tableId bucket offset" or "tableId
/// partitionId bucket offset" each.
Status WriteCheckpoint(io::FileSystem& files, const std::string& path, const Checkpoint& offsets);

/// Read a checkpoint file; empty when there is none.
/// Errors: kCorruptRecord, naming the file and line.
Result<Checkpoint> ReadCheckpoint(io::FileSystem& files, const std::string& path);

/// Say in `folder` that every log below it was closed.
Status WriteCleanShutdown(io::FileSystem& files, const std::string& folder);
/// True when the last stop was clean; the marker is gone then, durably, before anything is written.
Result<bool> TakeCleanShutdown(io::FileSystem& files, const std::string& folder);

}  // namespace sluice::log
