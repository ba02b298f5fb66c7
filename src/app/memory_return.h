#pragma once
#include "io/loop.h"
#include "io/pool.h"

namespace sluice::app {

/// Give back to the system the free memory of the heap that a quiet process holds: after a query or
/// a load, for instance, when its buffers are free but still with the allocator. Looks every few
/// seconds until the loop ends; does nothing while the process is busy, so that what is free is
/// there for the next piece of work. The pool outlives the loop.
///
/// The query engine's own allocator is not part of it (EngineOptions); Arrow's buffers are, since
/// `main` lets Arrow use the heap.
void StartMemoryReturn(io::Loop& loop, io::Pool& pool);

}  // namespace sluice::app
