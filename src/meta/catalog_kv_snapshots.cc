#include <algorithm>

#include "base/check.h"
#include "meta/catalog.h"
#include "meta/nodes_internal.h"

namespace sluice::meta {

Status Catalog::RecordKvSnapshot(const types::BucketId& bucket,
                                 std::optional<KvSnapshotEntry> added,
                                 const std::set<int64_t>& forgotten) {
  CatalogState next = Next();
  RETURN_NOT_OK(next.Bucket(bucket));
  const std::string assignment = bucket.partition_id
                                     ? nodes::PartitionAssignment(*bucket.partition_id)
                                     : nodes::TableAssignment(bucket.table_id);
  const auto* known = next.kv_snapshots.Find(bucket);
  auto list = std::make_shared<KvSnapshotList>(known == nullptr ? KvSnapshotList() : **known);
  std::vector<MetaStore::Op> ops;
  if (added) {
    if (!list->empty() && added->snapshot_id <= list->back().snapshot_id) {
      return Error(ErrorCode::kInvalidUpdateVersion,
                   "a newer kv snapshot is recorded snapshot_id=", added->snapshot_id,
                   " newest=", list->back().snapshot_id, " ", bucket);
    }
    ops.push_back(
        MetaStore::Create(nodes::KvSnapshot(assignment, bucket.bucket, added->snapshot_id),
                          nodes::WriteKvSnapshot(*added)));
    list->push_back(*std::move(added));
  }
  if (list->empty()) return Status::OK();
  CHECK(!forgotten.contains(list->back().snapshot_id));
  std::erase_if(*list, [&](const KvSnapshotEntry& one) {
    if (!forgotten.contains(one.snapshot_id)) return false;
    ops.push_back(MetaStore::Delete(nodes::KvSnapshot(assignment, bucket.bucket, one.snapshot_id)));
    return true;
  });
  if (ops.empty()) return Status::OK();
  next.kv_snapshots.Set(bucket, std::move(list));
  return Commit(std::move(ops), std::move(next));
}

}  // namespace sluice::meta
