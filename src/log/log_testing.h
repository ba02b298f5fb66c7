#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/testing.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"
#include "log/log.h"
#include "wire/log_batch.h"

namespace sluice::log::internal {

struct TestBatch {
  int64_t writer_id = -1;
  int32_t sequence = -1;
  int32_t records = 1;
  std::string body = "body";
};

/// A batch as a client sends it, with any bytes for a body: the log never looks inside.
inline std::string MakeBatch(const TestBatch& batch) {
  wire::LogBatchOptions options;
  options.writer_id = batch.writer_id;
  options.batch_sequence = batch.sequence;
  std::string bytes = wire::BuildEmptyLogBatch(options, /*append_only=*/true) + batch.body;
  StoreLe(&bytes[8], static_cast<int32_t>(bytes.size() - wire::kLogBatchLengthBytes));
  StoreLe(&bytes[28], std::max(batch.records - 1, 0));
  StoreLe(&bytes[44], batch.records);
  StoreLe(&bytes[21], Crc32c(std::string_view(bytes).substr(25)));
  return bytes;
}

/// Everything in `slice`.
inline std::string BytesOf(const Log::Slice& slice) {
  io::Payload payload;
  for (const auto& range : slice.ranges) payload.Add(range);
  return payload.Flatten().ValueOrDie();
}

/// Batches of the log from its start to its end, as they stand there.
inline std::vector<std::string> AllBatches(Log& log) {
  std::vector<std::string> batches;
  const auto slice = log.Read(log.start_offset(), UINT64_MAX, log.end_offset(), true).ValueOrDie();
  const std::string bytes = BytesOf(slice);
  wire::LogBatchIterator iterator(bytes);
  while (const auto batch = iterator.Next().ValueOrDie()) batches.emplace_back(batch->bytes());
  return batches;
}

/// Bodies of those batches.
inline std::vector<std::string> AllBodies(Log& log) {
  std::vector<std::string> bodies = AllBatches(log);
  for (std::string& batch : bodies) batch = batch.substr(wire::kLogBatchHeaderBytes);
  return bodies;
}

/// A log in a folder of its own on the machine's disk, with a clock that the test moves.
class LogFixture : public ::testing::Test {
 protected:
  LogFixture() : folder_(io::JoinPath(dir_.path(), "db/t-1/log-0")) {
    options_.segment_bytes = 1000;
    options_.index_interval_bytes = 100;
  }
  /// Let go of the log, as a killed process does, and open it again.
  Status Reopen(int64_t recovery_point = Log::kScanAll) {
    log_.reset();
    ARROW_ASSIGN_OR_RAISE(
        log_, Log::Open(io::LocalFileSystem(), clock_, folder_, options_, recovery_point));
    return Status::OK();
  }
  Result<Log::Appended> Append(const TestBatch& batch) {
    return log_->AppendAsLeader(MakeBatch(batch), 0);
  }
  /// Append `count` batches of two records with the bodies "0", "1", …
  void Fill(int count) {
    for (int i = 0; i < count; ++i) {
      clock_.Advance(std::chrono::milliseconds(10));
      const auto appended =
          Append({.writer_id = 7, .sequence = filled_, .records = 2, .body = BodyOf(filled_)});
      ASSERT_TRUE(appended.ok()) << appended.status().ToString();
      ++filled_;
    }
  }
  static std::string BodyOf(int i) { return std::to_string(i) + std::string(50, 'x'); }
  std::string PathOf(int64_t base_offset, std::string_view suffix) const {
    const std::string digits = std::to_string(base_offset);
    return io::JoinPath(folder_,
                        std::string(20 - digits.size(), '0') + digits + std::string(suffix));
  }

  TempDir dir_;
  io::SimClock clock_;
  std::string folder_;
  LogOptions options_;
  std::unique_ptr<Log> log_;
  int filled_ = 0;
};

}  // namespace sluice::log::internal
