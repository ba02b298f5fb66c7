#include <arrow/type.h>

#include "wire/arrow_message_internal.h"
#include "wire/column_check_internal.h"
#include "wire/packed_buffer_internal.h"

namespace sluice::wire::internal {
namespace {

// A batch may not claim to unpack to more: a lying length must not take the process's memory.
constexpr int64_t kUnpackedBytesMax = int64_t{1} << 30;

Status CheckCounts(const ArrowMessage& message, std::string_view body,
                   const arrow::Schema& schema) {
  ColumnLayout all;
  for (const auto& field : schema.fields()) {
    ASSIGN_OR_RAISE(const auto layout, LayoutOf(*field->type()));
    all.nodes += layout.nodes;
    all.buffers += layout.buffers;
  }
  if (message.nodes.size() != all.nodes || message.buffers.size() != all.buffers) {
    return Corrupt("log batch has other columns than its schema nodes=", message.nodes.size(),
                   " buffers=", message.buffers.size());
  }
  if (message.body_bytes > static_cast<int64_t>(body.size())) {
    return Corrupt("log batch ends inside its columns body_bytes=", message.body_bytes);
  }
  return Status::OK();
}

// Bits of one value of a type whose values are all of one size.
int64_t ValueBits(const arrow::DataType& type) {
  return static_cast<const arrow::FixedWidthType&>(type).bit_width();
}

// Walks the columns in the order of the message's nodes and buffers.
class ColumnWalk {
 public:
  ColumnWalk(const ArrowMessage& message, std::string_view body) : message_(message), body_(body) {}

  // One column or child with its children. `rows_min`: what its parent needs of it.
  Status Check(const arrow::DataType& type, int64_t rows_min) {
    const ArrowMessage::Node& node = message_.nodes[node_++];
    if (node.length < rows_min || node.length > INT32_MAX)
      return Corrupt("impossible row count rows=", node.length, " of_parent=", rows_min);
    // Without NULLs nobody reads the validity bits, and some writers leave them out.
    RETURN_NOT_OK(NextBuffer(node.null_count > 0 ? (node.length + 7) / 8 : 0));
    switch (type.id()) {
      case arrow::Type::STRUCT:
        break;
      case arrow::Type::STRING:
      case arrow::Type::BINARY:
        RETURN_NOT_OK(NextBuffer(OffsetBytes(node)));
        RETURN_NOT_OK(NextBuffer(0));
        break;
      case arrow::Type::LIST:
      case arrow::Type::MAP:
        RETURN_NOT_OK(NextBuffer(OffsetBytes(node)));
        break;
      default:
        RETURN_NOT_OK(NextBuffer((node.length * ValueBits(type) + 7) / 8));
    }
    const bool rows_of_parent = type.id() == arrow::Type::STRUCT;
    for (const auto& child : type.fields())
      RETURN_NOT_OK(Check(*child->type(), rows_of_parent ? node.length : 0));
    return Status::OK();
  }

 private:
  // Offsets go one beyond the rows; without rows they may be left out.
  static int64_t OffsetBytes(const ArrowMessage::Node& node) {
    return node.length == 0 ? 0 : 4 * (node.length + 1);
  }

  // Check the next buffer, which has to have at least `needed` bytes, unpacked.
  Status NextBuffer(int64_t needed) {
    const ArrowMessage::Buffer& buffer = message_.buffers[buffer_++];
    if (buffer.offset_bytes < end_bytes_) return Corrupt("buffers overlap or are out of order");
    end_bytes_ = buffer.offset_bytes + buffer.size_bytes;
    int64_t size = buffer.size_bytes;
    if (message_.codec && size > 0) {
      ASSIGN_OR_RAISE(size,
                      CheckPackedBuffer(*message_.codec, body_.substr(buffer.offset_bytes, size)));
      if (size > kUnpackedBytesMax - unpacked_bytes_)
        return Corrupt("log batch unpacks to too much unpacked_bytes=", size);
      unpacked_bytes_ += size;
    }
    if (size < needed) return Corrupt("buffer is too small size_bytes=", size, " needed=", needed);
    return Status::OK();
  }

  const ArrowMessage& message_;
  std::string_view body_;
  size_t node_ = 0, buffer_ = 0;
  int64_t end_bytes_ = 0;  // Of the buffer before.
  int64_t unpacked_bytes_ = 0;
};

}  // namespace

Status CheckColumns(const ArrowMessage& message, std::string_view body,
                    const arrow::Schema& schema) {
  RETURN_NOT_OK(CheckCounts(message, body, schema));
  ColumnWalk walk(message, body);
  size_t node = 0;
  for (const auto& field : schema.fields()) {
    if (message.nodes[node].length != message.row_count) {
      return Corrupt("log batch has another row count in a column column=", field->name(),
                     " rows=", message.nodes[node].length, " row_count=", message.row_count);
    }
    const Status checked = walk.Check(*field->type(), message.row_count);
    if (!checked.ok()) return checked.WithMessage(checked.message(), " column=", field->name());
    ASSIGN_OR_RAISE(const auto layout, LayoutOf(*field->type()));
    node += layout.nodes;
  }
  return Status::OK();
}

}  // namespace sluice::wire::internal
