#include "coordinator/cluster_configs.h"

#include <arrow/util/utf8.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

// The entries of a map that have another name than `without`; an empty name leaves all of them.
std::string EntriesOf(std::string_view map, std::string_view without) {
  std::string kept;
  while (!map.empty()) {
    const size_t comma = std::min(map.find(','), map.size());
    const std::string_view entry = TrimSpaces(map.substr(0, comma));
    map.remove_prefix(std::min(comma + 1, map.size()));
    if (entry.empty() || NameOf(entry) == without) continue;
    if (!kept.empty()) kept += ',';
    kept += entry;
  }
  return kept;
}

Status AlterEntries(const Configs& initial, const wire::PbAlterConfig& change, Configs* changed) {
  const std::string& key = change.config_key();
  const std::string_view entry = TrimSpaces(change.config_value());
  if (NameOf(entry).empty() || entry.find(',') != std::string_view::npos)
    return Error(ErrorCode::kConfig, "value is not one entry name:value key=", key);
  const auto now = changed->find(key);
  const auto before = initial.find(key);
  const std::string present = now != changed->end()     ? now->second
                              : before != initial.end() ? before->second
                                                        : "";
  std::string kept = EntriesOf(present, NameOf(entry));
  if (static_cast<AlterOp>(change.op_type()) == AlterOp::kAppend) {
    if (kept != EntriesOf(present, ""))
      return Error(ErrorCode::kConfig, "entry is there already key=", key);
    kept += (kept.empty() ? "" : ",") + std::string(entry);
  }
  (*changed)[key] = kept;
  return Status::OK();
}

Status AlterOne(const ConfigRules* rules, const Configs& initial, const wire::PbAlterConfig& change,
                Configs* changed) {
  const std::string& key = change.config_key();
  const Shape shape = rules == nullptr ? Shape::kFixed : rules->ShapeOf(key);
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
      (*changed)[key] = change.config_value();
      return Status::OK();
    case AlterOp::kDelete:
      changed->erase(key);
      return Status::OK();
    case AlterOp::kAppend:
    case AlterOp::kSubtract:
      if (shape == Shape::kMap) return AlterEntries(initial, change, changed);
      return Error(ErrorCode::kConfig, "setting is no list, it can only be set key=", key);
  }
  return Error(ErrorCode::kConfig, "unknown operation op_type=", change.op_type(), " key=", key);
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
  Configs next = changed();
  for (const wire::PbAlterConfig& change : request.alter_configs())
    RETURN_NOT_OK(AlterOne(rules_, initial_, change, &next));
  if (next == changed()) return Status::OK();
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
