#pragma once
#include <map>
#include <mutex>
#include <string>

#include "meta/catalog.h"

namespace sluice::wire {
class AlterClusterConfigsRequest;
class DescribeClusterConfigsResponse;
}  // namespace sluice::wire

namespace sluice::coordinator {

/// Which settings may change while the servers run, and what a change does. Known to the
/// application alone.
class ConfigRules {
 public:
  using Configs = std::map<std::string, std::string>;
  enum class Shape {
    kFixed,  ///< May not be changed.
    kValue,  ///< May be set.
    kMap,    ///< `name:value,name:value`: entries may be added and removed too.
  };
  virtual ~ConfigRules() = default;
  virtual Shape ShapeOf(const std::string& key) const = 0;
  /// Errors: kConfig naming the key whose value is wrong, alone or beside the others.
  virtual Status Check(const Configs& changed) const = 0;
  /// Let these, which Check has passed, take effect. What is absent is as it was at the start.
  virtual void Apply(const Configs& changed) = 0;
};

/// The cluster's settings: those of the start, and over them those that were changed since, which
/// the catalog keeps.
///
/// Format: JSON {"version": 1, "configs": {key: value}} as the small value "global" of area
/// "configs"; absent until the first change. Source: the node /config/server/global of the Java
/// server. Threads: Describe from any, the rest from the catalog's.
class ClusterConfigs {
 public:
  using Configs = ConfigRules::Configs;
  static constexpr size_t kValueBytesMax = 256 << 10;  ///< Of one changed value.
  static constexpr size_t kChangesMax = 1000;          ///< Of one call.

  /// `rules` outlives this; null = nothing may be changed.
  ClusterConfigs(Configs initial, ConfigRules* rules)
      : initial_(std::move(initial)), rules_(rules) {}

  /// Take up what was changed before this start. What may not be changed any more, or has become
  /// wrong, is left out with a WARN line. Errors: those of the catalog.
  Status Load(const meta::Catalog& catalog);
  /// All changes or none: checked, made durable, then in effect. Errors: kConfig naming the key;
  /// kConfig beyond bounds.
  Status Alter(meta::Catalog& catalog, const wire::AlterClusterConfigsRequest& request);
  /// Each key once, with where its value is from; values of keys that hold secrets are hidden.
  wire::DescribeClusterConfigsResponse Describe() const;

 private:
  Configs changed() const;
  void Publish(Configs changed);

  const Configs initial_;
  ConfigRules* const rules_;
  mutable std::mutex mutex_;  // Guards changed_.
  Configs changed_;
};

}  // namespace sluice::coordinator
