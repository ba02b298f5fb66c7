#pragma once
#include "coordinator/partition_rules.h"
#include "types/ids.h"
#include "wire/proto/common.pb.h"

namespace sluice::coordinator {

inline PartitionSpec SpecOf(const wire::PbPartitionSpec& spec) {
  PartitionSpec pairs;
  for (const wire::PbKeyValue& pair : spec.partition_key_values())
    pairs.emplace_back(pair.key(), pair.value());
  return pairs;
}

}  // namespace sluice::coordinator
