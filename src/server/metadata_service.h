#pragma once
#include <map>
#include <string>

#include "coordinator/settings.h"
#include "io/transport.h"
#include "meta/catalog.h"
#include "server/addresses.h"

namespace sluice::server {

/// Answers the reads that both roles offer, from the catalog's current snapshot.
///
/// Threads: any; never waits, so an answer is as new as the moment of the call.
class MetadataService : public io::Service {
 public:
  struct Options {
    const meta::Catalog* catalog = nullptr;
    const Membership* membership = nullptr;
    coordinator::ClusterSettings settings;
    std::map<std::string, std::string>
        lake_properties;  ///< datalake.<format>.* without that prefix.
  };
  explicit MetadataService(Options options);
  ~MetadataService() override;

  /// Errors: the protocol's codes for what is missing (4, 7, 9, 36, 37, 43, 53, …);
  /// kUnsupportedVersion for a call that is not among the reads.
  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override;

 private:
  const Options options_;
  std::map<std::string, std::string>
      table_additions_;  // Properties that replies add to lake-enabled tables.
};

}  // namespace sluice::server
