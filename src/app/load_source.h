#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "app/load_options.h"
#include "types/schema.h"

namespace sluice::app {

/// Rows of one file as columns of a table.
///
/// Columns are matched by name. Columns that the file lacks are NULL; those that the table lacks
/// are an error unless the options leave them out.
class LoadSource {
 public:
  virtual ~LoadSource() = default;
  /// Errors: kInvalidTable naming the file and the column that does not fit.
  static Result<std::unique_ptr<LoadSource>> Open(const std::string& path,
                                                  const std::vector<types::Column>& columns,
                                                  const LoadOptions& options);

  /// The next rows with all the columns, in order and Arrow type; null at the end.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  /// Part of the file that has been read, 0 to 1.
  virtual double fraction() const = 0;
};

/// Names of the columns of a file.
Result<std::vector<std::string>> ColumnNamesOf(const std::string& path, const LoadOptions& options);

}  // namespace sluice::app
