#include "app/run_time_settings.h"

#include <algorithm>

#include "app/settings.h"
#include "base/check.h"
#include "base/log.h"

namespace sluice::app {
namespace {

constexpr std::string_view kCredentials = "security.sasl.plain.credentials";
constexpr std::string_view kLimit = "server.data-disk.write-limit-ratio";
constexpr std::string_view kRecover = "server.data-disk.write-recover-ratio";
constexpr std::string_view kLevel = "server.log.level";

// What a start says of a setting, as the call's error.
Status AsConfigError(const Status& status) {
  return status.ok() ? status : Error(ErrorCode::kConfig, status.message());
}

}  // namespace

coordinator::ConfigRules::Shape RunTimeSettings::ShapeOf(const std::string& key) const {
  if (key == kCredentials) return Shape::kMap;
  const auto keys = RunTimeConfigKeys();
  const bool known = std::ranges::find(keys, key) != keys.end();
  return known ? Shape::kValue : Shape::kFixed;
}

Result<Config> RunTimeSettings::With(const Configs& changed) const {
  Config config = initial_;
  for (const auto& [key, value] : changed) RETURN_NOT_OK(config.Set(key + "=" + value));
  return config;
}

Status RunTimeSettings::Check(const Configs& changed) const {
  for (const auto& [key, value] : changed) {
    const bool may_be_empty = key == kCredentials;
    if (value.empty() && !may_be_empty)
      return Error(ErrorCode::kConfig, "value is empty key=", key);
  }
  const auto with = With(changed);
  if (!with.ok()) return AsConfigError(with.status());
  const bool ratio_changes =
      changed.contains(std::string(kRecover)) || changed.contains(std::string(kLimit));
  if (ratio_changes && with->Ratio(kRecover) > with->Ratio(kLimit)) {
    return Error(ErrorCode::kConfig,
                 "writes would be taken again above the limit limit=", with->String(kLimit),
                 " recover=", with->String(kRecover),
                 " key=", changed.contains(std::string(kRecover)) ? kRecover : kLimit);
  }
  RETURN_NOT_OK(AsConfigError(LogLevelOf(*with).status()));
  return AsConfigError(ParseCredentials(with->String(kCredentials)).status());
}

void RunTimeSettings::Apply(const Configs& changed) {
  const auto with = With(changed);
  CHECK(with.ok());  // Check has passed.
  disks_.SetLimits({with->Ratio(kLimit), with->Ratio(kRecover)});
  SetLogLevel(LogLevelOf(*with).ValueOrDie());
  SetLiveOptions(*with, &tablet_);
  const auto credentials = ParseCredentials(with->String(kCredentials)).ValueOrDie();
  for (const auto& [name, listener] : listeners_) {
    if (listener.shares_users) listener.users->Set(Joined(listener.fixed, credentials));
  }
}

}  // namespace sluice::app
