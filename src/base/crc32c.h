#pragma once
#include <cstdint>
#include <string_view>

namespace sluice {

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to start).
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace sluice
