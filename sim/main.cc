#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/log.h"
#include "sim/ddl_workload.h"
#include "sim/keys_workload.h"
#include "sim/log_workload.h"
#include "sim/tiering_workload.h"
#include "sim/workload.h"

// sim_test [--seeds N] [--seed N] [--workload NAME] [--verbose]
// Runs every workload from its share of the seeds 1 to N (500), or from one. A failure prints the
// line that replays it.

namespace sluice::sim {
namespace {

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

// Adds the seeds that ran to `count`.
bool RunAll(const NamedWorkload& workload, const Arguments& arguments, uint64_t* count) {
  const bool one = arguments.first_seed == arguments.last_seed;
  for (uint64_t seed = arguments.first_seed; seed <= arguments.last_seed; ++seed) {
    if (!one && seed % workload.share != 0) continue;
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

int Main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  OpenLog("", arguments.verbose ? LogLevel::kDebug : LogLevel::kError);
  std::signal(SIGABRT, SayWhichRun);
  for (const char* name :
       {"machine.power-loss", "machine.power-loss-after-kills", "machine.stopped-in-recovery",
        "machine.stopped-in-step", "machine.failed-operation"}) {
    ExpectProbe(name);
  }
  bool passed = true;
  bool known = false;
  for (const NamedWorkload& workload : Workloads()) {
    if (!arguments.workload.empty() && arguments.workload != workload.name) continue;
    known = true;
    uint64_t count = 0;
    passed = RunAll(workload, arguments, &count) && passed;
    if (count > 0) continue;
    std::fprintf(stderr, "FAILED: no seed of workload %s ran\n", workload.name.c_str());
    passed = false;
  }
  if (!known) {
    std::fprintf(stderr, "FAILED: no workload is named %s\n", arguments.workload.c_str());
    passed = false;
  }
  const bool everything =
      arguments.last_seed - arguments.first_seed >= 99 && arguments.workload.empty();
  for (const auto& [name, count] : Probes()) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
    if (count == 0 && everything) {
      std::fprintf(stderr, "FAILED: no run came by %s\n", name.c_str());
      passed = false;
    }
  }
  std::printf("%s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

}  // namespace

void Probe(const std::string& name) { ++Probes()[name]; }
void ExpectProbe(const std::string& name) { Probes().try_emplace(name, 0); }

}  // namespace sluice::sim

int main(int argc, char** argv) { return sluice::sim::Main(argc, argv); }
