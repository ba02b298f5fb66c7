#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string_view>

#include "base/log.h"
#include "io/clock.h"
#include "sim/ddl_workload.h"
#include "sim/freshness_workload.h"
#include "sim/keys_workload.h"
#include "sim/log_workload.h"
#include "sim/planted_workload.h"
#include "sim/tiering_workload.h"
#include "sim/workload.h"

// sim_test [--seeds N] [--seed N] [--workload NAME] [--processor-seconds-max N] [--verbose]
// Runs every workload from each of the seeds 1 to N (500), or from one. A failure prints the
// command that replays it; the end of a workload says how many seeds took how long.

namespace sluice::sim {
namespace {

// Runs of fewer seeds may miss the rare branches.
constexpr uint64_t kSeedsForProbes = 500;

// The command that repeats the run under way, for the handler of a failed CHECK.
char replay_command[4096];

void SayHowToReplay(int) {
  std::fprintf(stderr, "FAILED: the program was aborted\nreplay: %s\n", replay_command);
  std::_Exit(1);
}

std::map<std::string, uint64_t>& Probes() {
  static std::map<std::string, uint64_t> probes;
  return probes;
}

std::vector<NamedWorkload> Workloads() {
  return {
      {"log", [](Machine& machine) { return MakeLogWorkload(machine); }},
      {"keys", [](Machine& machine) { return MakeKeysWorkload(machine); }},
      {"ddl", [](Machine& machine) { return MakeDdlWorkload(machine); }},
      {"tiering", [](Machine& machine) { return MakeTieringWorkload(machine); }},
      {"freshness", [](Machine& machine) { return MakeFreshnessWorkload(machine); }},
  };
}

// Workloads with a fault in them, which have to fail: they run by name only.
std::vector<NamedWorkload> PlantedWorkloads() {
  return {
      {"planted-loss", [](Machine&) { return MakePlantedWorkload(PlantedFault::kLoss); }},
      {"planted-check", [](Machine&) { return MakePlantedWorkload(PlantedFault::kCheck); }},
  };
}

struct Arguments {
  std::string program;
  uint64_t first_seed = 1;
  uint64_t last_seed = 500;
  std::string workload;
  uint64_t processor_seconds_max = UINT64_MAX;  // Per workload.
  bool verbose = false;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments{.program = argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--seeds") arguments.last_seed = std::strtoull(value, nullptr, 10);
    if (name == "--seed")
      arguments.first_seed = arguments.last_seed = std::strtoull(value, nullptr, 10);
    if (name == "--workload") arguments.workload = value;
    if (name == "--processor-seconds-max")
      arguments.processor_seconds_max = std::strtoull(value, nullptr, 10);
    if (name == "--verbose") arguments.verbose = true;
  }
  return arguments;
}

std::vector<NamedWorkload> Chosen(const Arguments& arguments) {
  std::vector<NamedWorkload> workloads = Workloads();
  if (arguments.workload.empty()) return workloads;
  std::ranges::move(PlantedWorkloads(), std::back_inserter(workloads));
  std::erase_if(workloads, [&](const auto& each) { return each.name != arguments.workload; });
  return workloads;
}

// Adds the seeds that ran to `count`.
bool RunSeeds(const NamedWorkload& workload, const Arguments& arguments, uint64_t* count) {
  for (uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    std::snprintf(replay_command, sizeof replay_command, "%s --workload %s --seed %llu",
                  arguments.program.c_str(), workload.name.c_str(),
                  static_cast<unsigned long long>(seed));
    ++*count;
    const Status ran = RunSeed(workload, seed);
    if (ran.ok()) continue;
    std::fprintf(stderr, "FAILED: %s\nreplay: %s\n", ran.message().c_str(), replay_command);
    return false;
  }
  return true;
}

// Of the processor, by this process: what else the machine does hardly changes it.
double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

bool RunWorkload(const NamedWorkload& workload, const Arguments& arguments) {
  const auto start = io::SystemClock().Monotonic();
  const double processor_start = ProcessorSeconds();
  uint64_t count = 0;
  const bool passed = RunSeeds(workload, arguments, &count);
  const double processor_seconds = ProcessorSeconds() - processor_start;
  std::printf("simulation: %s, %llu seeds from %llu on in %.1f s, %.1f s of a processor\n",
              workload.name.c_str(), static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(arguments.first_seed),
              std::chrono::duration<double>(io::SystemClock().Monotonic() - start).count(),
              processor_seconds);
  if (processor_seconds <= static_cast<double>(arguments.processor_seconds_max)) return passed;
  std::fprintf(stderr, "FAILED: %s takes longer than %llu s of a processor\n",
               workload.name.c_str(),
               static_cast<unsigned long long>(arguments.processor_seconds_max));
  return false;
}

// Print how often rare branches were hit; false when one that is expected never was, in a full run.
bool CheckProbes(const Arguments& arguments) {
  const bool full = arguments.last_seed - arguments.first_seed + 1 >= kSeedsForProbes;
  bool passed = true;
  for (const auto& [name, count] : Probes()) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
    if (count > 0 || !full) continue;
    std::fprintf(stderr, "FAILED: no run came by %s\n", name.c_str());
    passed = false;
  }
  return passed;
}

int Main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  OpenLog("", arguments.verbose ? LogLevel::kDebug : LogLevel::kError);
  std::signal(SIGABRT, SayHowToReplay);
  for (const char* name :
       {"machine.power-loss", "machine.power-loss-after-kills", "machine.stopped-in-recovery",
        "machine.stopped-in-step", "machine.failed-operation"}) {
    ExpectProbe(name);
  }
  const std::vector<NamedWorkload> workloads = Chosen(arguments);
  bool passed = !workloads.empty() && arguments.first_seed <= arguments.last_seed;
  if (!passed) std::fprintf(stderr, "FAILED: nothing to run, see sim/README.md\n");
  for (const NamedWorkload& workload : workloads)
    passed = RunWorkload(workload, arguments) && passed;
  passed = CheckProbes(arguments) && passed;
  std::printf("%s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

}  // namespace

void Probe(const std::string& name) { ++Probes()[name]; }
void ExpectProbe(const std::string& name) { Probes().try_emplace(name, 0); }

}  // namespace sluice::sim

int main(int argc, char** argv) { return sluice::sim::Main(argc, argv); }
