#include "coordinator/cluster_configs.h"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "coordinator/catalog_reads.h"
#include "wire/proto/cluster.pb.h"

namespace sluice::coordinator {
namespace {

using Configs = ConfigRules::Configs;
using Shape = ConfigRules::Shape;

constexpr char kConfigArea[] = "configs";
constexpr char kConfigName[] = "global";
constexpr int kConfigVersion = 1;

enum class AlterOp { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

Result<Configs> ParseStored(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool well_formed = json.is_object() && json.contains("configs") &&
                           json["configs"].is_object() && json.contains("version") &&
                           json["version"] == kConfigVersion;
  if (!well_formed) return Corrupt("stored settings are not JSON of version ", kConfigVersion);
  Configs configs;
  for (const auto& [key, value] : json["configs"].items()) {
    if (!value.is_string()) return Corrupt("stored setting is no text key=", key);
    configs[key] = value.get<std::string>();
  }
  return configs;
}

std::string FormatStored(const Configs& configs) {
  const nlohmann::json json = {{"version", kConfigVersion}, {"configs", configs}};
  return JsonText(json);
}

std::string_view NameOf(std::string_view entry) { return entry.substr(0, entry.find(':')); }

// The text of a map (`name:value,name:value`), open for many changes.
class OpenMap {
 public:
  explicit OpenMap(std::string_view text) {
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      const std::string_view entry = TrimSpaces(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
      if (!entry.empty()) Append(entry);
    }
  }

  bool Has(std::string_view name) const { return places_.contains(name); }
  void Append(std::string_view entry) {
    places_.emplace(NameOf(entry), entries_.size());
    entries_.emplace_back(entry);
  }
  void Remove(std::string_view name) {
    const auto [begin, end] = places_.equal_range(name);
    for (auto at = begin; at != end; ++at) entries_[at->second].clear();
    places_.erase(begin, end);
  }
  std::string Text() const {
    std::string text;
    for (const std::string& entry : entries_) {
      if (entry.empty()) continue;
      if (!text.empty()) text += ',';
      text += entry;
    }
    return text;
  }

 private:
  std::vector<std::string> entries_;  // Empty where one was removed.
  std::multimap<std::string, size_t, std::less<>> places_;
};

// The changes of one call, in their order.
class Alteration {
 public:
  Alteration(const ConfigRules* rules, const Configs& initial, Configs* changed)
      : rules_(rules), initial_(initial), changed_(*changed) {}

  Status Add(const wire::PbAlterConfig& change);
  /// Behind the last one.
  void Finish() {
    for (const auto& [key, map] : maps_) changed_[key] = map.Text();
  }

 private:
  Status AlterEntry(const wire::PbAlterConfig& change);
  OpenMap& MapOf(const std::string& key);

  const ConfigRules* const rules_;
  const Configs& initial_;
  Configs& changed_;
  std::map<std::string, OpenMap> maps_;  // Of keys whose entries were changed.
};

OpenMap& Alteration::MapOf(const std::string& key) {
  if (const auto open = maps_.find(key); open != maps_.end()) return open->second;
  const auto now = changed_.find(key);
  const auto before = initial_.find(key);
  const std::string_view text = now != changed_.end()      ? std::string_view(now->second)
                                : before != initial_.end() ? std::string_view(before->second)
                                                           : std::string_view();
  return maps_.emplace(key, OpenMap(text)).first->second;
}

Status Alteration::AlterEntry(const wire::PbAlterConfig& change) {
  const std::string& key = change.config_key();
  const std::string_view entry = TrimSpaces(change.config_value());
  if (NameOf(entry).empty() || entry.find(',') != std::string_view::npos)
    return Error(ErrorCode::kConfig, "value is not one entry name:value key=", key);
  OpenMap& map = MapOf(key);
  if (static_cast<AlterOp>(change.op_type()) == AlterOp::kSubtract) {
    map.Remove(NameOf(entry));
    return Status::OK();
  }
  if (map.Has(NameOf(entry))) return Error(ErrorCode::kConfig, "entry is there already key=", key);
  map.Append(entry);
  return Status::OK();
}

Status Alteration::Add(const wire::PbAlterConfig& change) {
  const std::string& key = change.config_key();
  const Shape shape = rules_ == nullptr ? Shape::kFixed : rules_->ShapeOf(key);
  if (shape == Shape::kFixed) {
    return Error(ErrorCode::kConfig, "setting cannot be changed while the server runs key=", key);
  }
  // It is stored as JSON, which would come back with another value.
  arrow::util::InitializeUTF8();  // Arrow's tables, made once.
  if (!arrow::util::ValidateUTF8(change.config_value()))
    return Error(ErrorCode::kConfig, "value is not UTF-8 key=", key);
  switch (static_cast<AlterOp>(change.op_type())) {
    case AlterOp::kSet:
      if (!change.has_config_value()) return Error(ErrorCode::kConfig, "no value key=", key);
      maps_.erase(key);
      changed_[key] = change.config_value();
      return Status::OK();
    case AlterOp::kDelete:
      maps_.erase(key);
      changed_.erase(key);
      return Status::OK();
    case AlterOp::kAppend:
    case AlterOp::kSubtract:
      if (shape == Shape::kMap) return AlterEntry(change);
      return Error(ErrorCode::kConfig, "setting is no list, it can only be set key=", key);
  }
  return Error(ErrorCode::kConfig, "unknown operation op_type=", change.op_type(), " key=", key);
}

// A value that an older version let grow longer may become shorter.
Status CheckSizes(const Configs& before, const Configs& after) {
  for (const auto& [key, value] : after) {
    const auto known = before.find(key);
    const size_t had = known == before.end() ? 0 : known->second.size();
    if (value.size() > std::max(ClusterConfigs::kValueBytesMax, had)) {
      return Error(ErrorCode::kConfig, "value is too long size_bytes=", value.size(),
                   " most=", ClusterConfigs::kValueBytesMax, " key=", key);
    }
  }
  return Status::OK();
}

bool MayAll(const ConfigRules* rules, const Configs& configs) {
  return rules != nullptr && std::ranges::all_of(configs, [rules](const auto& config) {
           return rules->ShapeOf(config.first) != Shape::kFixed;
         });
}

}  // namespace

Status ClusterConfigs::Load(const meta::Catalog& catalog) {
  ASSIGN_OR_RAISE(const auto stored, catalog.GetValue(kConfigArea, kConfigName));
  if (!stored.has_value()) return Status::OK();
  ASSIGN_OR_RAISE(const Configs found, ParseStored(*stored));
  if (MayAll(rules_, found) && rules_->Check(found).ok()) {
    Publish(found);
    return Status::OK();
  }
  Configs good;  // What is right without the rest, in the order of names.
  for (const auto& [key, value] : found) {
    Configs with = good;
    with[key] = value;
    const bool may = rules_ != nullptr && rules_->ShapeOf(key) != Shape::kFixed;
    const Status fits = may ? rules_->Check(with)
                            : Error(ErrorCode::kConfig, "setting cannot be changed key=", key);
    if (fits.ok()) {
      good = std::move(with);
    } else {
      LogWarn("changed setting is left out cause={}", fits.message());
    }
  }
  Publish(std::move(good));
  return Status::OK();
}

Status ClusterConfigs::Alter(meta::Catalog& catalog,
                             const wire::AlterClusterConfigsRequest& request) {
  if (static_cast<size_t>(request.alter_configs_size()) > kChangesMax) {
    return Error(ErrorCode::kConfig,
                 "too many changes at once changes=", request.alter_configs_size(),
                 " most=", kChangesMax);
  }
  const Configs before = changed();
  Configs next = before;
  Alteration alteration(rules_, initial_, &next);
  for (const wire::PbAlterConfig& change : request.alter_configs())
    RETURN_NOT_OK(alteration.Add(change));
  alteration.Finish();
  if (next == before) return Status::OK();
  RETURN_NOT_OK(CheckSizes(before, next));
  RETURN_NOT_OK(rules_->Check(next));
  RETURN_NOT_OK(catalog.PutValue(kConfigArea, kConfigName, FormatStored(next)));
  for (const wire::PbAlterConfig& change : request.alter_configs())
    LogInfo("setting was changed key={} op_type={}", change.config_key(), change.op_type());
  Publish(std::move(next));
  return Status::OK();
}

wire::DescribeClusterConfigsResponse ClusterConfigs::Describe() const {
  const Configs changed = this->changed();
  wire::DescribeClusterConfigsResponse response;
  const auto add = [&response](const std::string& key, const std::string& value,
                               const char* source) {
    wire::PbDescribeConfig* config = response.add_configs();
    config->set_config_key(key);
    config->set_config_value(IsSecret(key) ? "******" : value);
    config->set_config_source(source);
  };
  for (const auto& [key, value] : initial_) {
    if (!changed.contains(key)) add(key, value, "INITIAL_SERVER_CONFIG");
  }
  for (const auto& [key, value] : changed) add(key, value, "DYNAMIC_SERVER_CONFIG");
  return response;
}

Configs ClusterConfigs::changed() const {
  const std::lock_guard lock(mutex_);
  return changed_;
}

void ClusterConfigs::Publish(Configs changed) {
  if (rules_ != nullptr) rules_->Apply(changed);
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

}  // namespace sluice::coordinator
