#include "lake/paimon/snapshot_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace sluice::lake::paimon {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSnapshotVersion = 3;

std::optional<int64_t> LongOf(const Json& document, const char* key) {
  if (!document.contains(key) || !document[key].is_number_integer()) return std::nullopt;
  return document[key].get<int64_t>();
}

std::string TextOf(const Json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>()
                                                             : "";
}

void PutIf(Json* document, const char* key, const std::optional<int64_t>& value) {
  if (value.has_value()) (*document)[key] = *value;
}
void PutIf(Json* document, const char* key, const std::string& value) {
  if (!value.empty()) (*document)[key] = value;
}

std::string Dump(const Json& document) { return JsonText(document, 2); }

}  // namespace

Result<LakeSnapshot> ParseSnapshot(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return Corrupt("snapshot file is not a json object");
  for (const char* key : {"id", "schemaId", "commitIdentifier", "timeMillis"}) {
    if (!LongOf(document, key).has_value()) return Corrupt("snapshot without ", key);
  }
  LakeSnapshot snapshot;
  snapshot.id = *LongOf(document, "id");
  snapshot.schema_id = *LongOf(document, "schemaId");
  snapshot.commit_user = TextOf(document, "commitUser");
  snapshot.commit_identifier = *LongOf(document, "commitIdentifier");
  snapshot.commit_kind = TextOf(document, "commitKind");
  snapshot.time_ms = *LongOf(document, "timeMillis");
  snapshot.base_manifest_list = TextOf(document, "baseManifestList");
  snapshot.base_manifest_list_bytes = LongOf(document, "baseManifestListSize");
  snapshot.delta_manifest_list = TextOf(document, "deltaManifestList");
  snapshot.delta_manifest_list_bytes = LongOf(document, "deltaManifestListSize");
  if (snapshot.base_manifest_list.empty() || snapshot.delta_manifest_list.empty()) {
    return Corrupt("snapshot without its manifest lists, snapshot=", snapshot.id);
  }
  snapshot.changelog_manifest_list = TextOf(document, "changelogManifestList");
  snapshot.changelog_manifest_list_bytes = LongOf(document, "changelogManifestListSize");
  snapshot.index_manifest = TextOf(document, "indexManifest");
  snapshot.total_records = LongOf(document, "totalRecordCount").value_or(0);
  snapshot.delta_records = LongOf(document, "deltaRecordCount").value_or(0);
  snapshot.changelog_records = LongOf(document, "changelogRecordCount");
  snapshot.watermark = LongOf(document, "watermark");
  snapshot.statistics = TextOf(document, "statistics");
  snapshot.next_row_id = LongOf(document, "nextRowId");
  if (document.contains("properties") && document["properties"].is_object()) {
    for (const auto& [key, value] : document["properties"].items()) {
      if (value.is_string()) snapshot.properties[key] = value.get<std::string>();
    }
  }
  return snapshot;
}

std::string SnapshotToJson(const LakeSnapshot& snapshot) {
  Json document{
      {"version", kSnapshotVersion}, {"id", snapshot.id}, {"schemaId", snapshot.schema_id}};
  document["baseManifestList"] = snapshot.base_manifest_list;
  PutIf(&document, "baseManifestListSize", snapshot.base_manifest_list_bytes);
  document["deltaManifestList"] = snapshot.delta_manifest_list;
  PutIf(&document, "deltaManifestListSize", snapshot.delta_manifest_list_bytes);
  PutIf(&document, "changelogManifestList", snapshot.changelog_manifest_list);
  PutIf(&document, "changelogManifestListSize", snapshot.changelog_manifest_list_bytes);
  PutIf(&document, "indexManifest", snapshot.index_manifest);
  document["commitUser"] = snapshot.commit_user;
  document["commitIdentifier"] = snapshot.commit_identifier;
  document["commitKind"] = snapshot.commit_kind;
  document["timeMillis"] = snapshot.time_ms;
  document["totalRecordCount"] = snapshot.total_records;
  document["deltaRecordCount"] = snapshot.delta_records;
  PutIf(&document, "changelogRecordCount", snapshot.changelog_records);
  PutIf(&document, "watermark", snapshot.watermark);
  PutIf(&document, "statistics", snapshot.statistics);
  if (!snapshot.properties.empty()) document["properties"] = snapshot.properties;
  document["nextRowId"] = snapshot.next_row_id.value_or(0);
  return Dump(document);
}

std::string ConsumerToJson(int64_t next_snapshot) {
  return Dump(Json{{"nextSnapshot", next_snapshot}});
}

Result<int64_t> ParseConsumer(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto next = document.is_object() ? LongOf(document, "nextSnapshot") : std::nullopt;
  if (!next.has_value()) return Corrupt("consumer file without nextSnapshot");
  return *next;
}

}  // namespace sluice::lake::paimon
