#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/random.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"

namespace sluice::sim {

/// How a run of a workload was stopped.
enum class Stop {
  kKill,       ///< The process ended; everything written is still there.
  kPowerLoss,  ///< The machine ended; what was not synced may be lost or torn.
};

/// One simulated machine: everything that happens on it follows from one seed.
struct Machine {
  explicit Machine(uint64_t seed) : random(seed), world(seed), clock(world.clock()), files(clock) {}
  io::SeededRandom random;
  io::SimWorld world;  ///< Loops and pools; what runs on them is let go of by Drop.
  io::SimClock& clock;
  io::SimFileSystem files;

  /// A step outside the file system that counts like a file operation: the machine may stop right
  /// before it. Something durable that the step changes must change at once.
  Status Operation(const std::string& name) {
    return files.MakeFolders("/operations/" + name + std::to_string(count_++));
  }

  /// True once in `n` times.
  bool OneIn(uint64_t n) { return random.Below(n) == 0; }

  /// Stop at the n-th operation from now on, or let it fail once.
  void StopAt(uint64_t n);
  void FailAt(uint64_t n);
  /// No faults from here on.
  void Calm();
  /// True once the machine has stopped or failed an operation: errors may be its own from then on.
  bool Faulted() const { return files.operations() >= fault_at_; }

  /// Kills in a row, since the last power loss: what their processes wrote may not be durable.
  int kills = 0;

 private:
  uint64_t count_ = 0;
  uint64_t fault_at_ = UINT64_MAX;
};

/// Something that runs on a machine which stops at any file operation, and the invariant that it
/// keeps.
///
/// The driver calls Open, Check, Step, Step, … until an operation fails, then Drop and a restart,
/// and begins anew. Open itself may be stopped too. Every failure that is not the machine's is
/// returned as an error that says what was expected.
class Workload {
 public:
  virtual ~Workload() = default;
  /// Start on what the files hold. Errors: only those of the machine.
  virtual Status Open(Machine& machine) = 0;
  /// Do one random thing. Errors: the machine's, or a broken invariant made by Broken().
  virtual Status Step(Machine& machine) = 0;
  /// Most steps between two stops.
  virtual int steps_max() const { return 120; }
  /// Let go of everything that is open, as the end of the process does.
  virtual void Drop() = 0;
  /// Compare what is there with what was acknowledged before `stop`, then take what is there as the
  /// new truth.
  virtual Status Check(Machine& machine, Stop stop) = 0;
};

/// A workload by name; add new ones to Workloads() in main.cc.
struct NamedWorkload {
  std::string name;
  std::function<std::unique_ptr<Workload>(Machine&)> make;
};

/// A broken invariant: the run has failed.
template <typename... Args>
Status Broken(Args&&... args) {
  return Status::UnknownError(std::forward<Args>(args)...);
}
inline bool IsBroken(const Status& status) { return status.IsUnknownError(); }

/// Count that a rare branch was hit; the summary lists them, and the full run fails when one never
/// was.
void Probe(const std::string& name);
/// Let the full run fail when `name` is never hit.
void ExpectProbe(const std::string& name);

/// Run one workload from one seed. Errors: the broken invariant.
Status RunSeed(const NamedWorkload& workload, uint64_t seed);

}  // namespace sluice::sim
