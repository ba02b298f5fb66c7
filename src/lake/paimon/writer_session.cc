#include "lake/paimon/writer_session.h"

#include "base/check.h"
#include "base/log.h"

namespace sluice::lake::paimon {
namespace {

constexpr std::string_view kOwnPrefix = "sluice-";
constexpr size_t kUuidSize = 36;
constexpr int kAttemptsMax = 3;

}  // namespace

std::string OwnName(io::Random& random) { return std::string(kOwnPrefix) + random.Uuid(); }

std::optional<std::string> SessionOf(std::string_view name) {
  const size_t at = name.find(kOwnPrefix);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view session = name.substr(at + kOwnPrefix.size(), kUuidSize);
  const bool whole = session.size() == kUuidSize &&
                     session.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  return whole ? std::optional(std::string(session)) : std::nullopt;
}

WriterSession::~WriterSession() {
  if (lock_ == nullptr || open_ != 0) return;
  const Status removed = files_.Remove(paths_.SessionRecord(id_));
  if (!removed.ok() && !io::IsNotFound(removed))
    LogInfo("record of a finished lake writer stays behind table={} reason={}", paths_.location(),
            removed.message());
}

Status WriterSession::Begin() {
  const std::lock_guard lock(mutex_);
  // A folder that was put in the place of the table's lacks the record, or has it as a dead one.
  if (lock_ == nullptr || !lock_->IsInPlace()) RETURN_NOT_OK(WriteRecord());
  ++open_;
  return Status::OK();
}

Status WriterSession::WriteRecord() {
  RETURN_NOT_OK(MakeFoldersOf(files_, paths_, paths_.SessionFolder()));
  for (int attempt = 1;; ++attempt) {
    const std::string id = random_.Uuid();
    auto locked = files_.LockFile(paths_.SessionRecord(id));
    // A sweep may take a record for dead in the moment before it is locked.
    if (!locked.ok() && attempt < kAttemptsMax) continue;
    RETURN_NOT_OK(locked.status());
    RETURN_NOT_OK(files_.SyncFolder(paths_.SessionFolder()));
    ASSIGN_OR_RAISE(const bool there, files_.Exists(paths_.SessionRecord(id)));
    if (!there && attempt < kAttemptsMax) continue;
    if (!there) {
      return Error(ErrorCode::kStorage,
                   "record of a lake writer is taken away each time, table=", paths_.location());
    }
    if (lock_ != nullptr) former_locks_.push_back(std::move(lock_));
    id_ = id;
    lock_ = std::move(locked).ValueUnsafe();
    return Status::OK();
  }
}

std::string WriterSession::NewName() {
  DCHECK(open_ > 0);
  const std::lock_guard lock(mutex_);
  return std::string(kOwnPrefix) + id_ + "-" + std::to_string(next_++);
}

}  // namespace sluice::lake::paimon
