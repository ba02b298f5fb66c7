#include "types/ids.h"

namespace sluice::types {

std::string BucketId::ToString() const {
  std::string text = "table_id=" + std::to_string(table_id);
  if (partition_id) text += " partition_id=" + std::to_string(*partition_id);
  return text + " bucket=" + std::to_string(bucket);
}

}  // namespace sluice::types
