#include <arrow/buffer.h>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/packed_buffer_internal.h"
#include "wire/unpack_internal.h"
#include "wire/zstd_internal.h"

namespace sluice::wire::internal {
namespace {

constexpr int64_t kAlignBytes = 64;  // As Arrow's own memory.
constexpr int8_t kZstd = 1;
constexpr int64_t kRaw = -1;  // Instead of a length: what follows is not compressed.

Result<std::shared_ptr<arrow::util::Codec>> CodecOf(int8_t codec) {
  if (codec == kZstd) return ZstdCodec(/*level=*/1);  // It says nothing of unpacking.
  return arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME);
}

Status UnpackBuffer(arrow::util::Codec& codec, std::string_view packed, int64_t size,
                    uint8_t* out) {
  const auto length = LoadLe<int64_t>(packed.data());
  packed.remove_prefix(sizeof(int64_t));
  if (length == kRaw) {
    std::memcpy(out, packed.data(), packed.size());
    return Status::OK();
  }
  const auto unpacked =
      codec.Decompress(static_cast<int64_t>(packed.size()),
                       reinterpret_cast<const uint8_t*>(packed.data()), size, out);
  if (!unpacked.ok())
    return Corrupt("log batch has a damaged compressed buffer: ", unpacked.status().message());
  if (*unpacked != size)
    return Corrupt("compressed buffer has another size size_bytes=", *unpacked);
  return Status::OK();
}

}  // namespace

Result<PlainMessage> Unpack(const ArrowMessage& message, std::string_view body) {
  CHECK(message.codec.has_value());
  ASSIGN_OR_RAISE(const auto codec, CodecOf(*message.codec));
  PlainMessage plain{message, nullptr};
  plain.metadata.codec.reset();
  int64_t end = 0;
  for (ArrowMessage::Buffer& buffer : plain.metadata.buffers) {
    int64_t size = 0;
    if (buffer.size_bytes > 0) {
      ASSIGN_OR_RAISE(size, CheckPackedBuffer(*message.codec,
                                              body.substr(buffer.offset_bytes, buffer.size_bytes)));
    }
    buffer = {end, size};
    end = (end + size + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  }
  plain.metadata.body_bytes = end;
  ASSIGN_OR_RAISE(plain.body, arrow::AllocateBuffer(end));
  for (size_t i = 0; i < message.buffers.size(); ++i) {
    const auto& [offset, size] = plain.metadata.buffers[i];
    if (size == 0) continue;
    const std::string_view packed =
        body.substr(message.buffers[i].offset_bytes, message.buffers[i].size_bytes);
    RETURN_NOT_OK(UnpackBuffer(*codec, packed, size, plain.body->mutable_data() + offset));
  }
  return plain;
}

}  // namespace sluice::wire::internal
