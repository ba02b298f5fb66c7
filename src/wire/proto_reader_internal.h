#pragma once
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::wire::internal {

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Walks the fields of one protobuf message without copying. Bytes fields are views.
///   for (ProtoReader reader(message); reader.Next();) …; then ok() tells whether the message ended
///   well.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  /// Step to the next field; false at the end or when the bytes are malformed.
  bool Next() {
    if (rest_.empty() || !ok_) return false;
    uint64_t tag = 0;
    ok_ = TakeVarint(&rest_, &tag) && tag >> 3 != 0 && tag >> 32 == 0 &&
          TakeValue(static_cast<uint8_t>(tag & 7));
    number_ = static_cast<uint32_t>(tag >> 3);
    return ok_;
  }
  bool ok() const { return ok_; }

  /// A field that has another wire type than its definition counts as unknown, as in protobuf
  /// itself.
  bool IsVarint(uint32_t number) const { return number_ == number && type_ == kVarint; }
  bool IsBytes(uint32_t number) const { return number_ == number && type_ == kBytes; }
  int64_t AsInt64() const { return static_cast<int64_t>(varint_); }
  int32_t AsInt32() const { return static_cast<int32_t>(varint_); }
  std::string_view bytes() const { return bytes_; }

 private:
  bool TakeValue(uint8_t type) {
    type_ = type;
    switch (type) {
      case kVarint:
        return TakeVarint(&rest_, &varint_);
      case kFixed64:
        return TakeBytes(8);
      case kFixed32:
        return TakeBytes(4);
      case kBytes: {
        uint64_t size = 0;
        return TakeVarint(&rest_, &size) && TakeBytes(size);
      }
      default:
        return false;  // Groups: no message of the protocol has them.
    }
  }
  bool TakeBytes(uint64_t size) {
    if (size > rest_.size()) return false;
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t varint_ = 0;
  uint32_t number_ = 0;
  uint8_t type_ = 0;
  bool ok_ = true;
};

inline void PutVarintField(std::string* out, uint32_t number, int64_t value) {
  AppendVarint(out, number << 3 | kVarint);
  AppendVarint(out, static_cast<uint64_t>(value));
}
/// Tag and length of a bytes field; the bytes follow.
inline void PutBytesHead(std::string* out, uint32_t number, uint64_t size) {
  AppendVarint(out, number << 3 | kBytes);
  AppendVarint(out, size);
}
inline void PutBytesField(std::string* out, uint32_t number, std::string_view bytes) {
  PutBytesHead(out, number, bytes.size());
  out->append(bytes);
}

}  // namespace sluice::wire::internal
