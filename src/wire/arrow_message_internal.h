#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::wire::internal {

/// The metadata of one encapsulated Arrow message that holds a record batch, checked so that no
/// number in it points outside the message.
///
/// Format: FF FF FF FF, int32 metadata size, flatbuffer `Message`, body (Arrow's IPC format,
/// metadata V4 or V5).
struct ArrowMessage {
  struct Node {
    int64_t length = 0;
    int64_t null_count = 0;
  };
  struct Buffer {
    int64_t offset_bytes = 0;  ///< In the body.
    int64_t size_bytes = 0;
  };
  int16_t version = 4;  ///< 4 = V5.
  int64_t row_count = 0;
  int64_t body_bytes = 0;
  std::optional<int8_t> codec;  ///< 0 LZ4 frame, 1 ZSTD; none = not compressed.
  std::vector<Node> nodes;
  std::vector<Buffer> buffers;
};

/// Bytes in front of the flatbuffer.
constexpr size_t kArrowPrefixBytes = 8;

/// Bytes of prefix and flatbuffer together, from the prefix. Errors: kCorruptRecord.
Result<uint64_t> ArrowHeadBytes(std::string_view prefix);

/// `head` is prefix and flatbuffer. Errors: kCorruptRecord.
Result<ArrowMessage> ParseArrowHead(std::string_view head);

/// Prefix and flatbuffer of `message`; a multiple of 8 bytes.
std::string BuildArrowHead(const ArrowMessage& message);

/// Field nodes and buffers that a column of some type has in a message, children included.
struct ColumnLayout {
  size_t nodes = 0;
  size_t buffers = 0;
};
/// Errors: kUnknownServer for a type that log batches do not have.
Result<ColumnLayout> LayoutOf(const arrow::DataType& type);

}  // namespace sluice::wire::internal
