#include "io/disk_guard.h"

#include <algorithm>

#include "base/log.h"

namespace sluice::io {
namespace {

double UsedRatio(const FileSystem::Space& space) {
  const auto usable = static_cast<double>(space.used_bytes + space.free_bytes);
  return usable <= 0 ? 1.0 : static_cast<double>(space.used_bytes) / usable;
}

}  // namespace

DiskGuard::State DiskGuard::Judge() const {
  State now;
  if (options_.lock != nullptr && !options_.lock->IsInPlace()) {
    now.refused = Error(ErrorCode::kDiskWriteLocked,
                        "folder was moved or replaced while in use folder=", folder());
    return now;
  }
  const auto space = options_.files->SpaceAt(folder());
  if (!space.ok()) {
    now.refused = Error(ErrorCode::kDiskWriteLocked, "folder cannot be looked at folder=", folder(),
                        " reason=", space.status().message());
    return now;
  }
  now.space = *space;
  now.used_ratio = UsedRatio(*space);
  const double at_most = limit_ratio_;
  const double limit = refuses_ ? std::min(recover_ratio_.load(), at_most) : at_most;
  if (now.used_ratio >= limit && limit < 1) {
    now.refused =
        Error(ErrorCode::kDiskWriteLocked, "disk is nearly full folder=", folder(),
              " used_ratio=", now.used_ratio, " limit=", limit, " free_bytes=", space->free_bytes);
  }
  return now;
}

void DiskGuard::SetRatios(double limit_ratio, double recover_ratio) {
  limit_ratio_ = limit_ratio;
  recover_ratio_ = recover_ratio;
}

void DiskGuard::Look() {
  State now = Judge();
  const bool refuses = !now.refused.ok();
  if (refuses && !refuses_) LogWarn("writes are refused: {}", now.refused.message());
  if (!refuses && refuses_) LogInfo("writes are taken again folder={}", folder());
  const std::lock_guard lock(mutex_);
  state_ = std::move(now);
  refuses_ = refuses;
}

Status DiskGuard::CheckWrite() const {
  if (!refuses_.load(std::memory_order_relaxed)) return Status::OK();
  const std::lock_guard lock(mutex_);
  return state_.refused;
}

DiskGuard::State DiskGuard::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace sluice::io
