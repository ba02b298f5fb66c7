#pragma once
#include "coordinator/partition_rules.h"
#include "meta/catalog_state.h"
#include "types/ids.h"
#include "wire/bucket_id.h"
#include "wire/proto/common.pb.h"

namespace sluice::coordinator {

inline PartitionSpec SpecOf(const wire::PbPartitionSpec& spec) {
  PartitionSpec pairs;
  for (const wire::PbKeyValue& pair : spec.partition_key_values())
    pairs.emplace_back(pair.key(), pair.value());
  return pairs;
}

/// Bucket, in its table, of a message that has partition_id? and bucket_id.
template <typename Message>
meta::PartitionBucket PartitionBucketOf(const Message& message) {
  const types::BucketId id = wire::BucketIdOf(/*table_id=*/-1, message);
  return {.partition_id = id.partition_id, .bucket = id.bucket};
}

}  // namespace sluice::coordinator
