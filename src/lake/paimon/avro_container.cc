// Object container files: header, then blocks of data in a codec, each followed by the file's sync
// marker.
#include <zlib.h>
#include <zstd.h>

#include <memory>

#include "base/bytes.h"
#include "base/check.h"
#include "lake/paimon/avro.h"

namespace sluice::lake::paimon::avro {
namespace {

constexpr std::string_view kMagic{"Obj\x01", 4};
constexpr size_t kSyncBytes = 16;
constexpr size_t kBlockBytesMax = size_t{1} << 30;
constexpr int kZstdLevel = 1;

const Schema& HeaderSchema() {
  static const std::shared_ptr<const Schema> schema =
      Schema::Parse(R"({"type":"map","values":"bytes"})").ValueOrDie();
  return *schema;
}
const Schema& LongSchema() {
  static const std::shared_ptr<const Schema> schema = Schema::Parse("\"long\"").ValueOrDie();
  return *schema;
}
const Schema& BytesSchema() {
  static const std::shared_ptr<const Schema> schema = Schema::Parse("\"bytes\"").ValueOrDie();
  return *schema;
}

std::string_view CodecName(Codec codec) {
  switch (codec) {
    case Codec::kNull:
      return "null";
    case Codec::kDeflate:
      return "deflate";
    case Codec::kZstandard:
      return "zstandard";
  }
  return "null";
}

Result<std::string> Deflate(std::string_view in) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return Status::OutOfMemory("zlib gave no stream");
  }
  std::string out(deflateBound(&stream, in.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(result == Z_STREAM_END);  // The bound leaves room for everything.
  return out;
}

Result<std::string> Inflate(std::string_view in) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Status::OutOfMemory("zlib gave no stream");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() < kBlockBytesMax) {
    const size_t used = out.size();
    out.resize(std::max<size_t>(4096, used * 2));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(stream.total_out);
    if (stream.avail_out != 0) break;  // It had room and wants no more: the input is used up.
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return Corrupt("avro deflate block is broken or too large");
  return out;
}

Result<std::string> ZstdCompress(std::string_view in) {
  std::string out(ZSTD_compressBound(in.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), kZstdLevel);
  if (ZSTD_isError(size)) return Status::OutOfMemory("zstd: ", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

// Streaming, because writers may leave the content size out of the frame.
Result<std::string> ZstdDecompress(std::string_view in) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) return Status::OutOfMemory("zstd gave no stream");
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  std::string out;
  size_t left = 1;
  while (left != 0) {
    const size_t used = out.size();
    if (used >= kBlockBytesMax) return Corrupt("avro zstandard block is too large");
    out.resize(used + ZSTD_DStreamOutSize());
    ZSTD_outBuffer output{out.data() + used, out.size() - used, 0};
    left = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(left))
      return Corrupt("avro zstandard block is broken: ", ZSTD_getErrorName(left));
    out.resize(used + output.pos);
    if (left != 0 && input.pos == input.size && output.pos == 0)
      return Corrupt("avro zstandard block ends early");
  }
  return out;
}

Result<std::string> Decompress(std::string_view codec, std::string_view block) {
  if (codec.empty() || codec == "null") return std::string(block);
  if (codec == "deflate") return Inflate(block);
  if (codec == "zstandard") return ZstdDecompress(block);
  return Corrupt("avro codec is not supported, codec=", codec);
}

Result<std::string> Compress(Codec codec, std::string block) {
  if (codec == Codec::kDeflate) return Deflate(block);
  if (codec == Codec::kZstandard) return ZstdCompress(block);
  return block;
}

struct Header {
  std::string schema_json;
  std::string codec;
  std::string_view sync;
};

Result<Header> TakeHeader(std::string_view* in) {
  if (!in->starts_with(kMagic)) return Corrupt("file is not an avro container");
  in->remove_prefix(kMagic.size());
  ASSIGN_OR_RAISE(const Value map, Decode(HeaderSchema(), in));
  Header header;
  const auto& items = std::get<Value::List>(map.datum);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto& key = std::get<std::string>(items[i].datum);
    const auto& value = std::get<std::string>(items[i + 1].datum);
    if (key == "avro.schema") header.schema_json = value;
    if (key == "avro.codec") header.codec = value;
  }
  if (in->size() < kSyncBytes) return Corrupt("avro container ends in its header");
  header.sync = in->substr(0, kSyncBytes);
  in->remove_prefix(kSyncBytes);
  return header;
}

}  // namespace

Result<Container> ReadContainer(std::string_view file) {
  ASSIGN_OR_RAISE(const Header header, TakeHeader(&file));
  Container container;
  ASSIGN_OR_RAISE(container.schema, Schema::Parse(header.schema_json));
  while (!file.empty()) {
    ASSIGN_OR_RAISE(const Value count, Decode(LongSchema(), &file));
    ASSIGN_OR_RAISE(const Value raw, Decode(BytesSchema(), &file));
    ASSIGN_OR_RAISE(const std::string block,
                    Decompress(header.codec, std::get<std::string>(raw.datum)));
    std::string_view rest = block;
    size_t values_left = ValuesMax(block.size());
    for (int64_t i = 0; i < std::get<int64_t>(count.datum); ++i) {
      if (rest.empty()) return Corrupt("avro block ends before its last datum");
      ASSIGN_OR_RAISE(Value value, Decode(*container.schema, &rest, &values_left));
      container.values.push_back(std::move(value));
    }
    if (!rest.empty()) return Corrupt("avro block goes on behind its last datum");
    if (!file.starts_with(header.sync)) return Corrupt("avro block without its sync marker");
    file.remove_prefix(kSyncBytes);
  }
  return container;
}

Result<std::string> WriteContainer(std::string_view schema_json, const std::vector<Value>& values,
                                   Codec codec, std::string_view sync_marker) {
  CHECK(sync_marker.size() == kSyncBytes);
  ASSIGN_OR_RAISE(const auto schema, Schema::Parse(schema_json));
  std::string out(kMagic);
  Value::List header;
  header.emplace_back(std::string("avro.schema"));
  header.emplace_back(std::string(schema_json));
  header.emplace_back(std::string("avro.codec"));
  header.emplace_back(std::string(CodecName(codec)));
  RETURN_NOT_OK(Encode(HeaderSchema(), Value(std::move(header)), &out));
  out.append(sync_marker);
  if (values.empty()) return out;
  std::string block;
  for (const Value& value : values) RETURN_NOT_OK(Encode(*schema, value, &block));
  RETURN_NOT_OK(Encode(LongSchema(), Value(static_cast<int64_t>(values.size())), &out));
  ASSIGN_OR_RAISE(std::string packed, Compress(codec, std::move(block)));
  RETURN_NOT_OK(Encode(BytesSchema(), Value(std::move(packed)), &out));
  out.append(sync_marker);
  return out;
}

}  // namespace sluice::lake::paimon::avro
