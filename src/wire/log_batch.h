#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::wire {

/// What a record does to the table. Source: ChangeType.
enum class ChangeType : uint8_t { kAppendOnly = 0, kInsert, kUpdateBefore, kUpdateAfter, kDelete };

enum class ArrowCompression : uint8_t { kNone, kLz4Frame, kZstd };

/// What the CRC of a log batch covers begins here, at the schema id.
inline constexpr size_t kLogBatchCrcFrom = 25;

/// Header of a log batch. Format: little-endian, docs/formats/log.md; magic 0 has 48 bytes, magic 1
/// has 52.
struct LogBatchHeader {
  int64_t base_offset = 0;
  int32_t length = 0;  ///< Bytes after the length field; the batch has 12 more.
  int8_t magic = 0;
  int64_t commit_timestamp_ms = 0;
  uint32_t crc = 0;  ///< CRC-32C from schema_id to the end.
  int16_t schema_id = 0;
  uint8_t attributes = 0;         ///< Bit 0: append only.
  int32_t last_offset_delta = 0;  ///< record_count - 1, 0 when empty.
  int64_t writer_id = -1;         ///< -1 = none.
  int32_t batch_sequence = -1;    ///< -1 = none.
  int32_t record_count = 0;
  int32_t statistics_length = 0;  ///< Magic 1 only.

  bool append_only() const { return (attributes & 1) != 0; }
  size_t header_bytes() const;
  uint64_t size_bytes() const {
    return static_cast<uint64_t>(length) + 12;
  }  ///< Of the whole batch.
  int64_t last_offset() const { return base_offset + last_offset_delta; }
  int64_t next_offset() const {
    return last_offset() + 1;
  }  ///< An empty batch takes one offset too.
};

constexpr size_t kLogBatchLengthBytes =
    12;  ///< base_offset and length: enough to know a batch's size.
constexpr size_t kLogBatchHeaderBytes = 48;     ///< Magic 0.
constexpr size_t kLogBatchHeaderBytesMax = 52;  ///< Magic 1.

/// Read a header from the first bytes of a batch; the rest of the batch need not be there.
/// Errors: kCorruptRecord when the bytes end inside the header, the magic is unknown or a field
/// cannot be.
Result<LogBatchHeader> ParseLogBatchHeader(std::string_view bytes);

/// One batch in memory. Lifetime: views the bytes that it was parsed from.
class LogBatchView {
 public:
  /// Read the batch at the front of `bytes`, which may be longer. The CRC is not checked here.
  /// Errors: kCorruptRecord when the bytes end early or the parts do not fit.
  static Result<LogBatchView> Parse(std::string_view bytes);

  bool CrcMatches() const;
  const LogBatchHeader& header() const { return header_; }
  bool append_only() const { return header_.append_only(); }
  std::string_view bytes() const { return bytes_; }  ///< This batch exactly.
  std::string_view statistics() const;               ///< Empty when there are none.
  // Of batches in ARROW format; DecodeRows and CheckRows check both.
  std::string_view change_types() const;  ///< One ChangeType per record; empty when append only.
  std::string_view body() const;          ///< The Arrow message; empty in an empty batch.

 private:
  LogBatchView(LogBatchHeader header, std::string_view bytes) : header_(header), bytes_(bytes) {}
  LogBatchHeader header_;
  std::string_view bytes_;
};

/// Walks batches laid end to end; a fragment at the end is ignored.
///   for (LogBatchIterator it(records); ;) { ASSIGN_OR_RAISE(auto batch, it.Next()); if (!batch)
///   break; … }
class LogBatchIterator {
 public:
  explicit LogBatchIterator(std::string_view records) : rest_(records) {}
  /// The next batch, nullopt at the end. Errors: kCorruptRecord; rest() still begins with the bad
  /// batch.
  Result<std::optional<LogBatchView>> Next();
  /// What has not been walked; after the end nothing or a fragment.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Write the fields that the leader sets. They lie outside the CRC. `batch` has at least a header's
/// bytes.
void StampBatch(char* batch, int64_t base_offset, int64_t commit_timestamp_ms);

class StatisticsWriter;

struct LogBatchOptions {
  int16_t schema_id = 1;
  int64_t writer_id = -1;
  int32_t batch_sequence = -1;
  ArrowCompression compression = ArrowCompression::kZstd;
  int32_t zstd_level = 3;
  /// Of batches in ARROW format, which then have magic 1; null = none.
  std::shared_ptr<const StatisticsWriter> statistics = nullptr;
};

/// Build one batch (base offset and timestamp 0) of at least one row. `changes` has one
/// entry per row, or is empty for an append-only batch. Column types are those of
/// types::Schema::ToArrow.
Result<std::string> BuildLogBatch(const LogBatchOptions& options, const arrow::RecordBatch& rows,
                                  std::span<const ChangeType> changes);
/// A batch of no records: header only, takes one offset.
std::string BuildEmptyLogBatch(const LogBatchOptions& options, bool append_only);

/// Decode the rows of a batch with an Arrow body; `schema` is that of the batch's schema id. The
/// result owns its memory. Errors: kCorruptRecord when the message breaks its format, has other
/// columns than `schema`, or another row count.
Result<std::shared_ptr<arrow::RecordBatch>> DecodeRows(
    const LogBatchView& batch, const std::shared_ptr<arrow::Schema>& schema);

/// How the buffers of a batch in ARROW format are compressed; kNone of an empty batch.
/// Errors: kCorruptRecord when its body is no Arrow message.
Result<ArrowCompression> CompressionOf(const LogBatchView& batch);

/// Check, without unpacking, that the Arrow body of a batch has the columns of `schema` and the row
/// count of the header, each buffer in its place, large enough and in a whole frame, and no NULL at
/// the top level of a column that does not allow it. What DecodeRows can still refuse afterwards is
/// damage inside a compressed block and values that contradict each other. Errors: kCorruptRecord
/// for the shape; kInvalidTable, naming the column, for a NULL.
Status CheckRows(const LogBatchView& batch, const arrow::Schema& schema);

/// The same batch with magic 0 (statistics dropped, CRC anew), for readers that know no other
/// layout.
std::string ToMagic0(const LogBatchView& batch);

}  // namespace sluice::wire
