#pragma once
#include "types/data_type.h"

namespace sluice::types {

/// Values hold values of other types: no part of any key.
inline bool IsNested(const DataType& type) {
  return type.kind() == TypeKind::kArray || type.kind() == TypeKind::kMap ||
         type.kind() == TypeKind::kRow;
}

}  // namespace sluice::types
