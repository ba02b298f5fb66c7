#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/net.h"
#include "io/sim/sim_world.h"

namespace sluice::io {

namespace internal {
struct SimLink;
class SimListener;
}  // namespace internal

/// Streams in memory between the loops of a SimWorld: late by a random time, in pieces of random
/// size, in order.
class SimNetwork : public Network {
 public:
  explicit SimNetwork(SimWorld& world) : world_(world) {}
  ~SimNetwork() override;

  Result<std::unique_ptr<Listener>> Listen(const std::string& host, uint16_t port,
                                           std::vector<Loop*> loops, Accept accept) override;
  Task<Result<std::unique_ptr<Connection>>> Connect(Loop& loop, std::string host,
                                                    uint16_t port) override;

  /// Break every connection: both ends fail, what was under way is lost.
  void BreakConnections();

 private:
  friend class internal::SimListener;
  struct Target {
    std::vector<Loop*> loops;
    Accept accept;
    size_t next = 0;
  };

  SimWorld& world_;
  const std::chrono::microseconds latency_max_{500};  // Longest time that a piece is under way.
  std::map<uint16_t, std::shared_ptr<Target>> targets_;
  std::vector<std::weak_ptr<internal::SimLink>> links_;
  uint16_t next_port_ = 20'000;
};

}  // namespace sluice::io
