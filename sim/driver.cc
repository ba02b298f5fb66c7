#include "sim/workload.h"

namespace sluice::sim {
namespace {

constexpr int kRoundsMax = 6;  // Stops of the machine per seed.
constexpr int kOpenAttemptsMax = 20;

// No stop of a machine makes bytes corrupt that are read, so that is a broken invariant too.
bool IsOurs(const Status& status) {
  return IsBroken(status) || CodeOf(status) == ErrorCode::kCorruptRecord;
}

Stop StopAndStart(Machine& machine) {
  machine.Calm();
  const Stop stop = machine.OneIn(2) ? Stop::kKill : Stop::kPowerLoss;
  if (stop == Stop::kKill) {
    machine.files.Restart();
    ++machine.kills;
  } else {
    Probe("machine.power-loss");
    if (machine.kills > 0) Probe("machine.power-loss-after-kills");
    machine.kills = 0;
    machine.files.Crash(machine.random);
  }
  machine.clock.Advance(std::chrono::milliseconds(machine.random.Below(2000)));
  return stop;
}

// Start the workload; sometimes that is stopped as well. Returns the worst stop since it last ran.
Result<Stop> OpenInTheEnd(Workload& workload, Machine& machine, Stop stop) {
  for (int attempt = 0; attempt < kOpenAttemptsMax; ++attempt) {
    const bool trouble = machine.OneIn(3);
    if (trouble) machine.StopAt(1 + machine.random.Below(20));
    const Status opened = workload.Open(machine);
    if (opened.ok()) {
      machine.Calm();
      return stop;
    }
    if (!machine.Faulted() || IsOurs(opened)) return Broken("start failed: ", opened.ToString());
    Probe("machine.stopped-in-recovery");
    workload.Drop();
    if (StopAndStart(machine) == Stop::kPowerLoss) stop = Stop::kPowerLoss;
  }
  return Broken("start did not end after ", kOpenAttemptsMax, " attempts");
}

Status RunUntilStopped(Workload& workload, Machine& machine) {
  const uint64_t trouble = machine.random.Below(4);
  if (trouble == 0) machine.StopAt(1 + machine.random.Below(400));
  if (trouble == 1) machine.StopAt(1 + machine.random.Below(30));
  if (trouble == 2) machine.FailAt(1 + machine.random.Below(60));
  const uint64_t steps = 1 + machine.random.Below(static_cast<uint64_t>(workload.steps_max()));
  for (uint64_t i = 0; i < steps; ++i) {
    const Status stepped = workload.Step(machine);
    if (IsOurs(stepped)) return Broken("step failed: ", stepped.ToString());
    if (!stepped.ok() && !machine.Faulted())
      return Broken("step failed by itself: ", stepped.ToString());
    if (!stepped.ok()) {
      Probe(trouble == 2 ? "machine.failed-operation" : "machine.stopped-in-step");
      break;
    }
  }
  return Status::OK();
}

}  // namespace

void Machine::StopAt(uint64_t n) {
  fault_at_ = files.operations() + n;
  files.SetHook(
      [this](std::string_view, const std::string&) { return files.operations() < fault_at_; });
}

void Machine::FailAt(uint64_t n) {
  fault_at_ = files.operations() + n;
  files.FailOperation(n);
}

void Machine::Calm() {
  files.SetHook({});
  files.FailOperation(0);
  fault_at_ = UINT64_MAX;
}

Status RunSeed(const NamedWorkload& named, uint64_t seed) {
  Machine machine(seed);
  const std::unique_ptr<Workload> workload = named.make(machine);
  Stop stop = Stop::kKill;
  const uint64_t rounds = 2 + machine.random.Below(kRoundsMax - 1);
  for (uint64_t round = 0; round < rounds; ++round) {
    ASSIGN_OR_RAISE(stop, OpenInTheEnd(*workload, machine, stop));
    RETURN_NOT_OK(workload->Check(machine, stop));
    RETURN_NOT_OK(RunUntilStopped(*workload, machine));
    workload->Drop();
    stop = StopAndStart(machine);
  }
  ASSIGN_OR_RAISE(stop, OpenInTheEnd(*workload, machine, stop));
  return workload->Check(machine, stop);
}

}  // namespace sluice::sim
