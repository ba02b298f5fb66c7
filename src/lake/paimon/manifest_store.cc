#include "lake/paimon/manifest_store.h"

#include <arrow/array.h>

#include <unordered_map>

#include "base/bytes.h"
#include "base/log.h"
#include "lake/paimon/binary_row.h"
#include "lake/paimon/columns.h"
#include "lake/paimon/durable_file.h"
#include "lake/paimon/stats.h"

namespace sluice::lake::paimon {
namespace {

constexpr size_t kPartitionTruncate = 128;

template <typename T>
void Widen(std::optional<T>* least, std::optional<T>* greatest, T value) {
  *least = std::min(least->value_or(value), value);
  *greatest = std::max(greatest->value_or(value), value);
}

ManifestMeta MetaOf(const std::vector<ManifestEntry>& entries) {
  ManifestMeta meta;
  for (const ManifestEntry& entry : entries) {
    ++(entry.is_delete ? meta.deleted_files : meta.added_files);
    meta.schema_id = std::max(meta.schema_id, entry.file.schema_id);
    Widen(&meta.min_bucket, &meta.max_bucket, entry.bucket);
    Widen(&meta.min_level, &meta.max_level, entry.file.level);
  }
  return meta;
}

}  // namespace

std::vector<types::DataTypePtr> TypesOf(const LakeSchema& schema,
                                        const std::vector<std::string>& names) {
  std::vector<types::DataTypePtr> types;
  for (const std::string& name : names)
    types.push_back(schema.columns[static_cast<size_t>(schema.IndexOf(name))].type);
  return types;
}

Result<std::vector<ManifestEntry>> ManifestStore::Read(const std::string& manifest) const {
  ASSIGN_OR_RAISE(const std::string bytes, files_.ReadFile(paths_.Manifest(manifest)));
  auto parsed = ParseManifest(bytes);
  if (!parsed.ok()) {
    return parsed.status().WithMessage(parsed.status().message(),
                                       ", manifest=", paths_.Manifest(manifest));
  }
  return parsed;
}

Result<std::vector<ManifestMeta>> ManifestStore::ReadList(const std::string& list) const {
  ASSIGN_OR_RAISE(const std::string bytes, files_.ReadFile(paths_.Manifest(list)));
  auto parsed = ParseManifestList(bytes);
  if (!parsed.ok()) {
    return parsed.status().WithMessage(parsed.status().message(),
                                       ", manifest_list=", paths_.Manifest(list));
  }
  return parsed;
}

Result<std::vector<ManifestEntry>> ManifestStore::ReadEntries(const std::string& list) const {
  ASSIGN_OR_RAISE(const auto manifests, ReadList(list));
  std::vector<ManifestEntry> all;
  for (const ManifestMeta& manifest : manifests) {
    ASSIGN_OR_RAISE(auto entries, Read(manifest.name));
    std::ranges::move(entries, std::back_inserter(all));
  }
  return all;
}

std::string ManifestStore::SyncMarker() {
  std::string marker;
  AppendLe(&marker, random_.Next());
  AppendLe(&marker, random_.Next());
  return marker;
}

Result<SimpleStats> ManifestStore::PartitionStats(const std::vector<ManifestEntry>& entries) {
  ASSIGN_OR_RAISE(const auto schema, schemas_.Latest());
  const std::vector<types::DataTypePtr> types = TypesOf(*schema, schema->partition_keys);
  if (types.empty()) return SimpleStats{};
  StatsCollector stats(types, kPartitionTruncate);
  std::string last;
  for (const ManifestEntry& entry : entries) {
    if (entry.partition == last) continue;
    last = entry.partition;
    ASSIGN_OR_RAISE(const auto row, DecodeRow(types, entry.partition));
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (size_t i = 0; i < row.size(); ++i) {
      ASSIGN_OR_RAISE(auto column, Conform(row[i], FileArrowType(*types[i])));
      columns.push_back(std::move(column));
    }
    stats.Update(columns);
  }
  return stats.Finish();
}

Result<ManifestMeta> ManifestStore::Write(const std::vector<ManifestEntry>& entries) {
  ManifestMeta meta = MetaOf(entries);
  ASSIGN_OR_RAISE(meta.partition_stats, PartitionStats(entries));
  ASSIGN_OR_RAISE(const std::string bytes, WriteManifest(entries, SyncMarker()));
  meta.name = NewName("manifest-");
  meta.size_bytes = static_cast<int64_t>(bytes.size());
  RETURN_NOT_OK(WriteSynced(files_, paths_.Manifest(meta.name), bytes));
  return meta;
}

Result<ManifestStore::WrittenList> ManifestStore::WriteList(
    const std::vector<ManifestMeta>& manifests) {
  ASSIGN_OR_RAISE(const std::string bytes, WriteManifestList(manifests, SyncMarker()));
  WrittenList list{NewName("manifest-list-"), static_cast<int64_t>(bytes.size())};
  RETURN_NOT_OK(WriteSynced(files_, paths_.Manifest(list.name), bytes));
  return list;
}

bool ManifestStore::Remove(const std::string& name) {
  const Status removed = files_.Remove(paths_.Manifest(name));
  LogIfError(removed, "removing a manifest that no snapshot names");
  return removed.ok();
}

Result<LiveFiles> ManifestStore::ReadLive(const LakeSnapshot& snapshot) const {
  ASSIGN_OR_RAISE(auto entries, ReadEntries(snapshot.base_manifest_list));
  ASSIGN_OR_RAISE(auto delta, ReadEntries(snapshot.delta_manifest_list));
  std::ranges::move(delta, std::back_inserter(entries));
  LiveFiles live;
  const auto lost = ApplyEntries(&live, entries);
  if (!lost.empty()) {
    return Corrupt("lake snapshot deletes a file that it does not hold, table=", paths_.location(),
                   " snapshot=", snapshot.id, " file=", lost.front().file.name);
  }
  return live;
}

std::vector<ManifestEntry> ApplyEntries(LiveFiles* live,
                                        const std::vector<ManifestEntry>& entries) {
  std::unordered_map<std::string, size_t> places;
  const bool has_deletes = std::ranges::any_of(entries, &ManifestEntry::is_delete);
  if (has_deletes) {
    for (size_t i = 0; i < live->size(); ++i) places[(*live)[i].Identity()] = i;
  }
  std::vector<ManifestEntry> lost;
  std::vector<bool> gone(live->size(), false);
  for (const ManifestEntry& entry : entries) {
    if (!entry.is_delete) {
      if (has_deletes) places[entry.Identity()] = live->size();
      live->push_back(entry);
      gone.push_back(false);
      continue;
    }
    const auto at = places.find(entry.Identity());
    if (at == places.end()) {
      lost.push_back(entry);
      continue;
    }
    gone[at->second] = true;
    places.erase(at);
  }
  if (!has_deletes) return lost;
  size_t kept = 0;
  for (size_t i = 0; i < live->size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) (*live)[kept] = std::move((*live)[i]);
    ++kept;
  }
  live->resize(kept);
  return lost;
}

}  // namespace sluice::lake::paimon
