#pragma once
#include <memory>

#include "io/pool.h"
#include "io/transport.h"

namespace sluice::server {

/// The way to a server of the same process. Calls and errors are what a socket would bring.
///
/// Answers that hold file ranges are read on `pool`, since a loop must not wait for a disk.
/// Lifetime: the service and the pool outlive every call.
std::unique_ptr<io::Transport> MakeLocalTransport(io::Service& service, io::Pool& pool,
                                                  io::Principal principal);

}  // namespace sluice::server
