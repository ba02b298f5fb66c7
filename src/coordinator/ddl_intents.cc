#include "coordinator/ddl_intents.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace sluice::coordinator {

namespace {

using Json = nlohmann::json;

Status Broken(std::string_view kind) { return Corrupt("intent is broken kind=", kind); }

std::string Dump(const Json& json) { return JsonText(json); }

// The text under `key`, null when it is no string.
const std::string* Text(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) return nullptr;
  return json[key].get_ptr<const std::string*>();
}

std::optional<int64_t> Integer(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer())
    return std::nullopt;
  return json[key].get<int64_t>();
}

// With `lake_made_ms` where there is one.
std::string DumpIntent(Json json, std::optional<int64_t> lake_made_ms) {
  if (lake_made_ms.has_value()) json["lake_made_ms"] = *lake_made_ms;
  return Dump(json);
}

void DiffOptions(const std::map<std::string, std::string>& from,
                 const std::map<std::string, std::string>& to, std::vector<lake::LakeChange>* out) {
  for (const auto& [key, value] : to) {
    const auto old = from.find(key);
    if (old == from.end() || old->second != value)
      out->push_back(lake::LakeChange::SetOption(key, value));
  }
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) out->push_back(lake::LakeChange::ResetOption(key));
  }
}

}  // namespace

std::string CreateIntent::ToJson() const {
  return DumpIntent({{"descriptor", descriptor.ToJson()}}, lake_made_ms);
}

Result<CreateIntent> CreateIntent::FromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const std::string* descriptor = Text(json, "descriptor");
  if (descriptor == nullptr) return Broken(kKind);
  CreateIntent intent;
  ASSIGN_OR_RAISE(intent.descriptor, types::TableDescriptor::FromJson(*descriptor));
  intent.lake_made_ms = Integer(json, "lake_made_ms");
  return intent;
}

std::string AlterIntent::ToJson() const {
  return DumpIntent({{"table_id", table_id}, {"descriptor", descriptor.ToJson()}}, lake_made_ms);
}

Result<AlterIntent> AlterIntent::FromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const std::string* descriptor = Text(json, "descriptor");
  const std::optional<int64_t> table_id = Integer(json, "table_id");
  if (descriptor == nullptr || !table_id.has_value()) return Broken(kKind);
  AlterIntent intent;
  intent.table_id = *table_id;
  intent.lake_made_ms = Integer(json, "lake_made_ms");
  ASSIGN_OR_RAISE(intent.descriptor, types::TableDescriptor::FromJson(*descriptor));
  return intent;
}

std::string DeleteIntent::ToJson() const {
  Json list = Json::array();
  for (const StoppedBucket& bucket : buckets) {
    list.push_back({bucket.id.table_id, bucket.id.partition_id.value_or(-1), bucket.id.bucket,
                    bucket.leader_epoch});
  }
  return Dump({{"buckets", std::move(list)}, {"folders", folders}});
}

Result<DeleteIntent> DeleteIntent::FromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("buckets") || !json.contains("folders"))
    return Broken(kKind);
  DeleteIntent intent;
  for (const Json& entry : json["buckets"]) {
    const bool whole =
        entry.is_array() && entry.size() == 4 &&
        std::ranges::all_of(entry, [](const Json& part) { return part.is_number_integer(); });
    if (!whole) return Broken(kKind);
    StoppedBucket bucket{
        .id = {.table_id = entry[0].get<int64_t>(), .bucket = entry[2].get<int32_t>()},
        .leader_epoch = entry[3].get<int32_t>()};
    if (entry[1].get<int64_t>() >= 0) bucket.id.partition_id = entry[1].get<int64_t>();
    intent.buckets.push_back(bucket);
  }
  for (const Json& folder : json["folders"]) {
    if (!folder.is_string()) return Broken(kKind);
    intent.folders.push_back(folder.get<std::string>());
  }
  return intent;
}

std::vector<lake::LakeChange> LakeChanges(const types::TableDescriptor& from,
                                          const types::TableDescriptor& to) {
  std::vector<lake::LakeChange> changes;
  for (size_t i = from.schema.columns.size(); i < to.schema.columns.size(); ++i) {
    changes.push_back(lake::LakeChange::AddColumn(to.schema.columns[i]));
  }
  DiffOptions(from.properties, to.properties, &changes);
  DiffOptions(from.custom_properties, to.custom_properties, &changes);
  return changes;
}

}  // namespace sluice::coordinator
