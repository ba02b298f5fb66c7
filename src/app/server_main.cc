#include "app/server_main.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/command_line.h"
#include "app/config.h"
#include "app/machine.h"
#include "app/server_process.h"
#include "app/settings.h"
#include "app/version.h"
#include "base/log.h"
#include "io/clock.h"
#include "io/file.h"

namespace sluice::app {
namespace {

struct ServerArguments {
  std::string conf;
  std::vector<std::string> assignments;  // key=value
};

// The exit code of a command line that was answered by itself (help, a mistake); nothing when it is
// good.
std::optional<int> ParseServerArguments(std::vector<std::string> args, ServerArguments* out) {
  CLI::App parser("Run a server with all roles in one process.", "sluice server");
  parser.add_option("--conf", out->conf, "Configuration file (YAML)");
  parser.add_option("-D", out->assignments, "Setting key=value, wins over the file")
      ->allow_extra_args(false);
  return ParseCommandLine(std::move(args), &parser);
}

Result<Config> MakeConfig(const ServerArguments& arguments) {
  Config config;
  if (!arguments.conf.empty()) {
    ASSIGN_OR_RAISE(const std::string yaml, io::LocalFileSystem().ReadFile(arguments.conf));
    RETURN_NOT_OK(config.LoadFile(arguments.conf, yaml));
  }
  for (const std::string& assignment : arguments.assignments) RETURN_NOT_OK(config.Set(assignment));
  config.MakeFoldersAbsolute(CurrentFolder());
  return config;
}

// Signals that end the server are taken by the main thread alone, so they are blocked before any
// other starts.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Status RunServer(const ServerArguments& arguments, const sigset_t& stop_signals) {
  const auto started = io::SystemClock().Monotonic();
  ASSIGN_OR_RAISE(const Config config, MakeConfig(arguments));
  ASSIGN_OR_RAISE(const LogLevel level, LogLevelOf(config));
  OpenLog(config.String("server.log.file"), level);
  ASSIGN_OR_RAISE(const auto process, ServerProcess::Start(config));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      io::SystemClock().Monotonic() - started);
  LogInfo("server is ready version={} took_ms={}", kVersion, took.count());
  if (!config.String("server.log.file").empty()) {  // Scripts wait for it here.
    std::puts("server is ready");
    std::fflush(stdout);
  }
  int signal = 0;
  while (sigwait(&stop_signals, &signal) != 0) {
  }
  LogInfo("stopping signal={}", signal);
  RETURN_NOT_OK(process->Stop());
  LogInfo("stopped");
  return Status::OK();
}

}  // namespace

int ServerMain(const std::vector<std::string>& args) {
  ServerArguments arguments;
  if (const auto exit_code = ParseServerArguments(args, &arguments)) return *exit_code;
  const sigset_t stop_signals = BlockStopSignals();
  const Status status = RunServer(arguments, stop_signals);
  if (status.ok()) return 0;
  std::fprintf(stderr, "sluice server: %s\n", status.message().c_str());
  return 1;
}

}  // namespace sluice::app
