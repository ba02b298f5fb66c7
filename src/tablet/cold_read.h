#pragma once
#include <type_traits>
#include <utility>

#include "io/pool.h"
#include "io/task.h"
#include "log/miss.h"

namespace sluice::tablet {

/// How often one call brings bytes into memory before it waits for them on the shard after all.
inline constexpr int kColdReadsMax = 16;

/// Call `read(log::Miss*)`, a Result, until it finds in memory what it needs; the pool brings in
/// what it lacks. Between two calls others run on the shard.
template <typename Read, typename R = std::invoke_result_t<Read, log::Miss*>>
io::Task<R> ReadCold(io::Pool* pool, io::Loop* loop, Read read) {
  for (int cold = 0;; ++cold) {
    log::Miss miss;
    R result = read(cold < kColdReadsMax ? &miss : nullptr);
    if (!result.status().IsCancelled()) co_return result;
    auto warm = [miss] { return miss.Warm(); };
    CO_RETURN_NOT_OK(co_await pool->Run(*loop, std::move(warm)));
  }
}

}  // namespace sluice::tablet
