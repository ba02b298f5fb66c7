#pragma once
#include "types/ids.h"

namespace sluice::wire {

/// Id of a message that has partition_id? and bucket_id.
template <typename Message>
types::BucketId BucketIdOf(int64_t table_id, const Message& message) {
  types::BucketId id{.table_id = table_id, .bucket = message.bucket_id()};
  if (message.has_partition_id()) id.partition_id = message.partition_id();
  return id;
}

template <typename Message>
void SetBucket(const types::BucketId& id, Message* message) {
  if (id.partition_id) message->set_partition_id(*id.partition_id);
  message->set_bucket_id(id.bucket);
}

}  // namespace sluice::wire
