#include "wire/log_batch.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "wire/log_batch_internal.h"

namespace sluice::wire {
namespace {

// Where the fields lie (docs/formats/log.md). Up to batch_sequence and record_count both magics
// agree.
constexpr size_t kLengthAt = 8, kMagicAt = 12, kTimestampAt = 13, kCrcAt = 21,
                 kSchemaIdAt = kLogBatchCrcFrom, kAttributesAt = 27, kLastOffsetDeltaAt = 28,
                 kWriterIdAt = 32, kSequenceAt = 40, kRecordCountAt = 44, kStatisticsLengthAt = 48;
static_assert(kRecordCountAt + 4 == kLogBatchHeaderBytes);
static_assert(kStatisticsLengthAt + 4 == kLogBatchHeaderBytesMax);

Status CheckHeader(const LogBatchHeader& header) {
  if (header.size_bytes() < header.header_bytes()) {
    return Corrupt("log batch is shorter than its header length=", header.length);
  }
  if (header.record_count < 0 || header.last_offset_delta != std::max(header.record_count - 1, 0)) {
    return Corrupt("log batch has an impossible record count record_count=", header.record_count,
                   " last_offset_delta=", header.last_offset_delta);
  }
  if (header.statistics_length < 0 || static_cast<uint64_t>(header.statistics_length) >
                                          header.size_bytes() - header.header_bytes()) {
    return Corrupt("log batch statistics do not fit statistics_length=", header.statistics_length);
  }
  return Status::OK();
}

uint32_t BatchCrc(std::string_view batch) { return Crc32c(batch.substr(kLogBatchCrcFrom)); }

}  // namespace

size_t LogBatchHeader::header_bytes() const {
  return magic == 0 ? kLogBatchHeaderBytes : kLogBatchHeaderBytesMax;
}

Result<LogBatchHeader> ParseLogBatchHeader(std::string_view bytes) {
  if (bytes.size() < kLogBatchHeaderBytes) {
    return Corrupt("log batch ends inside its header size_bytes=", bytes.size());
  }
  const char* at = bytes.data();
  LogBatchHeader header;
  header.magic = LoadLe<int8_t>(at + kMagicAt);
  if (header.magic != 0 && header.magic != 1) {
    return Corrupt("log batch of unknown magic=", static_cast<int>(header.magic));
  }
  if (bytes.size() < header.header_bytes()) {
    return Corrupt("log batch ends inside its header size_bytes=", bytes.size());
  }
  header.base_offset = LoadLe<int64_t>(at);
  header.length = LoadLe<int32_t>(at + kLengthAt);
  header.commit_timestamp_ms = LoadLe<int64_t>(at + kTimestampAt);
  header.crc = LoadLe<uint32_t>(at + kCrcAt);
  header.schema_id = LoadLe<int16_t>(at + kSchemaIdAt);
  header.attributes = LoadLe<uint8_t>(at + kAttributesAt);
  header.last_offset_delta = LoadLe<int32_t>(at + kLastOffsetDeltaAt);
  header.writer_id = LoadLe<int64_t>(at + kWriterIdAt);
  header.batch_sequence = LoadLe<int32_t>(at + kSequenceAt);
  header.record_count = LoadLe<int32_t>(at + kRecordCountAt);
  if (header.magic == 1) header.statistics_length = LoadLe<int32_t>(at + kStatisticsLengthAt);
  if (header.length < 0) return Corrupt("log batch has a negative length=", header.length);
  ARROW_RETURN_NOT_OK(CheckHeader(header));
  return header;
}

Result<LogBatchView> LogBatchView::Parse(std::string_view bytes) {
  ASSIGN_OR_RAISE(const LogBatchHeader header, ParseLogBatchHeader(bytes));
  if (header.size_bytes() > bytes.size()) {
    return Corrupt("log batch ends early length=", header.length, " size_bytes=", bytes.size());
  }
  const LogBatchView batch(header, bytes.substr(0, header.size_bytes()));
  const size_t after_header =
      batch.bytes_.size() - header.header_bytes() - header.statistics_length;
  if (!header.append_only() && static_cast<size_t>(header.record_count) > after_header) {
    return Corrupt("log batch ends inside its change types record_count=", header.record_count);
  }
  return batch;
}

bool LogBatchView::CrcMatches() const { return BatchCrc(bytes_) == header_.crc; }

std::string_view LogBatchView::statistics() const {
  return bytes_.substr(header_.header_bytes(), header_.statistics_length);
}

std::string_view LogBatchView::change_types() const {
  if (append_only()) return {};
  return bytes_.substr(header_.header_bytes() + header_.statistics_length, header_.record_count);
}

std::string_view LogBatchView::body() const {
  return bytes_.substr(header_.header_bytes() + header_.statistics_length + change_types().size());
}

Result<std::optional<LogBatchView>> LogBatchIterator::Next() {
  if (rest_.size() < kLogBatchLengthBytes) return std::nullopt;
  const auto length = LoadLe<int32_t>(rest_.data() + kLengthAt);
  if (length >= 0 && static_cast<uint64_t>(length) + kLogBatchLengthBytes > rest_.size())
    return std::nullopt;
  ASSIGN_OR_RAISE(const auto batch, LogBatchView::Parse(rest_));
  rest_.remove_prefix(batch.bytes().size());
  return batch;
}

void StampBatch(char* batch, int64_t base_offset, int64_t commit_timestamp_ms) {
  StoreLe(batch, base_offset);
  StoreLe(batch + kTimestampAt, commit_timestamp_ms);
}

std::string BuildEmptyLogBatch(const LogBatchOptions& options, bool append_only) {
  std::string batch = internal::StartLogBatch(options, append_only, /*record_count=*/0);
  internal::FinishLogBatch(&batch);
  return batch;
}

std::string ToMagic0(const LogBatchView& batch) {
  if (batch.header().magic == 0) return std::string(batch.bytes());
  std::string out = internal::HeaderOfMagic0(batch.bytes());
  out += batch.change_types();
  out += batch.body();
  internal::FinishLogBatch(&out);
  return out;
}

namespace internal {

std::string StartLogBatch(const LogBatchOptions& options, bool append_only, int32_t record_count,
                          std::string_view statistics) {
  std::string batch(statistics.empty() ? kLogBatchHeaderBytes : kLogBatchHeaderBytesMax, '\0');
  if (!statistics.empty()) {
    batch[kMagicAt] = 1;
    StoreLe(&batch[kStatisticsLengthAt], static_cast<int32_t>(statistics.size()));
    batch.append(statistics);
  }
  StoreLe(&batch[kSchemaIdAt], options.schema_id);
  batch[kAttributesAt] = append_only ? 1 : 0;
  StoreLe(&batch[kLastOffsetDeltaAt], std::max(record_count - 1, 0));
  StoreLe(&batch[kWriterIdAt], options.writer_id);
  StoreLe(&batch[kSequenceAt], options.batch_sequence);
  StoreLe(&batch[kRecordCountAt], record_count);
  return batch;
}

void FinishLogBatch(std::string* batch) {
  CHECK(batch->size() >= kLogBatchHeaderBytes && batch->size() <= INT32_MAX);
  SetLogBatchLength(batch->data(), batch->size());
  StoreLe(&(*batch)[kCrcAt], BatchCrc(*batch));
}

void SetLogBatchLength(char* batch, uint64_t size_bytes) {
  StoreLe(batch + kLengthAt, static_cast<int32_t>(size_bytes - kLogBatchLengthBytes));
}

std::string HeaderOfMagic0(std::string_view batch) {
  std::string header(batch.substr(0, kLogBatchHeaderBytes));
  header[kMagicAt] = 0;
  return header;
}

}  // namespace internal
}  // namespace sluice::wire
