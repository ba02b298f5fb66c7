#include "server/byte_budget.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::server {
namespace {

struct Host {
  uint64_t used = 0;
  size_t claims = 0;
};

std::string HostOf(std::string_view peer) { return std::string(peer.substr(0, peer.rfind(':'))); }

}  // namespace

struct ByteBudget::Grant::Claim {
  const bool small;
  std::map<std::string, Host>::iterator host;
  uint64_t held = 0;   // In its part.
  uint64_t extra = 0;  // Beyond, as the one that may.
};

struct ByteBudget::Grant::State {
  struct Waiter {
    std::shared_ptr<Claim> claim;
    uint64_t more;
    io::Completion<bool> granted;
  };
  struct Part {
    bool Fits(const Claim& claim, uint64_t more) const {
      const uint64_t of_host = claim.host->second.used;
      return (used == 0 || used + more <= bytes_max) &&
             (of_host == 0 || of_host + more <= bytes_max / 2);
    }
    uint64_t bytes_max = 0;
    uint64_t used = 0;
    std::map<std::string, Host> hosts;
    std::list<Waiter> line;
  };

  explicit State(uint64_t total_bytes) : total(total_bytes) {
    small.bytes_max = total / 8;
    large.bytes_max = total - total / 8 - total / 4;
  }

  Part& PartOf(const Claim& claim) { return claim.small ? small : large; }

  bool Take(Claim* claim, uint64_t more) {
    Part& part = PartOf(*claim);
    if (part.Fits(*claim, more)) {
      part.used += more;
      claim->host->second.used += more;
      claim->held += more;
      return true;
    }
    if (claim->small || (beyond != nullptr && beyond != claim)) return false;
    beyond = claim;
    claim->extra += more;
    return true;
  }

  void GiveBack(Claim* claim) {
    std::vector<io::Completion<bool>> granted;
    {
      const std::lock_guard lock(mutex);
      Part& part = PartOf(*claim);
      part.used -= claim->held;
      claim->host->second.used -= claim->held;
      if (beyond == claim) beyond = nullptr;
      LetOn(&part, &granted);
      if (--claim->host->second.claims == 0) part.hosts.erase(claim->host);
    }
    for (const auto& waiter : granted) waiter.Set(true);
  }

  // Those in line who may go on now.
  void LetOn(Part* part, std::vector<io::Completion<bool>>* granted) {
    const auto let_on = [&](std::list<Waiter>::iterator waiter) {
      granted->push_back(waiter->granted);
      return part->line.erase(waiter);
    };
    for (auto at = part->line.begin(); at != part->line.end();) {
      const bool goes_on = part->Fits(*at->claim, at->more) && Take(at->claim.get(), at->more);
      at = goes_on ? let_on(at) : std::next(at);
    }
    if (part != &large || beyond != nullptr || part->line.empty()) return;
    // Of the others one of the host that holds least.
    const auto next = std::ranges::min_element(
        part->line, {}, [](const Waiter& waiter) { return waiter.claim->host->second.used; });
    if (Take(next->claim.get(), next->more)) let_on(next);
  }

  void Cancel(const Claim* claim) {
    std::optional<io::Completion<bool>> waiting;
    {
      const std::lock_guard lock(mutex);
      Part& part = PartOf(*claim);
      const auto found = std::ranges::find(part.line, claim,
                                           [](const Waiter& waiter) { return waiter.claim.get(); });
      if (found == part.line.end()) return;
      waiting = found->granted;
      part.line.erase(found);
    }
    waiting->Set(false);
  }

  static io::Task<bool> Grow(std::shared_ptr<State> state, std::shared_ptr<Claim> claim,
                             io::Loop* loop, uint64_t size_bytes) {
    io::Completion<bool> granted(*loop);
    {
      const std::lock_guard lock(state->mutex);
      const uint64_t more = size_bytes - claim->held - claim->extra;
      if (state->Take(claim.get(), more)) co_return true;
      state->PartOf(*claim).line.push_back({claim, more, granted});
    }
    co_return co_await granted;
  }

  const uint64_t total;
  std::mutex mutex;  // Guards what follows, and the claims.
  Part small, large;
  const Claim* beyond = nullptr;  // The one that grows beyond its part.
};

ByteBudget::Grant& ByteBudget::Grant::operator=(Grant&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(claim_, other.claim_);
  return *this;
}

ByteBudget::Grant::~Grant() {
  if (claim_ != nullptr) state_->GiveBack(claim_.get());
}

bool ByteBudget::Grant::TryGrowTo(uint64_t size_bytes) {
  const std::lock_guard lock(state_->mutex);
  return state_->Take(claim_.get(), size_bytes - claim_->held - claim_->extra);
}

io::Task<bool> ByteBudget::Grant::GrowTo(io::Loop& loop, uint64_t size_bytes) {
  return State::Grow(state_, claim_, &loop, size_bytes);
}

void ByteBudget::Grant::Cancel() { state_->Cancel(claim_.get()); }

ByteBudget::ByteBudget(uint64_t total_bytes)
    : state_(std::make_shared<Grant::State>(total_bytes)) {}

ByteBudget::Grant ByteBudget::Open(std::string_view peer, uint64_t size_bytes) {
  const bool small = size_bytes <= kSmallBytes;
  std::string name = HostOf(peer);
  const std::lock_guard lock(state_->mutex);
  auto& hosts = (small ? state_->small : state_->large).hosts;
  const auto host = hosts.try_emplace(std::move(name)).first;
  ++host->second.claims;
  return {state_, std::make_shared<Grant::Claim>(Grant::Claim{small, host})};
}

uint64_t ByteBudget::used_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->small.used + state_->large.used +
         (state_->beyond == nullptr ? 0 : state_->beyond->extra);
}

uint64_t ByteBudget::total_bytes() const { return state_->total; }

size_t ByteBudget::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->small.line.size() + state_->large.line.size();
}

}  // namespace sluice::server
