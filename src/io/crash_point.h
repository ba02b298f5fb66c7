#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Named places where a test can kill the process, to prove that a restart finds everything whole.
//
//   CRASH_POINT("tiering.after-lake-commit");
//
// With SLUICE_CRASH_POINT=tiering.after-lake-commit in the environment the process ends there at
// once with exit code 137, as after kill -9; with tiering.after-lake-commit:3, at the third pass.

namespace sluice::io {

/// Names of all crash points that are linked into this program, sorted.
std::vector<std::string> CrashPoints();

/// In simulation: call `hook` with the name at each crash point passed, instead of ending the
/// process. An empty hook takes it away. Set it while no other thread runs our code.
void SetCrashHook(std::function<void(std::string_view)> hook);

namespace internal {
bool RegisterCrashPoint(std::string_view name);
void PassCrashPoint(std::string_view name);

template <size_t kSize>
struct CrashPointName {
  consteval CrashPointName(const char (&text)[kSize]) { std::copy_n(text, kSize, chars); }
  char chars[kSize];
};
// One instance per name; its static member registers the name before main runs.
template <CrashPointName kName>
struct CrashPoint {
  static constexpr std::string_view name() { return {kName.chars, sizeof(kName.chars) - 1}; }
  static inline const bool registered = RegisterCrashPoint(name());
  static void Pass() {
    if (registered) PassCrashPoint(name());
  }
};
}  // namespace internal
}  // namespace sluice::io

#define CRASH_POINT(name) ::sluice::io::internal::CrashPoint<name>::Pass()
