#include "lake/paimon/compaction.h"

#include <arrow/array.h>
#include <arrow/buffer.h>

#include <charconv>

#include "io/crash_point.h"
#include "lake/paimon/merge.h"

namespace sluice::lake::paimon {
namespace {

using Columns = std::vector<std::shared_ptr<arrow::Array>>;

constexpr int32_t kDefaultLevels = 6;
constexpr int64_t kAmplificationPercent = 200;
constexpr int64_t kSizeRatioPercent = 1;
constexpr BatchSize kRawBatch{.rows = 8 * 1024};

int64_t SizeOf(const std::vector<SortedRun>& runs, size_t count) {
  int64_t size = 0;
  for (size_t i = 0; i < count; ++i) size += runs[i].size_bytes;
  return size;
}

// The level that merging the first `count` runs goes to: just above the next run left alone, never
// 0.
CompactionPick PickFirst(const std::vector<SortedRun>& runs, size_t count, int32_t top_level) {
  while (count < runs.size() && runs[count].level <= 1) ++count;
  if (count == runs.size()) return {count, top_level};
  return {count, runs[count].level - 1};
}

// Starting with `count` runs, take the next one as long as it is not larger than what is gathered.
size_t Absorb(const std::vector<SortedRun>& runs, size_t count) {
  int64_t size = SizeOf(runs, count);
  while (count < runs.size() && size * (100 + kSizeRatioPercent) / 100 >= runs[count].size_bytes) {
    size += runs[count++].size_bytes;
  }
  return count;
}

bool HasRetractions(const ManifestEntry& entry) {
  return entry.file.delete_row_count.value_or(0) > 0;
}

// Old files that weigh more than all that came after them wait until as much has come. So a row is
// written again as often as its file doubles, and not with every few rounds.
void LeaveOutLarge(std::vector<ManifestEntry>* files) {
  int64_t newer = 0;
  for (const ManifestEntry& entry : *files) newer += entry.file.size_bytes;
  auto first = files->begin();
  for (; first != files->end(); ++first) {
    newer -= first->file.size_bytes;
    if (first->file.size_bytes <= newer) break;
  }
  files->erase(files->begin(), first);
}

ManifestEntry AsDelete(ManifestEntry entry) {
  entry.is_delete = true;
  return entry;
}

// The inputs go, and what was written from them comes.
void Replace(const BucketFiles& bucket, const std::vector<ManifestEntry>& inputs,
             const std::vector<DataFileMeta>& written, std::vector<ManifestEntry>* change) {
  CRASH_POINT("lake.compact.after-data");
  for (const ManifestEntry& entry : inputs) change->push_back(AsDelete(entry));
  for (const DataFileMeta& file : written) {
    change->push_back({false, bucket.partition, bucket.bucket, inputs.front().total_buckets, file});
  }
}

}  // namespace

int32_t TopLevel(const LakeSchema& schema) {
  const std::string text = schema.Option("num-levels");
  int32_t levels = kDefaultLevels;
  std::from_chars(text.data(), text.data() + text.size(), levels);
  return std::max(levels, 2) - 1;
}

std::vector<SortedRun> RunsOf(std::vector<ManifestEntry> files) {
  std::ranges::stable_sort(files, [](const ManifestEntry& a, const ManifestEntry& b) {
    if (a.file.level != b.file.level) return a.file.level < b.file.level;
    return a.file.level == 0 && a.file.max_sequence > b.file.max_sequence;
  });
  std::vector<SortedRun> runs;
  for (ManifestEntry& entry : files) {
    if (runs.empty() || entry.file.level == 0 || entry.file.level != runs.back().level) {
      runs.push_back({entry.file.level, 0, {}});
    }
    runs.back().size_bytes += entry.file.size_bytes;
    runs.back().files.push_back(std::move(entry));
  }
  return runs;
}

std::optional<CompactionPick> PickRuns(const std::vector<SortedRun>& runs, int32_t trigger,
                                       int32_t top_level) {
  const auto wanted = static_cast<size_t>(std::max(trigger, 2));
  if (runs.size() < wanted) return std::nullopt;
  top_level = std::max(top_level, runs.back().level);
  const int64_t newer = SizeOf(runs, runs.size() - 1);
  if (newer * 100 > kAmplificationPercent * runs.back().size_bytes)
    return CompactionPick{runs.size(), top_level};
  if (const size_t count = Absorb(runs, 1); count > 1) return PickFirst(runs, count, top_level);
  if (runs.size() == wanted) return std::nullopt;
  return PickFirst(runs, Absorb(runs, runs.size() - wanted + 1), top_level);
}

Result<std::string> Compactor::FolderOf(const BucketFiles& bucket) const {
  ASSIGN_OR_RAISE(const std::string folder, PartitionFolder(*write_.schema, bucket.partition));
  return write_.paths.Bucket(folder, bucket.bucket);
}

Result<std::vector<ManifestEntry>> Compactor::CompactKeyed(const BucketFiles& bucket,
                                                           const CompactOptions& options) {
  const std::vector<SortedRun> runs = RunsOf(bucket.files);
  const int32_t top_level = std::max(TopLevel(*write_.schema), runs.back().level);
  const auto pick = options.full ? std::optional(CompactionPick{runs.size(), top_level})
                                 : PickRuns(runs, options.files_min, top_level);
  std::vector<ManifestEntry> change;
  if (!pick.has_value()) return change;
  std::vector<ManifestEntry> chosen;
  for (size_t i = 0; i < pick->runs; ++i)
    std::ranges::copy(runs[i].files, std::back_inserter(chosen));
  // Below the output nothing older may be left that a dropped delete would bring back.
  const bool drop_deleted = pick->runs == runs.size();
  ASSIGN_OR_RAISE(auto sections, CutSections(*write_.schema, std::move(chosen)));
  const int64_t large = TargetFileBytes(*write_.schema) / 10 * 7;
  std::vector<ManifestEntry> pending;  // Neighbours to be rewritten together.
  const auto flush = [&]() -> Status {
    const std::vector<ManifestEntry> inputs = std::exchange(pending, {});
    if (inputs.empty()) return Status::OK();
    const bool alone = inputs.size() == 1 && !(drop_deleted && HasRetractions(inputs.front()));
    if (!alone) return RewriteKeyed(bucket, inputs, pick->output_level, drop_deleted, &change);
    if (inputs.front().file.level == pick->output_level) return Status::OK();
    // Nothing overlaps it: it moves up as it is, by name alone.
    change.push_back(AsDelete(inputs.front()));
    change.push_back(inputs.front());
    change.back().file.level = pick->output_level;
    return Status::OK();
  };
  for (std::vector<ManifestEntry>& section : sections) {
    const bool whole = section.size() == 1 && section.front().file.size_bytes >= large;
    if (whole) RETURN_NOT_OK(flush());
    std::ranges::move(section, std::back_inserter(pending));
    if (whole) RETURN_NOT_OK(flush());
  }
  RETURN_NOT_OK(flush());
  return change;
}

Status Compactor::RewriteKeyed(const BucketFiles& bucket, const std::vector<ManifestEntry>& inputs,
                               int32_t level, bool drop_deleted,
                               std::vector<ManifestEntry>* change) {
  ASSIGN_OR_RAISE(const std::string folder, FolderOf(bucket));
  const LakeSchema& schema = *write_.schema;
  std::vector<std::unique_ptr<FileRowsReader>> files;
  for (const ManifestEntry& entry : inputs) {
    ASSIGN_OR_RAISE(
        auto file, FileRowsReader::Open(read_, schema, schema.columns, entry, PathOf(entry, folder),
                                        /*with_keys=*/true, MergeReader::BatchOf(inputs.size())));
    files.push_back(std::move(file));
  }
  MergeReader merge(std::move(files), drop_deleted);
  DataFileWriter out(write_, {.folder = folder, .level = level, .source = 1});
  const std::vector<std::string> keys = schema.TrimmedPrimaryKey();
  while (true) {
    ASSIGN_OR_RAISE(auto rows, merge.Next());
    if (rows == nullptr) break;
    Columns values;
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      ASSIGN_OR_RAISE(auto column,
                      Conform(rows->columns[i], FileArrowType(*schema.columns[i].type)));
      values.push_back(std::move(column));
    }
    Columns columns;
    for (const std::string& key : keys)
      columns.push_back(values[static_cast<size_t>(schema.IndexOf(key))]);
    columns.push_back(std::make_shared<arrow::Int64Array>(
        rows->count, arrow::Buffer::FromVector(std::move(rows->sequences))));
    columns.push_back(std::make_shared<arrow::Int8Array>(
        rows->count, arrow::Buffer::FromVector(std::move(rows->kinds))));
    std::ranges::move(values, std::back_inserter(columns));
    RETURN_NOT_OK(out.Write(columns, rows->count));
  }
  ASSIGN_OR_RAISE(const auto written, out.Finish());
  Replace(bucket, inputs, written, change);
  return Status::OK();
}

Result<std::vector<ManifestEntry>> Compactor::CompactAppend(const BucketFiles& bucket,
                                                            const CompactOptions& options) {
  std::vector<ManifestEntry> files = bucket.files;
  std::ranges::stable_sort(files, {},
                           [](const ManifestEntry& entry) { return entry.file.min_sequence; });
  const int64_t target = TargetFileBytes(*write_.schema);
  std::vector<ManifestEntry> change, pack;
  int64_t bytes = 0;
  // A pack that is full gets no more files: what it leaves now it would leave for ever.
  const auto flush = [&](bool pack_is_full) -> Status {
    std::vector<ManifestEntry> inputs = std::exchange(pack, {});
    bytes = 0;
    const bool waits = !options.full && !pack_is_full;
    if (waits) LeaveOutLarge(&inputs);
    const auto inputs_min = static_cast<size_t>(std::max(waits ? options.files_min : 2, 2));
    if (inputs.size() < inputs_min) return Status::OK();
    return RewriteAppend(bucket, inputs, &change);
  };
  for (const ManifestEntry& entry : files) {
    const bool small = entry.file.size_bytes < target / 10 * 7;
    if (!small || bytes + entry.file.size_bytes > target) RETURN_NOT_OK(flush(true));
    if (!small) continue;
    pack.push_back(entry);
    bytes += entry.file.size_bytes;
  }
  RETURN_NOT_OK(flush(false));
  return change;
}

Status Compactor::RewriteAppend(const BucketFiles& bucket, const std::vector<ManifestEntry>& inputs,
                                std::vector<ManifestEntry>* change) {
  ASSIGN_OR_RAISE(const std::string folder, FolderOf(bucket));
  const LakeSchema& schema = *write_.schema;
  DataFileWriter out(write_, {.folder = folder,
                              .source = 1,
                              .first_sequence = inputs.front().file.min_sequence,
                              .one_file = true});
  for (const ManifestEntry& entry : inputs) {
    ASSIGN_OR_RAISE(const auto file, FileRowsReader::Open(read_, schema, schema.columns, entry,
                                                          PathOf(entry, folder),
                                                          /*with_keys=*/false, kRawBatch));
    while (true) {
      ASSIGN_OR_RAISE(const auto rows, file->Next());
      if (rows == nullptr) break;
      Columns columns;
      for (size_t i = 0; i < schema.columns.size(); ++i) {
        ASSIGN_OR_RAISE(auto column,
                        Conform(rows->columns[i], FileArrowType(*schema.columns[i].type)));
        columns.push_back(std::move(column));
      }
      RETURN_NOT_OK(out.Write(columns, rows->count));
    }
  }
  ASSIGN_OR_RAISE(const auto written, out.Finish());
  Replace(bucket, inputs, written, change);
  return Status::OK();
}

}  // namespace sluice::lake::paimon
