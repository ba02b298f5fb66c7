#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/payload.h"

namespace sluice::wire {

// The messages that carry record bytes in bulk, read and written without copying those bytes. They
// are the protobuf messages ProduceLogRequest, PutKvRequest and FetchLogResponse; unknown fields
// are skipped.

/// Record bytes for one bucket. Lifetime: views the message that it was parsed from.
struct BucketRecords {
  std::optional<int64_t> partition_id;
  int32_t bucket_id = 0;
  std::string_view records;
};

struct ProduceLogView {
  int32_t acks = 0;
  int64_t table_id = -1;
  int32_t timeout_ms = 0;
  std::vector<BucketRecords> buckets;
};
/// Errors of the parsers here: kCorruptMessage, naming the message and what is wrong.
Result<ProduceLogView> ParseProduceLog(std::string_view body);
std::string BuildProduceLog(const ProduceLogView& request);

struct PutKvView {
  int32_t acks = 0;
  int64_t table_id = -1;
  int32_t timeout_ms = 0;
  std::vector<int32_t> target_columns;  ///< Column positions of a partial update, empty = all.
  std::vector<BucketRecords> buckets;
  int32_t agg_mode = 0;  ///< 0 merge, 1 overwrite.
};
Result<PutKvView> ParsePutKv(std::string_view body);
std::string BuildPutKv(const PutKvView& request);

/// Builds a FetchLogResponse whose records may be file ranges.
class FetchResponseBuilder {
 public:
  struct Bucket {
    std::optional<int64_t> partition_id;
    int32_t bucket_id = 0;
    int64_t high_watermark = 0;
    int64_t log_start_offset = 0;
    std::optional<int64_t> filtered_end_offset;
    std::string remote_log_fetch_info;  ///< A serialized PbRemoteLogFetchInfo instead of records,
                                        ///< empty = none.
    io::Payload records;  ///< Always present in the reply unless there is remote info.
  };
  /// Entries that follow belong to this table.
  void BeginTable(int64_t table_id);
  void AddBucket(Bucket bucket);
  void AddError(std::optional<int64_t> partition_id, int32_t bucket_id, const Status& error);
  /// The response body; the builder is spent.
  io::Payload Finish();

 private:
  void EndTable();

  io::Payload out_;    // Tables that are complete.
  io::Payload table_;  // Fields of the table at hand.
  bool in_table_ = false;
};

/// One bucket's part of a fetch reply. Lifetime: views the response body.
struct FetchedBucket {
  std::optional<int64_t> partition_id;
  int32_t bucket_id = 0;
  Status error;
  int64_t high_watermark = -1;  ///< -1 when absent, as with errors.
  int64_t log_start_offset = 0;
  std::optional<int64_t> filtered_end_offset;
  std::string_view remote_log_fetch_info;  ///< Empty when absent.
  std::string_view records;
};
struct FetchedTable {
  int64_t table_id = -1;
  std::vector<FetchedBucket> buckets;
};
Result<std::vector<FetchedTable>> ParseFetchResponse(std::string_view body);

/// A LimitScanResponse whose records may be file ranges.
io::Payload BuildLimitScanResponse(bool is_log_table, io::Payload records);

}  // namespace sluice::wire
