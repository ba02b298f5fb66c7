#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/random.h"
#include "lake/paimon/paths.h"

namespace sluice::lake::paimon {

/// Names for the files that one opened table writes, and the record by which others see whether
/// their writer lives.
///
/// Format: every name holds `sluice-<session>-<n>`, session a UUID, so that a file tells who wrote
/// it. The record is the empty file `.sluice/<session>` in the table's folder, made durable before
/// the first such file and locked while the session lives; the kernel frees the lock of a process
/// that dies. It is removed at the end when every file was either committed or removed, and stays
/// when that is not known: then OrphanSweep looks.
/// Threads: any.
class WriterSession {
 public:
  WriterSession(io::FileSystem& files, io::Random& random, const TablePaths& paths)
      : files_(files), random_(random), paths_(paths) {}
  ~WriterSession();
  WriterSession(const WriterSession&) = delete;
  WriterSession& operator=(const WriterSession&) = delete;

  /// Announce a piece of work that makes files; the first one writes the record.
  Status Begin();
  /// A piece of work ended whose files are all committed or gone.
  void Settle() { --open_; }
  /// "sluice-<session>-<n>", never the same. Only between Begin and Settle.
  std::string NewName();

 private:
  Status WriteRecord();

  io::FileSystem& files_;
  io::Random& random_;
  const TablePaths& paths_;
  std::mutex mutex_;  // Guards what follows up to the next number.
  std::string id_;
  std::unique_ptr<io::FileSystem::Lock> lock_;
  // Of records in folders that were moved away: work that began there may end there.
  std::vector<std::unique_ptr<io::FileSystem::Lock>> former_locks_;
  int64_t next_ = 0;
  std::atomic<int64_t> open_ = 0;
};

/// A name of ours outside of any session, for temporary files of DDL.
std::string OwnName(io::Random& random);

/// The session that a file name holds; nullopt when the file is not ours.
std::optional<std::string> SessionOf(std::string_view name);

}  // namespace sluice::lake::paimon
