#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/log.h"
#include "io/clock.h"
#include "sim/ddl_workload.h"
#include "sim/keys_workload.h"
#include "sim/log_workload.h"
#include "sim/tiering_workload.h"
#include "sim/workload.h"

// sim_test [--seeds N] [--seed N] [--workload NAME] [--verbose]
// Runs every workload from its share of the seeds 1 to N (500), or from one. A failure prints the
// line that replays it; the end says how many seeds took how long.

namespace sluice::sim {
namespace {

// Runs of fewer seeds may miss the rare branches.
constexpr uint64_t kSeedsForProbes = 500;

// The run under way, for the handler of a failed CHECK.
char current_run[200];

void SayWhichRun(int) {
  std::fprintf(stderr, "stopped in: %s\n", current_run);
  std::_Exit(1);
}

std::map<std::string, uint64_t>& Probes() {
  static std::map<std::string, uint64_t> probes;
  return probes;
}

std::vector<NamedWorkload> Workloads() {
  return {
      {"log", 1, [](Machine& machine) { return MakeLogWorkload(machine); }},
      {"keys", 2, [](Machine& machine) { return MakeKeysWorkload(machine); }},
      {"ddl", 4, [](Machine& machine) { return MakeDdlWorkload(machine); }},
      {"tiering", 4, [](Machine& machine) { return MakeTieringWorkload(machine); }},
  };
}

struct Arguments {
  uint64_t first_seed = 1;
  uint64_t last_seed = 500;
  std::string workload;
  bool verbose = false;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--seeds") arguments.last_seed = std::strtoull(value, nullptr, 10);
    if (name == "--seed")
      arguments.first_seed = arguments.last_seed = std::strtoull(value, nullptr, 10);
    if (name == "--workload") arguments.workload = value;
    if (name == "--verbose") arguments.verbose = true;
  }
  return arguments;
}

// Of the seeds from 1 on, the first is everybody's.
bool IsShareOf(const NamedWorkload& workload, uint64_t seed) {
  return seed % workload.share == 1 % workload.share;
}

// Adds the seeds that ran to `count`.
bool RunSeeds(const NamedWorkload& workload, const Arguments& arguments, uint64_t* count) {
  const bool one = arguments.first_seed == arguments.last_seed;
  for (uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    if (!one && !IsShareOf(workload, seed)) continue;
    std::snprintf(current_run, sizeof current_run, "sim_test --workload %s --seed %llu",
                  workload.name.c_str(), static_cast<unsigned long long>(seed));
    ++*count;
    const Status ran = RunSeed(workload, seed);
    if (ran.ok()) continue;
    std::fprintf(stderr, "FAILED %s\nreplay: %s\n", ran.message().c_str(), current_run);
    return false;
  }
  return true;
}

double SecondsSince(std::chrono::nanoseconds start) {
  return std::chrono::duration<double>(io::SystemClock().Monotonic() - start).count();
}

// All workloads, or the one that is named. False when a seed failed, or none ran.
bool RunWorkloads(const Arguments& arguments) {
  bool passed = true;
  uint64_t runs = 0;
  const auto start = io::SystemClock().Monotonic();
  for (const NamedWorkload& workload : Workloads()) {
    if (!arguments.workload.empty() && arguments.workload != workload.name) continue;
    uint64_t count = 0;
    const auto begin = io::SystemClock().Monotonic();
    passed = RunSeeds(workload, arguments, &count) && passed;
    std::printf("%s: %llu seeds in %.1f s\n", workload.name.c_str(),
                static_cast<unsigned long long>(count), SecondsSince(begin));
    runs += count;
  }
  if (runs == 0) {
    std::fprintf(stderr, "FAILED: nothing ran, seeds=%llu to %llu workload=%s\n",
                 static_cast<unsigned long long>(arguments.first_seed),
                 static_cast<unsigned long long>(arguments.last_seed), arguments.workload.c_str());
    return false;
  }
  std::printf("simulation: seeds %llu to %llu, %llu runs in %.1f s\n",
              static_cast<unsigned long long>(arguments.first_seed),
              static_cast<unsigned long long>(arguments.last_seed),
              static_cast<unsigned long long>(runs), SecondsSince(start));
  return passed;
}

// Print how often rare branches were hit; false when one that is expected never was, in a full run.
bool CheckProbes(const Arguments& arguments) {
  const bool everything = arguments.last_seed - arguments.first_seed + 1 >= kSeedsForProbes &&
                          arguments.workload.empty();
  bool passed = true;
  for (const auto& [name, count] : Probes()) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
    if (count > 0 || !everything) continue;
    std::fprintf(stderr, "FAILED: no run came by %s\n", name.c_str());
    passed = false;
  }
  return passed;
}

int Main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  OpenLog("", arguments.verbose ? LogLevel::kDebug : LogLevel::kError);
  std::signal(SIGABRT, SayWhichRun);
  for (const char* name :
       {"machine.power-loss", "machine.power-loss-after-kills", "machine.stopped-in-recovery",
        "machine.stopped-in-step", "machine.failed-operation"}) {
    ExpectProbe(name);
  }
  const bool ran = RunWorkloads(arguments);
  const bool passed = CheckProbes(arguments) && ran;
  std::printf("%s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

}  // namespace

void Probe(const std::string& name) { ++Probes()[name]; }
void ExpectProbe(const std::string& name) { Probes().try_emplace(name, 0); }

}  // namespace sluice::sim

int main(int argc, char** argv) { return sluice::sim::Main(argc, argv); }
