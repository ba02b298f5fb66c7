#pragma once
#include <arrow/util/compression.h>

#include <memory>

#include "base/error.h"

namespace sluice::wire::internal {

/// ZSTD for the buffers of log batches, as Arrow's codec, over contexts that each thread keeps.
///
/// Arrow makes a new context per buffer, and each asks the processor what it can (CPUID): a virtual
/// machine answers that in some 20 µs, several times what unpacking a small buffer takes.
/// Threads: any.
Result<std::shared_ptr<arrow::util::Codec>> ZstdCodec(int level);

}  // namespace sluice::wire::internal
