#include "tablet/scanners.h"

#include <algorithm>

#include "base/bytes.h"

namespace sluice::tablet {
namespace {

constexpr size_t kIdCharacters = 32;
constexpr size_t kShardCharacters = 4;

Status Unknown(const std::string& id) {
  return Error(ErrorCode::kUnknownScannerId, "no such scanner id=", id);
}

}  // namespace

Status Scanners::CheckRoom(const types::BucketId& bucket) const {
  const auto of_bucket = std::ranges::count_if(
      open_, [&](const auto& entry) { return entry.second->bucket == bucket; });
  if (static_cast<size_t>(of_bucket) >= limits_.per_bucket || open_.size() >= limits_.in_all) {
    return Error(ErrorCode::kTooManyScanners, "too many scanners are open of_bucket=", of_bucket,
                 " on_shard=", open_.size(), " ", bucket);
  }
  return Status::OK();
}

std::string Scanners::Add(std::shared_ptr<Scanner> scanner) {
  std::string raw;
  AppendBe(&raw, static_cast<uint16_t>(shard_));
  AppendBe(&raw, random_.Next());
  AppendBe(&raw, random_.Next());
  std::string id = ToHex(raw).substr(0, kIdCharacters);
  open_[id] = std::move(scanner);
  return id;
}

Result<std::shared_ptr<Scanner>> Scanners::Find(const std::string& id) const {
  const auto found = open_.find(id);
  if (found != open_.end() && found->second->closing) return Unknown(id);
  if (found != open_.end()) return found->second;
  if (expired_.contains(id))
    return Error(ErrorCode::kScannerExpired, "scanner was idle for too long id=", id);
  return Unknown(id);
}

void Scanners::Close(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  found->second->closing = true;
  if (!found->second->busy) open_.erase(found);
}

bool Scanners::CloseBucket(const types::BucketId& bucket) {
  bool busy = false;
  std::erase_if(open_, [&](const auto& entry) {
    if (entry.second->bucket != bucket) return false;
    busy |= entry.second->busy;
    return !entry.second->busy;
  });
  return !busy;
}

void Scanners::Expire(std::chrono::nanoseconds now) {
  std::erase_if(expired_, [&](const auto& entry) { return entry.second + limits_.ttl < now; });
  std::erase_if(open_, [&](const auto& entry) {
    if (entry.second->busy || entry.second->used_at + limits_.ttl >= now) return false;
    expired_[entry.first] = now;
    return true;
  });
}

Result<size_t> Scanners::ShardOf(const std::string& id, size_t shards) {
  const bool hex = std::ranges::all_of(id, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (id.size() != kIdCharacters || !hex)
    return Error(ErrorCode::kUnknownScannerId, "scanner id is malformed");
  const size_t shard = std::stoul(id.substr(0, kShardCharacters), nullptr, 16);
  if (shard >= shards) return Unknown(id);
  return shard;
}

}  // namespace sluice::tablet
