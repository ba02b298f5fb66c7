#pragma once
#include <cstdint>
#include <string_view>

#include "log/log.h"

namespace sluice::log {

inline constexpr std::string_view kWriterSnapshotSuffix = ".writer_snapshot";

/// Brings a log from what its folder holds to where it may be appended to: one run, at Open.
class Recovery {
 public:
  Recovery(Log& log, int64_t recovery_point) : log_(log), recovery_point_(recovery_point) {}
  Status Run();

 private:
  Status MakeFolder();
  Status TakeStock();
  Status DropSegmentsBelowStart();
  Status LoadSnapshot();
  Status Scan();
  Status ScanSegment(size_t index);
  Result<BatchScan> StartScan(size_t index);
  Status Damaged(size_t index, uint64_t position_bytes, int64_t offset, const Status& reason);

  Log& log_;
  const int64_t recovery_point_;
  bool has_snapshot_ = false;
  int64_t trusted_ = 0;  // Batches below it are not checked, and must be there.
  int64_t from_ = 0;     // Writer states are known up to here.
  int64_t end_ = 0;      // End of what has been found whole.
  bool cut_ = false;     // The rest has been dropped: nothing follows.
};

}  // namespace sluice::log
