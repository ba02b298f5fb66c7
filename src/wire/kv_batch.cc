#include "wire/kv_batch.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"

namespace sluice::wire {
namespace {

// Where the fields lie.
struct KvAt {
  static constexpr size_t kMagic = 4, kCrc = 5, kSchemaId = 9, kAttributes = 11, kWriterId = 12,
                          kSequence = 20, kRecordCount = 24;
};
static_assert(KvAt::kRecordCount + 4 == kKvBatchHeaderBytes);
constexpr size_t kValueBatchHeaderBytes = 9;  // Length, magic, count.
constexpr size_t kKeyLengthBytesMax = 5;      // A varint of 32 bits.

// Take an int32 length and as many bytes off the front of `in`.
bool TakeBlock(std::string_view* in, std::string_view* block) {
  if (in->size() < 4) return false;
  const auto size = LoadLe<int32_t>(in->data());
  if (size < 0 || static_cast<size_t>(size) > in->size() - 4) return false;
  *block = in->substr(4, size);
  in->remove_prefix(4 + static_cast<size_t>(size));
  return true;
}

Result<KvRecord> ParseRecord(std::string_view* records) {
  std::string_view rest;
  uint64_t key_bytes = 0;
  if (!TakeBlock(records, &rest) || !TakeVarint(&rest, &key_bytes, kKeyLengthBytesMax) ||
      key_bytes > rest.size()) {
    return Corrupt("kv batch has a malformed record");
  }
  KvRecord record{rest.substr(0, key_bytes), std::nullopt};
  if (key_bytes < rest.size())
    record.row = rest.substr(key_bytes);  // No row bytes at all: a delete.
  return record;
}

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

Result<KvBatchView> KvBatchView::Parse(std::string_view bytes) {
  if (bytes.size() < kKvBatchHeaderBytes)
    return Corrupt("kv batch ends inside its header size_bytes=", bytes.size());
  const char* at = bytes.data();
  KvBatchView batch;
  KvBatchHeader& header = batch.header_;
  header.length = LoadLe<int32_t>(at);
  header.magic = LoadLe<int8_t>(at + KvAt::kMagic);
  header.crc = LoadLe<uint32_t>(at + KvAt::kCrc);
  header.schema_id = LoadLe<int16_t>(at + KvAt::kSchemaId);
  header.attributes = LoadLe<uint8_t>(at + KvAt::kAttributes);
  header.writer_id = LoadLe<int64_t>(at + KvAt::kWriterId);
  header.batch_sequence = LoadLe<int32_t>(at + KvAt::kSequence);
  header.record_count = LoadLe<int32_t>(at + KvAt::kRecordCount);
  if (header.magic != 0)
    return Corrupt("kv batch of unknown magic=", static_cast<int>(header.magic));
  if (header.attributes != 0)  // None is defined.
    return Corrupt("kv batch of unknown attributes=", static_cast<int>(header.attributes));
  const auto length = static_cast<uint64_t>(static_cast<uint32_t>(header.length));
  if (header.length < 0 || length + 4 < kKvBatchHeaderBytes || length + 4 > bytes.size()) {
    return Corrupt("kv batch does not have its length=", header.length,
                   " size_bytes=", bytes.size());
  }
  batch.bytes_ = bytes.substr(0, length + 4);
  std::string_view records = batch.bytes_.substr(kKvBatchHeaderBytes);
  // A record has at least five bytes, so a lying count cannot make us reserve much.
  if (header.record_count < 0 || static_cast<size_t>(header.record_count) > records.size() / 5) {
    return Corrupt("kv batch cannot hold record_count=", header.record_count);
  }
  batch.records_.reserve(header.record_count);
  for (int32_t i = 0; i < header.record_count; ++i) {
    ASSIGN_OR_RAISE(const auto record, ParseRecord(&records));
    batch.records_.push_back(record);
  }
  if (!records.empty())
    return Corrupt("kv batch has bytes after its last record size_bytes=", records.size());
  return batch;
}

bool KvBatchView::CrcMatches() const {
  return Crc32c(bytes_.substr(KvAt::kSchemaId)) == header_.crc;
}

size_t CountKvRecords(std::string_view batches) {
  size_t records = 0;
  while (batches.size() >= kKvBatchHeaderBytes) {
    const auto length = LoadLe<int32_t>(batches.data());
    records +=
        static_cast<size_t>(std::max(0, LoadLe<int32_t>(batches.data() + KvAt::kRecordCount)));
    const bool fits = length >= static_cast<int32_t>(kKvBatchHeaderBytes - 4) &&
                      static_cast<size_t>(length) <= batches.size() - 4;
    if (!fits) break;
    batches.remove_prefix(static_cast<size_t>(length) + 4);
  }
  return records;
}

std::string BuildKvBatch(int16_t schema_id, int64_t writer_id, int32_t batch_sequence,
                         std::span<const KvRecord> records) {
  std::string batch(kKvBatchHeaderBytes, '\0');
  for (const KvRecord& record : records) {
    CHECK(!record.row || !record.row->empty());  // An empty row would read as a delete.
    const size_t size =
        VarintBytes(record.key.size()) + record.key.size() + (record.row ? record.row->size() : 0);
    AppendLe(&batch, static_cast<int32_t>(size));
    AppendVarint(&batch, record.key.size());
    batch += record.key;
    if (record.row) batch += *record.row;
  }
  CHECK(batch.size() <= INT32_MAX);  // The caller's bound.
  StoreLe(batch.data(), static_cast<int32_t>(batch.size() - 4));
  StoreLe(&batch[KvAt::kSchemaId], schema_id);
  batch[KvAt::kAttributes] = 0;
  StoreLe(&batch[KvAt::kWriterId], writer_id);
  StoreLe(&batch[KvAt::kSequence], batch_sequence);
  StoreLe(&batch[KvAt::kRecordCount], static_cast<int32_t>(records.size()));
  StoreLe(&batch[KvAt::kCrc], Crc32c(std::string_view(batch).substr(KvAt::kSchemaId)));
  return batch;
}

Result<StoredValue> ParseStoredValue(std::string_view value) {
  if (value.size() < kStoredValueHeadBytes)
    return Corrupt("stored value has no schema id size_bytes=", value.size());
  return StoredValue{LoadLe<int16_t>(value.data()), value.substr(kStoredValueHeadBytes)};
}

std::string BuildStoredValue(int16_t schema_id, std::string_view row) {
  std::string value;
  value.reserve(kStoredValueHeadBytes + row.size());
  AppendLe(&value, schema_id);
  return value.append(row);
}

ValueBatchBuilder::ValueBatchBuilder() : batch_(kValueBatchHeaderBytes, '\0') {}

void ValueBatchBuilder::Add(std::string_view stored_value) {
  AppendLe(&batch_, static_cast<int32_t>(stored_value.size()));
  batch_ += stored_value;
  ++count_;
}

std::string ValueBatchBuilder::Finish() {
  CHECK(batch_.size() <= INT32_MAX);
  StoreLe(batch_.data(), static_cast<int32_t>(batch_.size() - 4));
  StoreLe(&batch_[5], count_);
  return std::move(batch_);
}

std::string BuildValueBatch(std::span<const std::string> values) {
  ValueBatchBuilder builder;
  for (const std::string& value : values) builder.Add(value);
  return builder.Finish();
}

Result<std::vector<StoredValue>> ParseValueBatch(std::string_view bytes) {
  std::string_view batch;
  if (!TakeBlock(&bytes, &batch) || batch.size() < kValueBatchHeaderBytes - 4)
    return Corrupt("value batch ends early");
  if (batch[0] != 0) return Corrupt("value batch of unknown magic=", static_cast<int>(batch[0]));
  const auto count = LoadLe<int32_t>(batch.data() + 1);
  batch.remove_prefix(5);
  if (count < 0 || static_cast<size_t>(count) > batch.size() / 6)
    return Corrupt("value batch cannot hold count=", count);
  std::vector<StoredValue> values;
  values.reserve(count);
  for (int32_t i = 0; i < count; ++i) {
    std::string_view value;
    if (!TakeBlock(&batch, &value)) return Corrupt("value batch has a malformed record");
    ASSIGN_OR_RAISE(const auto stored, ParseStoredValue(value));
    values.push_back(stored);
  }
  if (!batch.empty())
    return Corrupt("value batch has bytes after its last record size_bytes=", batch.size());
  return values;
}

}  // namespace sluice::wire
