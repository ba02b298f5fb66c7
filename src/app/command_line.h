#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::app {

/// Parse the arguments of a command. Gives the exit code of a command line that was answered by
/// itself (help, a mistake); nothing when it is good.
std::optional<int> ParseCommandLine(std::vector<std::string> args, CLI::App* parser);

}  // namespace sluice::app
