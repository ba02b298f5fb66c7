#pragma once
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "types/schema.h"

namespace sluice::tablet {

/// Where the tablet server learns what a table looks like. In one process: the catalog.
///
/// Threads: any.
class TableSource {
 public:
  virtual ~TableSource() = default;
  /// The table with its latest schema and properties. Errors: kTableNotExist.
  virtual Result<std::shared_ptr<const types::TableInfo>> ById(int64_t table_id) const = 0;
  /// One version of its schema. Errors: kSchemaNotExist.
  virtual Result<std::shared_ptr<const types::Schema>> SchemaOf(int64_t table_id,
                                                                int32_t schema_id) const = 0;
  /// Whether the lake has rows of the table, or may have.
  virtual bool InLake(int64_t table_id) const = 0;
};

}  // namespace sluice::tablet
