#include "sql/table_source.h"

namespace sluice::sql {

std::string TableRef::ToString() const {
  std::string text = path.ToString();
  if (part != TablePart::kUnion) text += "$lake";
  if (part == TablePart::kLakeSnapshots) text += "$snapshots";
  if (part == TablePart::kLakeTiering) text += "$tiering";
  return text;
}

bool IsOvertaken(const Status& status) {
  switch (CodeOf(status)) {
    case ErrorCode::kLogOffsetOutOfRange:
    case ErrorCode::kLakeSnapshotNotExist:
    case ErrorCode::kPartitionNotExists:
      return true;
    default:
      return false;
  }
}

}  // namespace sluice::sql
