#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "lake/paimon/data_writer.h"
#include "lake/paimon/file_rows.h"
#include "lake/paimon/plan.h"

namespace sluice::lake::paimon {

/// A sorted run of a primary-key bucket: one file of level 0, or all of a higher level.
struct SortedRun {
  int32_t level = 0;
  int64_t size_bytes = 0;
  std::vector<ManifestEntry> files;
};

/// Runs of a bucket, newest first: level-0 files by falling sequence number, then the levels
/// upwards.
std::vector<SortedRun> RunsOf(std::vector<ManifestEntry> files);

struct CompactionPick {
  size_t runs;  ///< So many, from the newest.
  int32_t output_level;
};
/// What to merge next, by Paimon's rules (UniversalCompaction); `trigger` runs start it.
std::optional<CompactionPick> PickRuns(const std::vector<SortedRun>& runs, int32_t trigger,
                                       int32_t top_level);

/// The level of full compactions: `num-levels` - 1, by default 5.
int32_t TopLevel(const LakeSchema& schema);

/// Merges files of single buckets. The caller commits the entries: DELETE the inputs, ADD the
/// outputs.
class Compactor {
 public:
  Compactor(const WriteContext& write, const ReadContext& read) : write_(write), read_(read) {}
  /// Merge what is worth it in a primary-key bucket; no entries when nothing is.
  Result<std::vector<ManifestEntry>> CompactKeyed(const BucketFiles& bucket,
                                                  const CompactOptions& options);
  /// Join small files that follow each other in an append bucket: the newest when there are
  /// `files_min`, those before a large file or a full pack at once. Each rewrite makes one file.
  Result<std::vector<ManifestEntry>> CompactAppend(const BucketFiles& bucket,
                                                   const CompactOptions& options);

 private:
  Status RewriteKeyed(const BucketFiles& bucket, const std::vector<ManifestEntry>& inputs,
                      int32_t level, bool drop_deleted, std::vector<ManifestEntry>* change);
  Status RewriteAppend(const BucketFiles& bucket, const std::vector<ManifestEntry>& inputs,
                       std::vector<ManifestEntry>* change);
  Result<std::string> FolderOf(const BucketFiles& bucket) const;

  const WriteContext& write_;
  const ReadContext& read_;
};

}  // namespace sluice::lake::paimon
