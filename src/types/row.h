#pragma once
#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "types/schema.h"

namespace sluice::types {

enum class RowFormat : uint8_t { kCompacted, kIndexed };
struct ValueLayout;

/// Types of columns, in order.
std::vector<DataTypePtr> TypesOf(const std::vector<Column>& columns);

/// Takes encoded bytes, which live only until it returns.
using TakeBytes = std::function<void(std::string_view)>;

/// Rows in one of Fluss's binary layouts, for columns of given types.
///
/// Format: COMPACTED and INDEXED rows. Source: CompactedRowWriter, IndexedRowWriter
/// of the Java side. Immutable, so any thread may use it.
class RowCodec {
 public:
  /// The values of one BINARY(n) that decode together, NULLs among them, take no more.
  static constexpr size_t kBinaryBytesMax = 256 << 20;

  RowCodec(RowFormat format, std::vector<DataTypePtr> columns);

  /// Encode rows [from, from + count) of `batch`, whose columns match the codec's in order and
  /// Arrow type.
  Status Encode(const arrow::RecordBatch& batch, int64_t from, int64_t count,
                std::vector<std::string>* out) const;
  /// Encode the rows at `rows` of such a batch and hand each to `take`, which is to copy it.
  Status EncodeEach(const arrow::RecordBatch& batch, std::span<const int64_t> rows,
                    const TakeBytes& take) const;

  /// Decode rows into one batch with one Arrow column per codec column.
  /// Errors: kCorruptRecord when a row ends early, names the column; kRecordTooLarge beyond
  /// kBinaryBytesMax.
  Result<std::shared_ptr<arrow::RecordBatch>> Decode(std::span<const std::string_view> rows) const;

  /// Take a row apart: the encoded bytes of each column, nullopt = NULL. Views into `row`.
  Result<std::vector<std::optional<std::string_view>>> Split(std::string_view row) const;
  /// The same into `out`, which has a place for each column.
  Status SplitInto(std::string_view row, std::span<std::optional<std::string_view>> out) const;
  /// Put a row together from such parts.
  std::string Join(std::span<const std::optional<std::string_view>> parts) const;
  /// The same in place of what `out` holds.
  void JoinInto(std::span<const std::optional<std::string_view>> parts, std::string* out) const;
  /// Decode rows that were taken apart, their parts laid end to end.
  Result<std::shared_ptr<arrow::RecordBatch>> DecodeParts(
      std::span<const std::optional<std::string_view>> parts) const;

  RowFormat format() const { return format_; }
  const std::vector<DataTypePtr>& columns() const { return columns_; }

 private:
  RowFormat format_;
  std::vector<DataTypePtr> columns_;
  std::shared_ptr<const std::vector<ValueLayout>> layouts_;  // Per column.
};

/// Which bytes stand for a key. Source: KeyEncoder of the Java side.
enum class KeyFormat : uint8_t { kCompacted, kPaimon, kIceberg };

/// Encode keys: the chosen columns of a batch, one byte string per row.
///
/// Errors: kInvalidTable for a type that the format refuses; a NULL in a column is refused unless
/// `null_allowed` (append tables hash NULL as Paimon does).
class KeyEncoder {
 public:
  static Result<KeyEncoder> Make(KeyFormat format, std::vector<DataTypePtr> columns,
                                 bool null_allowed);
  /// `columns` are positions in `batch`.
  Status Encode(const arrow::RecordBatch& batch, std::span<const int> columns,
                std::vector<std::string>* out) const;
  /// The keys of the rows at `rows` alone, each handed to `take`, which is to copy it.
  Status EncodeEach(const arrow::RecordBatch& batch, std::span<const int> columns,
                    std::span<const int64_t> rows, const TakeBytes& take) const;

 private:
  KeyFormat format_;
  std::vector<DataTypePtr> columns_;
  bool null_allowed_;
  KeyEncoder(KeyFormat format, std::vector<DataTypePtr> columns, bool null_allowed)
      : format_(format), columns_(std::move(columns)), null_allowed_(null_allowed) {}
};

/// Decode keys into one batch of their columns. Errors: kCorruptRecord.
Result<std::shared_ptr<arrow::RecordBatch>> DecodeKeys(KeyFormat format,
                                                       const std::vector<DataTypePtr>& columns,
                                                       std::span<const std::string_view> keys);

/// How a table encodes its keys, from its descriptor alone. Source: KeyEncoder.
struct KeyPlan {
  KeyFormat bucket_key_format;
  KeyFormat primary_key_format;
  std::vector<std::string> bucket_keys;           ///< Empty = no bucket key.
  std::vector<std::string> physical_primary_key;  ///< Empty = append table.
  std::string lake_format;                        ///< `table.datalake.format`, empty = none.
};
Result<KeyPlan> PlanKeys(const TableDescriptor& descriptor);

/// Bucket of an encoded bucket key. `lake_format`: "", "paimon", "iceberg", "lance".
int32_t BucketOf(std::string_view lake_format, std::string_view encoded_key, int32_t bucket_count);

/// Murmur hash of Paimon and Flink over the bytes, words first. Source: MurmurHashUtils.
int32_t PaimonHash(std::string_view bytes);

/// A Paimon BinaryRow (no arity prefix) of one row of `batch`: the columns at the given positions
/// (Java's BinaryRow). Also the ALIGNED row of Fluss's statistics.
class BinaryRowEncoder {
 public:
  explicit BinaryRowEncoder(std::vector<DataTypePtr> columns);
  Status Encode(const arrow::RecordBatch& batch, std::span<const int> columns, int64_t row,
                std::string* out) const;

 private:
  std::vector<DataTypePtr> columns_;
};

/// Decode BinaryRows (no arity prefix) into one batch.
Result<std::shared_ptr<arrow::RecordBatch>> DecodeBinaryRows(
    const std::vector<DataTypePtr>& columns, std::span<const std::string_view> rows);

/// Text form of partition values (Java's PartitionUtils): the value of row `row` of an array of
/// type `type`, and back.
Result<std::string> PartitionText(const DataType& type, const arrow::Array& array, int64_t row);
Result<std::shared_ptr<arrow::Array>> PartitionValue(const DataType& type, std::string_view text);

}  // namespace sluice::types
