#include "app/tls_reload.h"

#include <chrono>
#include <string>

#include "app/pool_beat.h"
#include "base/log.h"

namespace sluice::app {
namespace {

constexpr std::chrono::milliseconds kTlsLookInterval{5000};

// `complaint`: told already.
void Reload(io::Tls& tls, std::string* complaint) {
  const auto changed = tls.Reload();
  if (changed.ok() && *changed) LogInfo("certificate was read again");
  std::string why = changed.ok() ? "" : changed.status().message();
  if (why != *complaint && !why.empty()) LogWarn("certificate stays as it is cause={}", why);
  *complaint = std::move(why);
}

}  // namespace

void StartTlsReload(io::Loop& loop, io::Pool& pool, std::shared_ptr<io::Tls> tls) {
  StartPoolBeat(
      loop, pool, kTlsLookInterval,
      [tls = std::move(tls), complaint = std::string()]() mutable { Reload(*tls, &complaint); });
}

}  // namespace sluice::app
