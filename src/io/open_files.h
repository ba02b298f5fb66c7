#pragma once
#include <cstdint>

namespace sluice::io {

/// Files and sockets that this process has open.
uint64_t OpenFiles();

}  // namespace sluice::io
