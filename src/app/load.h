#pragma once
#include <string>
#include <vector>

namespace sluice::app {

/// `sluice load …`: write files of rows into a table of any server that speaks the protocol.
/// Returns the exit code.
int LoadMain(const std::vector<std::string>& args);

}  // namespace sluice::app
