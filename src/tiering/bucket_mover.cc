#include "tiering/bucket_mover.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>

#include "types/row_batches.h"

namespace sluice::tiering {
namespace {

// Each Next waits a while by itself; the rows are below the high watermark, so they are there.
constexpr int kStallsMax = 20;
constexpr int64_t kRowsAtOnce = 16 * 1024;

std::vector<lake::RowKind> KindsOf(const client::ScanBatch& batch) {
  std::vector<lake::RowKind> kinds;
  kinds.reserve(batch.changes.size());
  for (const wire::ChangeType change : batch.changes)
    kinds.push_back(lake::KindOfChange(static_cast<uint8_t>(change)));
  return kinds;
}

Status CheckGoesOn(const MoveLimits& limits) {
  if (!*limits.cancelled && !*limits.stopping) return Status::OK();
  return Error(ErrorCode::kOperationNotAttempted, "tiering round is stopping");
}

// In pieces: a batch may take seconds to write, and a stop does not wait for that.
Status WriteBatch(const client::ScanBatch& batch, const MoveLimits& limits,
                  lake::BucketWriter& writer, BucketMoved* moved) {
  const auto kinds = KindsOf(batch);
  const int64_t count = batch.rows->num_rows();
  for (int64_t at = 0; at < count; at += kRowsAtOnce) {
    RETURN_NOT_OK(CheckGoesOn(limits));
    const auto rows = batch.rows->Slice(at, std::min(kRowsAtOnce, count - at));
    const std::span<const lake::RowKind> all(kinds);
    const auto some =
        all.empty() ? all
                    : all.subspan(static_cast<size_t>(at), static_cast<size_t>(rows->num_rows()));
    RETURN_NOT_OK(writer.Write(
        lake::LakeRows{rows, some, batch.base_offset + at, batch.commit_timestamp_ms}));
  }
  moved->records += batch.rows->num_rows();
  moved->end_offset = batch.base_offset + batch.rows->num_rows();
  moved->max_timestamp_ms = std::max(moved->max_timestamp_ms, batch.commit_timestamp_ms);
  return Status::OK();
}

int64_t BytesOf(const std::vector<client::ScanBatch>& batches) {
  int64_t bytes = 0;
  for (const client::ScanBatch& batch : batches) bytes += types::HeldBytes(*batch.rows);
  return bytes;
}

}  // namespace

Result<BucketMoved> MoveBucket(ClusterLink& link, lake::LakeTable& lake,
                               const types::TablePath& path, const BucketSpan& span,
                               MoveLimits limits) {
  BucketMoved moved{.end_offset = span.from};
  ASSIGN_OR_RAISE(const auto log, link.OpenLog(path, span.bucket, span.from));
  std::unique_ptr<lake::BucketWriter> writer;
  MemoryBudget::Part held(*limits.rows);
  bool room = true;
  int64_t size_bytes = 0;
  const auto has_time = [&] {
    return moved.end_offset == span.from || limits.clock->Monotonic() < limits.until;
  };
  for (int stalls = 0;
       moved.end_offset < span.to && size_bytes < limits.bytes_max && room && has_time();) {
    RETURN_NOT_OK(CheckGoesOn(limits));
    const int64_t started = moved.end_offset;
    ASSIGN_OR_RAISE(const auto batches, log->Next());
    const int64_t read_bytes = BytesOf(batches);
    room = held.Hold(read_bytes + (writer == nullptr ? 0 : writer->buffered_bytes()));
    int64_t reached = log->position();
    for (const client::ScanBatch& batch : batches) {
      if (batch.base_offset >= span.to) {
        // Came after the plan. Its schema may be newer than the columns that this log was opened
        // with.
        reached = std::max(span.to, moved.end_offset);
        break;
      }
      if (batch.rows->num_rows() == 0) continue;
      if (writer == nullptr) {
        const lake::WriterOptions options{log->schema()->field_names(), span.partition,
                                          span.bucket.bucket};
        ASSIGN_OR_RAISE(writer, lake.OpenWriter(options));
      }
      RETURN_NOT_OK(WriteBatch(batch, limits, *writer, &moved));
    }
    size_bytes += read_bytes;
    stalls = reached > started ? 0 : stalls + 1;
    if (stalls > kStallsMax) {
      return Error(ErrorCode::kRequestTimeOut, "log gives no rows ", span.bucket.ToString(),
                   " offset=", moved.end_offset, " high_watermark=", span.to);
    }
    moved.end_offset = reached;
  }
  RETURN_NOT_OK(CheckGoesOn(limits));
  if (writer != nullptr) {
    ASSIGN_OR_RAISE(moved.files, writer->Finish());
  }
  return moved;
}

}  // namespace sluice::tiering
