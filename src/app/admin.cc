#include "app/admin.h"

#include <cstdio>

#include "app/config.h"

namespace sluice::app {
namespace {

int ConfigDocMain(const std::vector<std::string>&) {
  std::fputs(ConfigMarkdown().c_str(), stdout);
  return 0;
}

struct AdminCommand {
  const char* name;
  int (*run)(const std::vector<std::string>& args);
  const char* text;
};

constexpr AdminCommand kAdminCommands[] = {
    {"describe", DescribeMain, "servers and tables of a cluster, or one table whole"},
    {"offsets", OffsetsMain, "offsets of every bucket of a cluster's tables"},
    {"dump", DumpMain, "batches and rows of a log segment, from its file"},
    {"verify", VerifyMain, "check the data folder of a server that does not run"},
    {"config-doc", ConfigDocMain, "print docs/configuration.md"},
};

int AdminUsage(std::FILE* out, int exit_code) {
  std::fputs("usage: sluice admin COMMAND [arguments]; COMMAND --help says more\n", out);
  for (const AdminCommand& command : kAdminCommands)
    std::fprintf(out, "  %-10s %s\n", command.name, command.text);
  return exit_code;
}

}  // namespace

int AdminMain(const std::vector<std::string>& args) {
  if (args.empty()) return AdminUsage(stderr, 2);
  if (args[0] == "--help" || args[0] == "help") return AdminUsage(stdout, 0);
  for (const AdminCommand& command : kAdminCommands) {
    if (args[0] == command.name) return command.run({args.begin() + 1, args.end()});
  }
  std::fprintf(stderr, "sluice admin: unknown command %s\n", args[0].c_str());
  return AdminUsage(stderr, 2);
}

}  // namespace sluice::app
