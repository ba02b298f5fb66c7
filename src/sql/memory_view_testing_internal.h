#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

#include "sql/table_source.h"

namespace sluice::sql {

/// Values in the order of a table's columns.
using MemoryRow = std::vector<std::shared_ptr<arrow::Scalar>>;

/// Rows as a table that a statement reads. Its scans skip every row that their predicates let them
/// skip, so one that says more than its query changes an answer.
std::shared_ptr<TableView> MakeMemoryView(std::vector<SourceColumn> columns,
                                          std::vector<MemoryRow> rows);

}  // namespace sluice::sql
