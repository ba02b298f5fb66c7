#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace sluice::app {

/// Bytes of memory of this machine.
uint64_t MachineMemoryBytes();
int MachineCores();
/// An address by which other machines reach this one, as far as its interfaces tell; the loopback
/// address when there is no other.
std::string MachineAddress();
/// Ask the system for as many open files and sockets as it lets a process have; how many these are.
uint64_t RaiseOpenFilesMax();
/// Whether the files of `buckets` more buckets can be opened, with room left for connections.
/// Errors: kBucketMaxNum.
Status CheckRoomForBuckets(int64_t buckets, uint64_t open_files, uint64_t open_files_max);
/// What all threads of this process have used so far.
std::chrono::nanoseconds ProcessCpuTime();
/// Bytes that the heap holds and nobody uses; also those whose pages went back to the system.
uint64_t FreeHeapBytes();
/// Give the pages of the heap's free memory back to the system.
void ReturnFreeHeap();
/// Folder in which the program was started.
std::string CurrentFolder();
/// Folder that holds the running program; empty when it cannot be found out.
std::string ProgramFolder();

}  // namespace sluice::app
