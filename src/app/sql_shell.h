#pragma once
#include <string>
#include <vector>

namespace sluice::app {

/// `sluice sql …`: run statements of the command line, a file, standard input or a person. Returns
/// the exit code.
int SqlMain(const std::vector<std::string>& args);

}  // namespace sluice::app
