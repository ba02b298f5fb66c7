#pragma once
#include <string>
#include <vector>

namespace sluice::app {

/// `sluice server …`: run a server until SIGTERM or SIGINT. Returns the exit code.
int ServerMain(const std::vector<std::string>& args);

}  // namespace sluice::app
