#include <optional>

#include "base/bytes.h"
#include "wire/packed_buffer_internal.h"

namespace sluice::wire::internal {
namespace {

constexpr int8_t kLz4Frame = 0;
constexpr uint32_t kZstdMagic = 0xfd2fb528, kLz4Magic = 0x184d2204;

Status BadFrame(std::string_view what) {
  return Corrupt("log batch has a malformed compressed buffer part=", what);
}

// Takes little-endian numbers off the front of a frame; past the end it says so.
class FrameReader {
 public:
  explicit FrameReader(std::string_view frame) : rest_(frame) {}

  // A number of `width` bytes, at most 8.
  Result<uint64_t> Number(size_t width) {
    if (width > rest_.size()) return BadFrame("end");
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(width);
    return value;
  }
  Status Skip(uint64_t bytes) {
    if (bytes > rest_.size()) return BadFrame("block");
    rest_.remove_prefix(bytes);
    return Status::OK();
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Bits of zstd's frame header descriptor.
constexpr uint64_t kZstdSingleSegment = 0x20, kZstdReserved = 0x08, kZstdChecksum = 0x04;
constexpr size_t kZstdDictionaryBytes[] = {0, 1, 2, 4};

// Content size that the header declares, nullopt when it does not. `*checksum`: one follows the
// blocks.
Result<std::optional<uint64_t>> ReadZstdHeader(FrameReader& frame, bool* checksum) {
  ASSIGN_OR_RAISE(const uint64_t magic, frame.Number(4));
  if (magic != kZstdMagic) return BadFrame("zstd magic");
  ASSIGN_OR_RAISE(const uint64_t descriptor, frame.Number(1));
  if ((descriptor & kZstdReserved) != 0) return BadFrame("zstd descriptor");
  const bool single_segment = (descriptor & kZstdSingleSegment) != 0;
  if (!single_segment) RETURN_NOT_OK(frame.Skip(1));  // The window.
  ASSIGN_OR_RAISE(const uint64_t dictionary, frame.Number(kZstdDictionaryBytes[descriptor & 3]));
  if (dictionary != 0) return BadFrame("zstd dictionary");
  *checksum = (descriptor & kZstdChecksum) != 0;
  const uint64_t size_flag = descriptor >> 6;
  if (size_flag == 0 && !single_segment) return std::nullopt;
  ASSIGN_OR_RAISE(uint64_t size, frame.Number(size_t{1} << size_flag));
  return size_flag == 1 ? size + 256 : size;
}

Result<std::optional<uint64_t>> WalkZstd(FrameReader& frame) {
  constexpr uint64_t kRepeated = 1, kReserved = 3;
  bool checksum = false;
  ASSIGN_OR_RAISE(const auto size, ReadZstdHeader(frame, &checksum));
  for (bool last = false; !last;) {
    ASSIGN_OR_RAISE(const uint64_t block, frame.Number(3));
    last = (block & 1) != 0;
    const uint64_t kind = block >> 1 & 3;
    if (kind == kReserved) return BadFrame("zstd block");
    RETURN_NOT_OK(frame.Skip(kind == kRepeated ? 1 : block >> 3));
  }
  if (checksum) RETURN_NOT_OK(frame.Skip(4));
  return size;
}

// Bits of LZ4's FLG byte.
constexpr uint64_t kLz4Version = 0xc0, kLz4Version1 = 0x40, kLz4BlockChecksum = 0x10,
                   kLz4ContentSize = 0x08, kLz4ContentChecksum = 0x04, kLz4Reserved = 0x02,
                   kLz4Dictionary = 0x01;

Result<std::optional<uint64_t>> WalkLz4(FrameReader& frame) {
  constexpr uint64_t kBlockBytes = 0x7fffffff;  // The bit above: stored raw.
  ASSIGN_OR_RAISE(const uint64_t magic, frame.Number(4));
  if (magic != kLz4Magic) return BadFrame("lz4 magic");
  ASSIGN_OR_RAISE(const uint64_t flags, frame.Number(1));
  if ((flags & kLz4Version) != kLz4Version1 || (flags & (kLz4Reserved | kLz4Dictionary)) != 0)
    return BadFrame("lz4 flags");
  RETURN_NOT_OK(frame.Skip(1));  // Largest block.
  std::optional<uint64_t> size;
  if ((flags & kLz4ContentSize) != 0) {
    ASSIGN_OR_RAISE(size, frame.Number(8));
  }
  RETURN_NOT_OK(frame.Skip(1));  // Checksum of the header.
  for (;;) {
    ASSIGN_OR_RAISE(const uint64_t block, frame.Number(4));
    if (block == 0) break;
    RETURN_NOT_OK(frame.Skip((block & kBlockBytes) + ((flags & kLz4BlockChecksum) != 0 ? 4 : 0)));
  }
  if ((flags & kLz4ContentChecksum) != 0) RETURN_NOT_OK(frame.Skip(4));
  return size;
}

}  // namespace

Result<int64_t> CheckPackedBuffer(int8_t codec, std::string_view packed) {
  constexpr int64_t kRaw = -1;
  if (packed.size() < sizeof(int64_t)) return BadFrame("length");
  const auto unpacked = LoadLe<int64_t>(packed.data());
  packed.remove_prefix(sizeof(int64_t));
  if (unpacked == kRaw) return static_cast<int64_t>(packed.size());
  if (unpacked < 0) return BadFrame("length");
  if (unpacked == 0 && packed.empty()) return 0;  // Java writes an empty buffer so.
  FrameReader frame(packed);
  ASSIGN_OR_RAISE(const auto declared, codec == kLz4Frame ? WalkLz4(frame) : WalkZstd(frame));
  if (!frame.at_end()) return BadFrame("bytes behind the frame");
  if (declared && *declared != static_cast<uint64_t>(unpacked)) return BadFrame("content size");
  return unpacked;
}

}  // namespace sluice::wire::internal
