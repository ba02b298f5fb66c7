#pragma once

namespace sluice {
/// Print the failed condition with its place, then abort.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace sluice

// CHECK is always on: a false condition is our own mistake and stops the process before it spreads.
#define CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::sluice::CheckFailed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define DCHECK(condition) (void(0))
#else
#define DCHECK(condition) CHECK(condition)
#endif
