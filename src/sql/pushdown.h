#pragma once
#include <optional>

#include "sql/bound.h"
#include "sql/table_source.h"

namespace sluice::sql {

/// The column that a simple condition (comparison with constants, IN, null test) is about; null for
/// any other.
const Bound* PushedColumn(const Bound& condition);

/// Such a condition for a scan of `column`, when its constants are values of the column's type.
std::optional<Predicate> MakePredicate(const Bound& condition, const SourceColumn& column);

}  // namespace sluice::sql
