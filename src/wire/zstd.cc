#include <zstd.h>

#include "base/error.h"
#include "wire/zstd_internal.h"

namespace sluice::wire::internal {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* PackContext() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* UnpackContext() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  return context.get();
}

Result<int64_t> SizeOrError(size_t result) {
  if (!ZSTD_isError(result)) return static_cast<int64_t>(result);
  return Status::IOError("zstd failed reason=", ZSTD_getErrorName(result));
}

// From here on the zstd within Arrow packs faster than the system's older one, its new context
// included.
constexpr int64_t kLargeBytes = 12 << 10;

class ReusingZstd : public arrow::util::Codec {
 public:
  ReusingZstd(int level, std::unique_ptr<arrow::util::Codec> large)
      : level_(level), large_(std::move(large)) {}

  Result<int64_t> Decompress(int64_t input_len, const uint8_t* input, int64_t output_buffer_len,
                             uint8_t* output_buffer) override {
    uint8_t nothing = 0;  // An empty buffer may have no address.
    return SizeOrError(ZSTD_decompressDCtx(
        UnpackContext(), output_buffer == nullptr ? &nothing : output_buffer,
        static_cast<size_t>(output_buffer_len), input, static_cast<size_t>(input_len)));
  }
  Result<int64_t> Compress(int64_t input_len, const uint8_t* input, int64_t output_buffer_len,
                           uint8_t* output_buffer) override {
    if (input_len >= kLargeBytes)
      return large_->Compress(input_len, input, output_buffer_len, output_buffer);
    return SizeOrError(ZSTD_compressCCtx(PackContext(), output_buffer,
                                         static_cast<size_t>(output_buffer_len), input,
                                         static_cast<size_t>(input_len), level_));
  }
  int64_t MaxCompressedLen(int64_t input_len, const uint8_t*) override {
    return static_cast<int64_t>(ZSTD_compressBound(static_cast<size_t>(input_len)));
  }

  Result<std::shared_ptr<arrow::util::Compressor>> MakeCompressor() override {
    return Status::NotImplemented("buffers are packed whole");
  }
  Result<std::shared_ptr<arrow::util::Decompressor>> MakeDecompressor() override {
    return Status::NotImplemented("buffers are unpacked whole");
  }
  arrow::Compression::type compression_type() const override { return arrow::Compression::ZSTD; }
  int minimum_compression_level() const override { return ZSTD_minCLevel(); }
  int maximum_compression_level() const override { return ZSTD_maxCLevel(); }
  int default_compression_level() const override { return ZSTD_CLEVEL_DEFAULT; }
  int compression_level() const override { return level_; }

 private:
  const int level_;
  const std::unique_ptr<arrow::util::Codec> large_;
};

}  // namespace

Result<std::shared_ptr<arrow::util::Codec>> ZstdCodec(int level) {
  ASSIGN_OR_RAISE(auto large, arrow::util::Codec::Create(arrow::Compression::ZSTD, level));
  return std::make_shared<ReusingZstd>(level, std::move(large));
}

}  // namespace sluice::wire::internal
