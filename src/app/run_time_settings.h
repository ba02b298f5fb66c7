#pragma once
#include <map>
#include <string>

#include "app/config.h"
#include "app/disk_watch.h"
#include "app/security.h"
#include "coordinator/cluster_configs.h"
#include "tablet/tablet_service.h"

namespace sluice::app {

/// Which settings change while the server runs, and what they do to its parts.
///
/// Keys of Fluss that have no effect here are taken and kept as at a start. Threads: Apply by one
/// at a time, the rest from any.
class RunTimeSettings : public coordinator::ConfigRules {
 public:
  /// All of them outlive this.
  RunTimeSettings(const Config& initial, DiskWatch& disks,
                  const std::map<std::string, ListenerSecurity>& listeners,
                  tablet::LiveOptions& tablet)
      : initial_(initial), disks_(disks), listeners_(listeners), tablet_(tablet) {}

  Shape ShapeOf(const std::string& key) const override;
  Status Check(const Configs& changed) const override;
  void Apply(const Configs& changed) override;

 private:
  Result<Config> With(const Configs& changed) const;

  const Config& initial_;
  DiskWatch& disks_;
  const std::map<std::string, ListenerSecurity>& listeners_;
  tablet::LiveOptions& tablet_;
};

}  // namespace sluice::app
