#pragma once
#include <string>
#include <vector>

#include "app/config.h"
#include "app/memory_plan.h"
#include "base/log.h"
#include "coordinator/settings.h"
#include "server/addresses.h"
#include "server/connection.h"
#include "server/request_stats.h"
#include "tablet/tablet_service.h"

// What the parts of a server take from the configuration.

namespace sluice::meta {
class Catalog;
}

namespace sluice::app {

// Names in the data folder.
inline constexpr char kMetadataFolder[] = "metadata";
inline constexpr char kSpillFolder[] = "sql-spill";
inline constexpr char kDataLockFile[] = "server.lock";

/// Folders of a server, all absolute or as the user wrote them.
struct Folders {
  std::string data;
  std::string metadata;
  std::string remote;
  std::string warehouse;
};
Folders FoldersOf(const Config& config);

/// Listeners of one role ("coordinator" or "tablet-server"). Errors: kInvalidConfig.
struct Listeners {
  std::vector<server::Endpoint> bind;
  std::vector<server::Endpoint> advertised;  ///< Those that differ from what is bound.
};
Result<Listeners> ListenersOf(const Config& config, const std::string& role);
/// Whether the listeners of both roles are good, and one of them is the internal one where a name
/// for it is set. Errors: kInvalidConfig.
Status CheckListeners(const Config& config);
/// What clients are told: `bound`, with real ports, where nothing else is advertised. A listener
/// bound to all addresses is told as `machine_address`, an advertised port 0 as the bound one.
std::vector<server::Endpoint> AdvertisedOf(const Listeners& listeners,
                                           const std::vector<server::Endpoint>& bound,
                                           const std::string& machine_address);

coordinator::ClusterSettings ClusterSettingsOf(const Config& config);
/// What DESCRIBE_CLUSTER_CONFIGS shows: what was set, and where the lake is also by default, since
/// engines elsewhere read it.
std::map<std::string, std::string> ShownConfigsOf(const Config& config);
/// The parts that the configuration decides; pointers are left null.
tablet::TabletOptions TabletOptionsOf(const Config& config);
/// The part of them that ALTER_CLUSTER_CONFIGS changes.
void SetLiveOptions(const Config& config, tablet::LiveOptions* live);
server::ConnectionSettings ConnectionSettingsOf(const Config& config);
/// `catalog`, which outlives them, names tables.
server::RequestStats::Options RequestStatsOptionsOf(const Config& config,
                                                    const meta::Catalog& catalog);
MemoryPlan MemoryPlanOf(const Config& config);
/// Errors: kInvalidConfig naming the key.
Result<LogLevel> LogLevelOf(const Config& config);
size_t ShardsOf(const Config& config);
/// `datalake.paimon.*`, warehouse and metastore filled in.
std::map<std::string, std::string> LakePropertiesOf(const Config& config);

}  // namespace sluice::app
