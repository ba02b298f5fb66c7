#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace sluice::app {

std::optional<int> ParseCommandLine(std::vector<std::string> args, CLI::App* parser) {
  std::ranges::reverse(args);  // As the parser wants them.
  try {
    parser->parse(std::move(args));
  } catch (const CLI::ParseError& error) {
    return parser->exit(error);
  }
  return std::nullopt;
}

}  // namespace sluice::app
