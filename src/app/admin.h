#pragma once
#include <string>
#include <vector>

// `sluice admin`: looks at a cluster and at files, and changes nothing.

namespace sluice::app {

/// Run `sluice admin` with the arguments behind it; returns the exit code.
int AdminMain(const std::vector<std::string>& args);

// Its commands that take options, likewise.
int DescribeMain(const std::vector<std::string>& args);
int OffsetsMain(const std::vector<std::string>& args);
int DumpMain(const std::vector<std::string>& args);
int VerifyMain(const std::vector<std::string>& args);

}  // namespace sluice::app
