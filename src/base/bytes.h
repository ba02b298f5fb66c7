#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

// Byte strings are std::string (owned) and std::string_view (borrowed) everywhere: protobuf,
// RocksDB and the standard library agree on them. Formats are read and written with the functions
// below; the machine is little-endian.

template <typename T>
T LoadLe(const char* at) {
  static_assert(std::is_arithmetic_v<T>);
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void StoreLe(char* at, T value) {
  static_assert(std::is_arithmetic_v<T>);
  std::memcpy(at, &value, sizeof(T));
}
template <typename T>
T LoadBe(const char* at) {
  static_assert(std::is_integral_v<T>);
  std::make_unsigned_t<T> value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<std::make_unsigned_t<T>>(static_cast<uint64_t>(value) << 8 |
                                                 static_cast<uint8_t>(at[i]));
  }
  return static_cast<T>(value);
}
template <typename T>
void StoreBe(char* at, T value) {
  static_assert(std::is_integral_v<T>);
  auto bits = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  for (size_t i = sizeof(T); i-- > 0; bits >>= 8) at[i] = static_cast<char>(bits & 0xff);
}
template <typename T>
void AppendLe(std::string* out, T value) {
  char raw[sizeof(T)];
  StoreLe(raw, value);
  out->append(raw, sizeof(T));
}
template <typename T>
void AppendBe(std::string* out, T value) {
  char raw[sizeof(T)];
  StoreBe(raw, value);
  out->append(raw, sizeof(T));
}

/// Append `value` as unsigned LEB128 (1 to 10 bytes).
inline void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
/// Take an unsigned LEB128 of at most `bytes_max` bytes off the front of `in`; false when it does
/// not end in time.
inline bool TakeVarint(std::string_view* in, uint64_t* value, size_t bytes_max = 10) {
  *value = 0;
  for (size_t i = 0; i < in->size() && i < bytes_max; ++i) {
    const auto byte = static_cast<uint8_t>((*in)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      in->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// Lower-case hexadecimal text of `bytes`.
std::string ToHex(std::string_view bytes);

}  // namespace sluice
