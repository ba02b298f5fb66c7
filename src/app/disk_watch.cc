#include "app/disk_watch.h"

#include <chrono>

#include "app/pool_beat.h"

namespace sluice::app {
namespace {

constexpr std::chrono::milliseconds kLookInterval{1000};

}  // namespace

const io::DiskGuard& DiskWatch::Add(const std::string& folder, const io::FileSystem::Lock* lock) {
  guards_.push_back(std::make_shared<io::DiskGuard>(
      io::DiskGuard::Options{.files = &files_,
                             .folder = folder,
                             .limit_ratio = limits_.write_limit_ratio,
                             .recover_ratio = limits_.recover_ratio,
                             .lock = lock}));
  guards_.back()->Look();
  return *guards_.back();
}

void DiskWatch::SetLimits(Limits limits) {
  limits_ = limits;
  for (const auto& guard : guards_)
    guard->SetRatios(limits.write_limit_ratio, limits.recover_ratio);
}

void DiskWatch::Start(io::Loop& loop, io::Pool& pool) {
  StartPoolBeat(loop, pool, kLookInterval, [guards = guards_] {
    for (const auto& guard : guards) guard->Look();
  });
}

Status DiskWatch::CheckAll() const {
  for (const auto& guard : guards_) RETURN_NOT_OK(guard->CheckWrite());
  return Status::OK();
}

void DiskWatch::Collect(std::vector<MetricSample>* samples) const {
  using Kind = MetricSample::Kind;
  for (const auto& guard : guards_) {
    const io::DiskGuard::State state = guard->state();
    const std::map<std::string, std::string> labels = {{"folder", guard->folder()}};
    samples->push_back({"sluice_disk_free_bytes", "Bytes free on the disk of a folder.",
                        Kind::kGauge, labels, static_cast<double>(state.space.free_bytes)});
    samples->push_back({"sluice_disk_used_ratio", "Share of the disk of a folder that is in use.",
                        Kind::kGauge, labels, state.used_ratio});
    samples->push_back({"sluice_disk_writes_refused", "1 while the folder takes no writes.",
                        Kind::kGauge, labels, state.refused.ok() ? 0.0 : 1.0});
  }
}

}  // namespace sluice::app
