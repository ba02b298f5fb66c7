#pragma once
#include <chrono>
#include <functional>

#include "io/loop.h"
#include "io/pool.h"

namespace sluice::app {

/// Run `work` on the pool, once an `interval` until the loop ends, never twice at a time: a run
/// that hangs (a network file system) is not joined by others. The pool outlives the loop.
void StartPoolBeat(io::Loop& loop, io::Pool& pool, std::chrono::milliseconds interval,
                   std::function<void()> work);

}  // namespace sluice::app
