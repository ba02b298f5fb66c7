#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::io {

/// Says whether the device below a folder has room for more writes, before it is full.
///
/// Writes are refused from `limit_ratio` of use on, and taken again below `recover_ratio`.
/// Threads: Look by one thread at a time, the rest from any.
class DiskGuard {
 public:
  struct Options {
    FileSystem* files = nullptr;
    std::string folder;
    double limit_ratio = 0.85;
    double recover_ratio = 0.80;
    /// Held in the folder; without it the folder is another one, or gone. May be null.
    const FileSystem::Lock* lock = nullptr;
  };
  /// As of the last look.
  struct State {
    FileSystem::Space space{};
    double used_ratio = 0;  ///< As `df` shows it.
    Status refused;         ///< Why writes are refused; OK = they are not.
  };
  explicit DiskGuard(Options options)
      : options_(std::move(options)),
        limit_ratio_(options_.limit_ratio),
        recover_ratio_(options_.recover_ratio) {}

  /// Judge by other ratios from the next look on. Threads: any.
  void SetRatios(double limit_ratio, double recover_ratio);
  /// Look at the folder and its device.
  void Look();
  /// Errors: kDiskWriteLocked (retriable) naming the folder and its use, or what is wrong with it.
  /// An atomic read while there is room.
  Status CheckWrite() const;
  State state() const;
  const std::string& folder() const { return options_.folder; }

 private:
  State Judge() const;

  const Options options_;
  std::atomic<double> limit_ratio_, recover_ratio_;
  std::atomic<bool> refuses_{false};
  mutable std::mutex mutex_;  // Guards state_.
  State state_;
};

}  // namespace sluice::io
