#include "io/crash_point.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <set>

namespace sluice::io {
namespace {

constexpr int kExitCodeOfKill = 137;

// Built during static initialisation, so it must make itself at first use.
std::set<std::string, std::less<>>& Names() {
  static auto& names = *new std::set<std::string, std::less<>>;
  return names;
}

// What the environment asks for: the name, and how often it is still to be passed unharmed.
struct Order {
  std::string name;
  std::atomic<int64_t> passes_left{0};

  Order() {
    const char* text = std::getenv("SLUICE_CRASH_POINT");
    if (text == nullptr) return;
    name = text;
    const size_t colon = name.rfind(':');
    if (colon == std::string::npos) return;
    int64_t pass = 1;
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), pass);
    name.resize(colon);
    passes_left = pass - 1;
  }
};

std::function<void(std::string_view)>& Hook() {
  static auto& hook = *new std::function<void(std::string_view)>;
  return hook;
}

}  // namespace

std::vector<std::string> CrashPoints() { return {Names().begin(), Names().end()}; }

void SetCrashHook(std::function<void(std::string_view)> hook) { Hook() = std::move(hook); }

namespace internal {

bool RegisterCrashPoint(std::string_view name) {
  Names().emplace(name);
  return true;
}

void PassCrashPoint(std::string_view name) {
  static Order& order = *new Order;
  if (Hook()) return Hook()(name);
  if (order.name != name || order.passes_left.fetch_sub(1) > 0) return;
  ::_exit(kExitCodeOfKill);
}

}  // namespace internal
}  // namespace sluice::io
