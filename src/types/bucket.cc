#include <bit>

#include "base/bytes.h"
#include "base/check.h"
#include "types/row.h"

namespace sluice::types {
namespace {

uint32_t MixWord(uint32_t word) { return std::rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t MixHash(uint32_t hash, uint32_t mixed) {
  return std::rotl(hash ^ mixed, 13) * 5 + 0xe6546b64u;
}

uint32_t Finish(uint32_t hash) {
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

/// Hash of the aligned words of `bytes`; `tail` gets the rest.
uint32_t HashWords(std::string_view bytes, uint32_t seed, std::string_view* tail) {
  uint32_t hash = seed;
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4)
    hash = MixHash(hash, MixWord(LoadLe<uint32_t>(bytes.data() + at)));
  *tail = bytes.substr(at);
  return hash;
}

/// The standard MurmurHash3 for 32 bits, seed 0.
uint32_t Murmur3(std::string_view bytes) {
  std::string_view tail;
  uint32_t hash = HashWords(bytes, 0, &tail);
  uint32_t last = 0;
  for (size_t i = 0; i < tail.size(); ++i)
    last |= static_cast<uint32_t>(static_cast<uint8_t>(tail[i])) << (8 * i);
  if (!tail.empty()) hash ^= MixWord(last);
  return Finish(hash ^ static_cast<uint32_t>(bytes.size()));
}

/// The hash of keys without a lake: the first hash mixed once more.
int32_t FlussBucket(std::string_view bytes, int32_t bucket_count) {
  const uint32_t mixed = Finish(MixHash(0, MixWord(static_cast<uint32_t>(PaimonHash(bytes)))) ^ 4);
  const auto code = static_cast<int32_t>(mixed);
  return code == INT32_MIN ? 0 : std::abs(code) % bucket_count;
}

}  // namespace

int32_t PaimonHash(std::string_view bytes) {
  std::string_view tail;
  uint32_t hash = HashWords(bytes, 42, &tail);
  // Unlike the standard hash each byte of the tail is a word of its own, with its sign.
  for (const char c : tail)
    hash = MixHash(hash, MixWord(static_cast<uint32_t>(int32_t{static_cast<int8_t>(c)})));
  return static_cast<int32_t>(Finish(hash ^ static_cast<uint32_t>(bytes.size())));
}

int32_t BucketOf(std::string_view lake_format, std::string_view encoded_key, int32_t bucket_count) {
  CHECK(bucket_count > 0);
  if (lake_format == "paimon") return std::abs(PaimonHash(encoded_key) % bucket_count);
  if (lake_format == "iceberg")
    return static_cast<int32_t>(Murmur3(encoded_key) & 0x7fffffff) % bucket_count;
  return FlussBucket(encoded_key, bucket_count);
}

}  // namespace sluice::types
