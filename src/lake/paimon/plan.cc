#include "lake/paimon/plan.h"

#include <unordered_map>

#include "lake/paimon/binary_row.h"
#include "lake/paimon/pruning.h"
#include "lake/paimon/sort_key.h"

namespace sluice::lake::paimon {
namespace {

constexpr int64_t kSplitBytes = int64_t{128} << 20;
constexpr int64_t kOpenBytes =
    int64_t{4} << 20;  // What opening a file costs, so that small files fill a split too.

bool HoldsRetractions(const ManifestEntry& entry) {
  return entry.file.delete_row_count.value_or(0) > 0;
}

// Every file above level 0, all on one level, nothing deleted: keys are unique as they lie.
bool AllRaw(const std::vector<ManifestEntry>& files) {
  return std::ranges::all_of(files, [&](const ManifestEntry& entry) {
    return entry.file.level >= 1 && entry.file.level == files.front().file.level &&
           !HoldsRetractions(entry);
  });
}

// Builds the splits of one bucket.
class SplitBuilder {
 public:
  SplitBuilder(SchemaStore& schemas, const LakeSchema& newest, const Pruner& pruner,
               LakeSplit empty, std::string folder)
      : schemas_(schemas),
        newest_(newest),
        pruner_(pruner),
        empty_(std::move(empty)),
        folder_(std::move(folder)) {}

  // Raw files are packed by size; order is kept.
  Status AddRaw(const std::vector<ManifestEntry>& files) {
    std::vector<ManifestEntry> pack;
    int64_t bytes = 0;
    for (const ManifestEntry& entry : files) {
      ASSIGN_OR_RAISE(const bool wanted, pruner_.MayHoldRows(entry));
      if (!wanted) continue;
      const int64_t weight = std::max(entry.file.size_bytes, kOpenBytes);
      if (!pack.empty() && bytes + weight > kSplitBytes) {
        RETURN_NOT_OK(Add(std::move(pack), /*raw=*/true));
        pack.clear();
        bytes = 0;
      }
      pack.push_back(entry);
      bytes += weight;
    }
    return pack.empty() ? Status::OK() : Add(std::move(pack), /*raw=*/true);
  }

  Status Add(std::vector<ManifestEntry> files, bool raw) {
    LakeSplit split = empty_;
    split.raw = raw;
    for (const ManifestEntry& entry : files) {
      ASSIGN_OR_RAISE(LakeFile file, FileOf(entry));
      split.record_count += file.record_count;
      split.files.push_back(std::move(file));
    }
    split.detail = std::make_shared<const SplitDetail>(
        SplitDetail{std::move(files), folder_, raw ? pruner_.predicates() : pruner_.OnKeys()});
    splits_.push_back(std::move(split));
    return Status::OK();
  }

  std::vector<LakeSplit> Take() { return std::move(splits_); }

 private:
  Result<LakeFile> FileOf(const ManifestEntry& entry) {
    LakeFile file;
    file.path = PathOf(entry, folder_);
    file.size_bytes = entry.file.size_bytes;
    file.record_count = entry.file.row_count;
    file.schema_id = entry.file.schema_id;
    file.level = entry.file.level;
    ASSIGN_OR_RAISE(const auto schema, schemas_.ById(entry.file.schema_id));
    file.readable_by_name = true;
    for (const types::Column& column : newest_.columns) {
      const int at = schema->IndexOfId(column.id);
      if (at < 0) {
        file.missing_columns.push_back(column.name);
        file.readable_by_name = file.readable_by_name && schema->IndexOf(column.name) < 0;
        continue;
      }
      const types::Column& old = schema->columns[static_cast<size_t>(at)];
      file.readable_by_name =
          file.readable_by_name && old.name == column.name &&
          old.type->WithNullable(true)->Equals(*column.type->WithNullable(true));
    }
    return file;
  }

  SchemaStore& schemas_;
  const LakeSchema& newest_;
  const Pruner& pruner_;
  LakeSplit empty_;
  std::string folder_;
  std::vector<LakeSplit> splits_;
};

Status AddKeyedBucket(const LakeSchema& schema, std::vector<ManifestEntry> files,
                      SplitBuilder* builder) {
  const bool all_raw = AllRaw(files);
  ASSIGN_OR_RAISE(auto sections, CutSections(schema, std::move(files)));
  std::vector<ManifestEntry> raw;  // Raw sections that follow each other share splits.
  for (std::vector<ManifestEntry>& section : sections) {
    if (all_raw || (section.size() == 1 && !HoldsRetractions(section.front()))) {
      std::ranges::move(section, std::back_inserter(raw));
      continue;
    }
    RETURN_NOT_OK(builder->AddRaw(raw));
    raw.clear();
    RETURN_NOT_OK(builder->Add(std::move(section), /*raw=*/false));
  }
  return builder->AddRaw(raw);
}

// Leave only files that may hold a wanted key.
Status KeepByKeys(const Pruner& pruner, BucketFiles* bucket) {
  if (pruner.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const bool partition, pruner.MayHoldPartition(bucket->partition));
  std::vector<ManifestEntry> kept;
  for (ManifestEntry& entry : bucket->files) {
    if (!partition) break;
    ASSIGN_OR_RAISE(const bool placed, pruner.MayHoldBucket(entry.bucket, entry.total_buckets));
    ASSIGN_OR_RAISE(const bool keyed, pruner.MayHoldKeys(entry));
    if (placed && keyed) kept.push_back(std::move(entry));
  }
  bucket->files = std::move(kept);
  return Status::OK();
}

bool Wanted(const LakeSchema& schema, const LakeSplit& split, const PlanOptions& options) {
  if (options.bucket.has_value() && *options.bucket != split.bucket) return false;
  for (const auto& [key, value] : options.partition) {
    const auto at = std::ranges::find(schema.partition_keys, key);
    if (at == schema.partition_keys.end()) return false;
    if (split.partition[static_cast<size_t>(at - schema.partition_keys.begin())] != value)
      return false;
  }
  return true;
}

}  // namespace

std::string PathOf(const ManifestEntry& entry, const std::string& folder) {
  return entry.file.external_path.value_or(io::JoinPath(folder, entry.file.name));
}

std::vector<BucketFiles> GroupByBucket(const LiveFiles& live) {
  std::vector<BucketFiles> groups;
  std::unordered_map<std::string, size_t> places;
  for (const ManifestEntry& entry : live) {
    const std::string key = std::to_string(entry.bucket) + "/" + entry.partition;
    const auto [at, fresh] = places.emplace(key, groups.size());
    if (fresh) groups.push_back({entry.partition, entry.bucket, {}});
    groups[at->second].files.push_back(entry);
  }
  return groups;
}

Result<std::vector<std::vector<ManifestEntry>>> CutSections(const LakeSchema& schema,
                                                            std::vector<ManifestEntry> files) {
  std::vector<std::string_view> bounds;
  for (const ManifestEntry& entry : files) {
    bounds.push_back(entry.file.min_key);
    bounds.push_back(entry.file.max_key);
  }
  ASSIGN_OR_RAISE(const SortKeys keys,
                  SortKeysOfRows(TypesOf(schema, schema.TrimmedPrimaryKey()), bounds));
  std::vector<size_t> order(files.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return keys[2 * a] < keys[2 * b]; });
  std::vector<std::vector<ManifestEntry>> sections;
  std::string_view end;  // Greatest key of the open section.
  for (const size_t i : order) {
    if (sections.empty() || keys[2 * i] > end) {
      sections.emplace_back();
      end = keys[2 * i + 1];
    }
    sections.back().push_back(std::move(files[i]));
    end = std::max(end, keys[2 * i + 1]);
  }
  return sections;
}

Result<std::vector<LakeSplit>> MakeSplits(const TablePaths& paths, SchemaStore& schemas,
                                          const LakeSchema& newest, const LiveFiles& live,
                                          const PlanOptions& options, int64_t* files_skipped) {
  const Pruner pruner(schemas, newest, options.predicates);
  const auto partition_types = TypesOf(newest, newest.partition_keys);
  std::vector<LakeSplit> splits;
  for (BucketFiles& bucket : GroupByBucket(live)) {
    LakeSplit empty;
    empty.bucket = bucket.bucket;
    ASSIGN_OR_RAISE(empty.partition, PartitionTexts(partition_types, bucket.partition));
    if (!Wanted(newest, empty, options)) continue;
    *files_skipped += static_cast<int64_t>(bucket.files.size());
    RETURN_NOT_OK(KeepByKeys(pruner, &bucket));
    ASSIGN_OR_RAISE(const std::string folder, PartitionFolder(newest, bucket.partition));
    SplitBuilder builder(schemas, newest, pruner, std::move(empty),
                         paths.Bucket(folder, bucket.bucket));
    if (newest.has_primary_key()) {
      RETURN_NOT_OK(AddKeyedBucket(newest, std::move(bucket.files), &builder));
    } else {
      RETURN_NOT_OK(builder.AddRaw(bucket.files));
    }
    for (LakeSplit& split : builder.Take()) {
      *files_skipped -= static_cast<int64_t>(split.files.size());
      splits.push_back(std::move(split));
    }
  }
  return splits;
}

}  // namespace sluice::lake::paimon
