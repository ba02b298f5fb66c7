#include "sql/table_source.h"

namespace sluice::sql {

std::string TableRef::ToString() const {
  std::string text = path.ToString();
  if (part != TablePart::kUnion) text += "$lake";
  if (part == TablePart::kLakeSnapshots) text += "$snapshots";
  return text;
}

}  // namespace sluice::sql
