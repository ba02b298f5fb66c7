#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::kv {

/// The union of two serialized Roaring bitmaps, as the Java library reads it.
///
/// Format: 32 bits: the portable format of RoaringFormatSpec. 64 bits: that of Java's
/// Roaring64Bitmap, a radix tree of the keys' upper 48 bits and then the containers, which no C++
/// library knows. Errors: kInvalidTable for bytes that are no bitmap. What takes its place is
/// about as large as both together at most.
Result<std::string> UnionBitmaps32(std::string_view a, std::string_view b);
Result<std::string> UnionBitmaps64(std::string_view a, std::string_view b);

/// Are these bytes a bitmap, which a union could take? Errors as above.
Status CheckBitmap32(std::string_view bytes);
Status CheckBitmap64(std::string_view bytes);

}  // namespace sluice::kv
