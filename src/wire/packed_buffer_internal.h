#pragma once
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace sluice::wire::internal {

/// Check, without unpacking, one compressed buffer of an Arrow body and return the bytes it unpacks
/// to. Walks block headers only, so it costs a few loads per 64 KiB or more.
///
/// Format: int64 unpacked size, then one frame; -1 = what follows is raw; 0 = nothing follows, or a
/// frame of nothing. The frame begins with its magic, declares that size or none, and its blocks
/// end where the buffer ends. `codec` as ArrowMessage::codec. Errors: kCorruptRecord.
/// Source: RFC 8878 section 3.1.1; LZ4 frame format 1.6.
Result<int64_t> CheckPackedBuffer(int8_t codec, std::string_view packed);

}  // namespace sluice::wire::internal
