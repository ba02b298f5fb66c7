#pragma once
#include <string>
#include <vector>

#include "lake/paimon/manifest_store.h"
#include "lake/predicate.h"

namespace sluice::lake::paimon {

/// Tells by predicates which buckets, partitions and files of a table need not be read.
///
/// Every version of a key lies in one partition and one bucket, and in no file whose key range
/// leaves it out. So conditions on key and partition columns hold anywhere, below a merge too;
/// conditions on values only where rows are final: a file whose newer version of a row is skipped
/// would bring back the older one.
class Pruner {
 public:
  Pruner(SchemaStore& schemas, const LakeSchema& newest, const std::vector<Predicate>& predicates);

  bool empty() const { return predicates_.empty(); }
  /// Those that can rule anything out.
  const std::vector<Predicate>& predicates() const { return predicates_; }
  /// `partition`: serialized row.
  Result<bool> MayHoldPartition(const std::string& partition) const;
  /// `total_buckets` as the files say; -1 = rows are not placed by key.
  Result<bool> MayHoldBucket(int32_t bucket, int32_t total_buckets) const;
  /// By statistics of the key columns.
  Result<bool> MayHoldKeys(const ManifestEntry& entry) const;
  /// By statistics of all columns, for files whose rows are final.
  Result<bool> MayHoldRows(const ManifestEntry& entry) const;

  /// Conditions that hold below a merge.
  std::vector<Predicate> OnKeys() const;

 private:
  Result<bool> MayHold(const SimpleStats& stats, const std::vector<types::Column>& columns,
                       int64_t row_count) const;

  SchemaStore& schemas_;
  const LakeSchema& newest_;
  std::vector<Predicate> predicates_;
};

}  // namespace sluice::lake::paimon
