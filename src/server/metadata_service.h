#pragma once
#include <map>
#include <string>

#include "coordinator/cluster_configs.h"
#include "coordinator/settings.h"
#include "io/file.h"
#include "io/pool.h"
#include "io/transport.h"
#include "meta/catalog.h"
#include "server/addresses.h"

namespace sluice::server {

/// Answers the reads that both roles offer, from the catalog's current snapshot.
///
/// Threads: any. Never waits, so an answer is as new as the moment of the call; but what files a KV
/// snapshot has is read from its metadata file.
class MetadataService : public io::Service {
 public:
  struct Options {
    const meta::Catalog* catalog = nullptr;
    const Membership* membership = nullptr;
    io::FileSystem* files = nullptr;  ///< Of KV snapshots.
    io::Pool* pool = nullptr;         ///< Reads them.
    coordinator::ClusterSettings settings;
    std::map<std::string, std::string>
        lake_properties;  ///< datalake.<format>.* without that prefix.
    const coordinator::ClusterConfigs* configs = nullptr;
  };
  explicit MetadataService(Options options);
  ~MetadataService() override;

  /// Errors: the protocol's codes for what is missing (4, 7, 9, 36, 37, 43, 53, …);
  /// kUnsupportedVersion for a call that is not among the reads.
  io::Task<Result<io::Payload>> Handle(io::Loop& loop,
                                       std::shared_ptr<const io::Principal> principal,
                                       io::Call call) override;

 private:
  io::Task<Result<io::Payload>> KvSnapshotMetadata(io::Loop& loop, io::Call call) const;

  const Options options_;
  std::map<std::string, std::string>
      table_additions_;  // Properties that replies add to lake-enabled tables.
};

}  // namespace sluice::server
