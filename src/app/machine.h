#pragma once
#include <cstdint>
#include <string>

namespace sluice::app {

/// Bytes of memory of this machine.
uint64_t MachineMemoryBytes();
int MachineCores();
/// An address by which other machines reach this one, as far as its interfaces tell; the loopback
/// address when there is no other.
std::string MachineAddress();
/// Folder that holds the running program; empty when it cannot be found out.
std::string ProgramFolder();

}  // namespace sluice::app
