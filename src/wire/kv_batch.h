#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::wire {

/// Header of a KV batch. Format: little-endian, 28 bytes. Source: DefaultKvRecordBatch.
struct KvBatchHeader {
  int32_t length = 0;  ///< Bytes after the length field; the batch has 4 more.
  int8_t magic = 0;
  uint32_t crc = 0;  ///< CRC-32C from schema_id to the end.
  int16_t schema_id = 0;
  uint8_t attributes = 0;
  int64_t writer_id = -1;
  int32_t batch_sequence = -1;
  int32_t record_count = 0;
};

constexpr size_t kKvBatchHeaderBytes = 28;

/// One upsert, or a delete when there is no row. Lifetime: views.
struct KvRecord {
  std::string_view key;
  std::optional<std::string_view> row;
  bool operator==(const KvRecord&) const = default;
};

/// One KV batch in memory. Lifetime: views the bytes that it was parsed from.
class KvBatchView {
 public:
  /// Read the batch at the front of `bytes`, which may be longer. The CRC is not checked here.
  /// Errors: kCorruptRecord when the bytes end early, magic or attributes are unknown or the
  /// records do not fill the batch.
  static Result<KvBatchView> Parse(std::string_view bytes);

  bool CrcMatches() const;
  const KvBatchHeader& header() const { return header_; }
  std::string_view bytes() const { return bytes_; }  ///< This batch exactly.
  const std::vector<KvRecord>& records() const { return records_; }

 private:
  KvBatchHeader header_;
  std::string_view bytes_;
  std::vector<KvRecord> records_;
};

/// Records that the headers of whole batches laid end to end name; those after a header that is
/// none do not count.
size_t CountKvRecords(std::string_view batches);

/// Bounded by the caller: the batch fits an int32.
std::string BuildKvBatch(int16_t schema_id, int64_t writer_id, int32_t batch_sequence,
                         std::span<const KvRecord> records);

/// One value as stored and as lookups answer it: int16 little-endian schema id, then the row.
/// Lifetime: views.
struct StoredValue {
  int16_t schema_id = 0;
  std::string_view row;
};
constexpr size_t kStoredValueHeadBytes = 2;
/// Errors: kCorruptRecord when it is shorter than a schema id.
Result<StoredValue> ParseStoredValue(std::string_view value);
std::string BuildStoredValue(int16_t schema_id, std::string_view row);

/// Builds a value batch (LIMIT_SCAN on primary-key tables, SCAN_KV) value by value. Format:
/// DefaultValueRecordBatch of the Java side.
class ValueBatchBuilder {
 public:
  ValueBatchBuilder();
  void Add(std::string_view stored_value);
  int32_t count() const { return count_; }
  size_t size_bytes() const { return batch_.size(); }
  /// The batch; the builder is used up.
  std::string Finish();

 private:
  std::string batch_;
  int32_t count_ = 0;
};

/// A value batch of stored values.
std::string BuildValueBatch(std::span<const std::string> values);
/// Errors: kCorruptRecord.
Result<std::vector<StoredValue>> ParseValueBatch(std::string_view bytes);

}  // namespace sluice::wire
