#include "app/tls_reload.h"

#include <atomic>
#include <chrono>

#include "base/log.h"

namespace sluice::app {
namespace {

constexpr std::chrono::milliseconds kTlsLookInterval{5000};

struct TlsReloader : std::enable_shared_from_this<TlsReloader> {
  io::Loop* loop;
  io::Pool* pool;
  std::shared_ptr<io::Tls> tls;
  std::atomic<bool> looking{false};
  std::string complaint;  // Told already. Of the look under way.

  void Arm() {
    loop->After(kTlsLookInterval, [self = shared_from_this()] {
      self->Look();
      self->Arm();
    });
  }
  void Look() {
    if (looking.exchange(true)) return;
    const bool posted = pool->TryPost([self = shared_from_this()] {
      self->Reload();
      self->looking = false;
    });
    if (!posted) looking = false;
  }
  void Reload() {
    const auto changed = tls->Reload();
    if (changed.ok() && *changed) LogInfo("certificate was read again");
    std::string why = changed.ok() ? "" : changed.status().message();
    if (why != complaint && !why.empty()) LogWarn("certificate stays as it is cause={}", why);
    complaint = std::move(why);
  }
};

}  // namespace

void StartTlsReload(io::Loop& loop, io::Pool& pool, std::shared_ptr<io::Tls> tls) {
  auto reloader = std::make_shared<TlsReloader>();
  reloader->loop = &loop;
  reloader->pool = &pool;
  reloader->tls = std::move(tls);
  loop.Post([reloader] { reloader->Arm(); });
}

}  // namespace sluice::app
