#pragma once
#include <cstdint>
#include <string>

namespace sluice::app {

/// Bytes of memory of this machine.
uint64_t MachineMemoryBytes();
int MachineCores();
/// Folder that holds the running program; empty when it cannot be found out.
std::string ProgramFolder();

}  // namespace sluice::app
