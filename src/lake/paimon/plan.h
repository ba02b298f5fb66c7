#pragma once
#include <memory>
#include <vector>

#include "lake/paimon/manifest_store.h"

namespace sluice::lake::paimon {

/// What LakeSplit::detail points to.
struct SplitDetail {
  std::vector<ManifestEntry> files;
  std::string folder;                 ///< Of the bucket.
  std::vector<Predicate> predicates;  ///< That hold for the files as they lie.
};

/// Files of one bucket of one partition.
struct BucketFiles {
  std::string partition;
  int32_t bucket = 0;
  std::vector<ManifestEntry> files;
};
/// Group files by (partition, bucket), in the order in which these first appear.
std::vector<BucketFiles> GroupByBucket(const LiveFiles& live);

/// Files of a primary-key bucket cut into sections whose key ranges do not touch, in key order;
/// within a section in order of their least key. Source: IntervalPartition.
Result<std::vector<std::vector<ManifestEntry>>> CutSections(const LakeSchema& schema,
                                                            std::vector<ManifestEntry> files);

/// Splits of one snapshot's files, as Java's split generators cut them: raw where files can be read
/// as they are. The splits of a primary-key bucket come in key order.
/// `files_skipped`: those that the predicates rule out.
Result<std::vector<LakeSplit>> MakeSplits(const TablePaths& paths, SchemaStore& schemas,
                                          const LakeSchema& newest, const LiveFiles& live,
                                          const PlanOptions& options, int64_t* files_skipped);

/// Whole path of a data file.
std::string PathOf(const ManifestEntry& entry, const std::string& folder);

}  // namespace sluice::lake::paimon
