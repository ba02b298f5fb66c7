#include <arrow/type.h>

#include "base/bytes.h"
#include "wire/arrow_message_internal.h"

namespace sluice::wire::internal {
namespace {

constexpr uint32_t kContinuation = 0xffffffff;
constexpr uint8_t kHeaderIsRecordBatch = 3;  // Number of RecordBatch in the union MessageHeader.
constexpr int16_t kVersionMin = 3, kVersionMax = 4;  // V4 and V5.

Status BadMetadata(std::string_view what) {
  return Corrupt("arrow metadata is malformed part=", what);
}

// One table of a flatbuffer: a signed offset to its vtable, which says where each field lies. Every
// access is checked against the buffer; a field that is absent gives its default.
class FlatTable {
 public:
  // The table that the 4-byte offset at `position` points to.
  static Result<FlatTable> Follow(std::string_view buffer, size_t position, std::string_view name) {
    if (position + 4 > buffer.size()) return BadMetadata(name);
    const size_t table = position + LoadLe<uint32_t>(buffer.data() + position);
    if (table + 4 > buffer.size()) return BadMetadata(name);
    const int64_t vtable = static_cast<int64_t>(table) - LoadLe<int32_t>(buffer.data() + table);
    if (vtable < 0 || vtable + 4 > static_cast<int64_t>(buffer.size())) return BadMetadata(name);
    const size_t vtable_bytes = LoadLe<uint16_t>(buffer.data() + vtable);
    if (vtable_bytes < 4 || vtable + vtable_bytes > buffer.size()) return BadMetadata(name);
    return FlatTable(buffer, name, table, static_cast<size_t>(vtable), vtable_bytes);
  }

  template <typename T>
  Result<T> Scalar(int field, T fallback) const {
    const size_t at = FieldAt(field);
    if (at == 0) return fallback;
    if (at + sizeof(T) > buffer_.size()) return BadMetadata(name_);
    return LoadLe<T>(buffer_.data() + at);
  }
  bool Has(int field) const { return FieldAt(field) != 0; }
  Result<FlatTable> Table(int field, std::string_view name) const {
    if (!Has(field)) return BadMetadata(name);
    return Follow(buffer_, FieldAt(field), name);
  }
  // Elements of a vector of 16-byte structs; empty when absent.
  Result<std::string_view> Structs(int field, std::string_view name) const {
    const size_t at = FieldAt(field);
    if (at == 0) return std::string_view();
    if (at + 4 > buffer_.size()) return BadMetadata(name);
    const size_t vector = at + LoadLe<uint32_t>(buffer_.data() + at);
    if (vector + 4 > buffer_.size()) return BadMetadata(name);
    const uint64_t bytes = uint64_t{LoadLe<uint32_t>(buffer_.data() + vector)} * 16;
    if (bytes > buffer_.size() - vector - 4) return BadMetadata(name);
    return buffer_.substr(vector + 4, bytes);
  }

 private:
  FlatTable(std::string_view buffer, std::string_view name, size_t table, size_t vtable,
            size_t vtable_bytes)
      : buffer_(buffer), name_(name), table_(table), vtable_(vtable), vtable_bytes_(vtable_bytes) {}

  // Position of a field in the buffer, 0 when it is absent.
  size_t FieldAt(int field) const {
    const size_t slot = 4 + 2 * static_cast<size_t>(field);
    if (slot + 2 > vtable_bytes_) return 0;
    const uint16_t offset = LoadLe<uint16_t>(buffer_.data() + vtable_ + slot);
    return offset == 0 ? 0 : table_ + offset;
  }

  std::string_view buffer_;
  std::string_view name_;
  size_t table_, vtable_, vtable_bytes_;
};

// Pairs of int64, as FieldNode and Buffer both are.
template <typename Pair>
std::vector<Pair> Pairs(std::string_view bytes) {
  std::vector<Pair> out(bytes.size() / 16);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = {LoadLe<int64_t>(bytes.data() + 16 * i), LoadLe<int64_t>(bytes.data() + 16 * i + 8)};
  }
  return out;
}

Status CheckMessage(const ArrowMessage& message) {
  if (message.version < kVersionMin || message.version > kVersionMax) return BadMetadata("version");
  if (message.row_count < 0 || message.body_bytes < 0) return BadMetadata("row count");
  if (message.codec && (*message.codec < 0 || *message.codec > 1))
    return BadMetadata("compression codec");
  for (const auto& node : message.nodes) {
    if (node.length < 0 || node.null_count < 0 || node.null_count > node.length)
      return BadMetadata("field node");
  }
  for (const auto& buffer : message.buffers) {
    if (buffer.offset_bytes < 0 || buffer.size_bytes < 0 ||
        buffer.offset_bytes > message.body_bytes ||
        buffer.size_bytes > message.body_bytes - buffer.offset_bytes) {
      return BadMetadata("buffer");
    }
  }
  return Status::OK();
}

}  // namespace

Result<uint64_t> ArrowHeadBytes(std::string_view prefix) {
  if (prefix.size() < kArrowPrefixBytes) return BadMetadata("prefix");
  const auto size = LoadLe<int32_t>(prefix.data() + 4);
  if (LoadLe<uint32_t>(prefix.data()) != kContinuation || size <= 0) return BadMetadata("prefix");
  return kArrowPrefixBytes + static_cast<uint64_t>(size);
}

Result<ArrowMessage> ParseArrowHead(std::string_view head) {
  ASSIGN_OR_RAISE(const uint64_t head_bytes, ArrowHeadBytes(head));
  if (head_bytes != head.size()) return BadMetadata("size");
  ASSIGN_OR_RAISE(const auto root, FlatTable::Follow(head.substr(kArrowPrefixBytes), 0, "Message"));
  ArrowMessage message;
  ASSIGN_OR_RAISE(message.version, root.Scalar<int16_t>(0, 0));
  ASSIGN_OR_RAISE(const auto header_type, root.Scalar<uint8_t>(1, 0));
  if (header_type != kHeaderIsRecordBatch) return BadMetadata("header type");
  ASSIGN_OR_RAISE(message.body_bytes, root.Scalar<int64_t>(3, 0));
  ASSIGN_OR_RAISE(const auto batch, root.Table(2, "RecordBatch"));
  ASSIGN_OR_RAISE(message.row_count, batch.Scalar<int64_t>(0, 0));
  ASSIGN_OR_RAISE(const auto nodes, batch.Structs(1, "nodes"));
  ASSIGN_OR_RAISE(const auto buffers, batch.Structs(2, "buffers"));
  message.nodes = Pairs<ArrowMessage::Node>(nodes);
  message.buffers = Pairs<ArrowMessage::Buffer>(buffers);
  if (batch.Has(3)) {
    ASSIGN_OR_RAISE(const auto compression, batch.Table(3, "BodyCompression"));
    ASSIGN_OR_RAISE(message.codec, compression.Scalar<int8_t>(0, 0));
    ASSIGN_OR_RAISE(const auto method, compression.Scalar<int8_t>(1, 0));
    if (method != 0) return BadMetadata("compression method");  // 0 = each buffer by itself.
  }
  ARROW_RETURN_NOT_OK(CheckMessage(message));
  return message;
}

// The flatbuffer is laid out front to back at fixed places, which the format allows: offsets to
// tables and vectors go forward, each vtable lies right before its table. Positions are from the
// start of the flatbuffer.
std::string BuildArrowHead(const ArrowMessage& message) {
  constexpr size_t kMessageVtable = 4, kMessage = 16, kBatchVtable = 40, kBatch = 52,
                   kCodecVtable = 76, kCodec = 84, kNodes = 92;
  static_assert((kMessage + 8) % 8 == 0 && (kBatch + 4) % 8 == 0 &&
                (kNodes + 4) % 8 == 0);  // int64 are aligned.
  const size_t buffers_at = kNodes + 4 + 16 * message.nodes.size() + 4;
  const size_t size = buffers_at + 4 + 16 * message.buffers.size();

  std::string out(kArrowPrefixBytes + size, '\0');
  StoreLe(out.data(), kContinuation);
  StoreLe(out.data() + 4, static_cast<int32_t>(size));
  char* flat = out.data() + kArrowPrefixBytes;
  const auto vtable = [flat](size_t at, std::initializer_list<uint16_t> words) {
    for (const uint16_t word : words) StoreLe(flat + at, word), at += 2;
  };
  const auto table = [flat](size_t at, size_t its_vtable) {
    StoreLe(flat + at, static_cast<int32_t>(at - its_vtable));
  };
  const auto point = [flat](size_t at, size_t target) {
    StoreLe(flat + at, static_cast<uint32_t>(target - at));
  };
  const auto pair = [flat](size_t at, int64_t first, int64_t second) {
    StoreLe(flat + at, first);
    StoreLe(flat + at + 8, second);
  };

  point(0, kMessage);
  // Message: vtable size, table size, then where version, header_type, header and bodyLength lie in
  // the table.
  vtable(kMessageVtable, {12, 20, 4, 6, 16, 8});
  table(kMessage, kMessageVtable);
  StoreLe(flat + kMessage + 4, message.version);
  flat[kMessage + 6] = kHeaderIsRecordBatch;
  StoreLe(flat + kMessage + 8, message.body_bytes);
  point(kMessage + 16, kBatch);
  // RecordBatch: length, nodes, buffers, compression.
  vtable(kBatchVtable, {12, 24, 4, 12, 16, static_cast<uint16_t>(message.codec ? 20 : 0)});
  table(kBatch, kBatchVtable);
  StoreLe(flat + kBatch + 4, message.row_count);
  point(kBatch + 12, kNodes);
  point(kBatch + 16, buffers_at);
  if (message.codec) {
    point(kBatch + 20, kCodec);
    vtable(kCodecVtable,
           {8, 6, 4, 5});  // BodyCompression: codec, method (0 = each buffer by itself).
    table(kCodec, kCodecVtable);
    StoreLe(flat + kCodec + 4, *message.codec);
  }
  StoreLe(flat + kNodes, static_cast<uint32_t>(message.nodes.size()));
  for (size_t i = 0; i < message.nodes.size(); ++i) {
    pair(kNodes + 4 + 16 * i, message.nodes[i].length, message.nodes[i].null_count);
  }
  StoreLe(flat + buffers_at, static_cast<uint32_t>(message.buffers.size()));
  for (size_t i = 0; i < message.buffers.size(); ++i) {
    pair(buffers_at + 4 + 16 * i, message.buffers[i].offset_bytes, message.buffers[i].size_bytes);
  }
  return out;
}

Result<ColumnLayout> LayoutOf(const arrow::DataType& type) {
  ColumnLayout layout{1, 0};
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      layout.buffers = 3;
      break;
    case arrow::Type::LIST:
    case arrow::Type::MAP:
      layout.buffers = 2;
      break;
    case arrow::Type::STRUCT:
      layout.buffers = 1;
      break;
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::FIXED_SIZE_BINARY:
      layout.buffers = 2;
      break;
    default:
      return Status::NotImplemented("log batches have no column of type=", type.ToString());
  }
  for (const auto& child : type.fields()) {
    ASSIGN_OR_RAISE(const auto inner, LayoutOf(*child->type()));
    layout.nodes += inner.nodes;
    layout.buffers += inner.buffers;
  }
  return layout;
}

}  // namespace sluice::wire::internal
