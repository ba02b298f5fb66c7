#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/admin.h"
#include "app/load.h"
#include "app/server_main.h"
#include "app/sql_shell.h"
#include "app/version.h"

namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& args);
  const char* text;
};

constexpr Command kCommands[] = {
    {"server", sluice::app::ServerMain, "run a server with all roles"},
    {"sql", sluice::app::SqlMain, "run SQL on a server"},
    {"load", sluice::app::LoadMain, "write CSV and Parquet files into a table"},
    {"admin", sluice::app::AdminMain, "inspection and maintenance"},
};

int Usage(std::FILE* out, int exit_code) {
  std::fputs("usage: sluice COMMAND [arguments]; COMMAND --help says more\n", out);
  for (const Command& command : kCommands)
    std::fprintf(out, "  %-8s %s\n", command.name, command.text);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // Arrow's own allocator keeps what it once had; the heap's free memory goes back
  // (memory_return.h).
  ::setenv("ARROW_DEFAULT_MEMORY_POOL", "system", /*overwrite=*/0);
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (args.empty()) return Usage(stderr, 2);
  if (args[0] == "--help" || args[0] == "help") return Usage(stdout, 0);
  if (args[0] == "--version") {
    std::printf("sluice %s\n", std::string(sluice::app::kVersion).c_str());
    return 0;
  }
  for (const Command& command : kCommands) {
    if (args[0] == command.name) return command.run({args.begin() + 1, args.end()});
  }
  std::fprintf(stderr, "sluice: unknown command %s\n", args[0].c_str());
  return Usage(stderr, 2);
}
