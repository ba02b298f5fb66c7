#pragma once
#include <memory>

#include "app/config.h"

namespace sluice::app {

/// A server with all roles in this process.
class ServerProcess {
 public:
  /// Returns once every port answers.
  /// Errors: kStorage when another process holds the data folder; kNetwork when a port is in use;
  /// kInvalidConfig, naming the key.
  static Result<std::unique_ptr<ServerProcess>> Start(const Config& config);
  /// Stops.
  ~ServerProcess();
  /// Refuse new work, finish what runs, close all files cleanly.
  Status Stop();

 private:
  struct Parts;
  explicit ServerProcess(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::app
