#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/arena.h"
#include "kv/row_check.h"
#include "types/row.h"
#include "types/schema.h"

namespace sluice::kv {

/// The columns of one schema id of a table and how its rows read as rows of the latest.
struct RowVersion {
  int32_t schema_id;
  std::shared_ptr<const types::Schema> schema;
  types::RowCodec codec;
  RowCheck check;           ///< For rows that clients send.
  std::vector<int> source;  ///< Per column of the latest schema its position here by column id, -1
                            ///< = not there yet.
};

/// Rows of every schema of one table, matched to the latest by column id.
///
/// Threads: one at a time (it remembers versions that it has looked up).
class RowVersions {
 public:
  using SchemaOf = std::function<Result<std::shared_ptr<const types::Schema>>(int32_t schema_id)>;

  RowVersions(types::RowFormat format, const types::TableInfo& table, SchemaOf schema_of);

  /// Errors: kSchemaNotExist for an id above the latest, or unknown.
  Result<const RowVersion*> Find(int32_t schema_id);
  const RowVersion& latest() const { return *latest_; }

  /// The columns of a row of `version`, as the latest schema has them, into `out`.
  void WidenParts(const RowVersion& version, std::span<const Part> parts,
                  std::span<Part> out) const;
  /// The row of a stored value in the latest schema: a view of the value, or a new row in `bytes`.
  Result<std::string_view> Widen(std::string_view stored_value, Arena* bytes);

 private:
  RowVersion Describe(int32_t schema_id, std::shared_ptr<const types::Schema> schema) const;

  const types::RowFormat format_;
  SchemaOf schema_of_;
  std::map<int32_t, std::unique_ptr<RowVersion>> versions_;
  const RowVersion* latest_;
};

/// Computes the stored keys of rows: the physical primary key in the table's key encoding.
class RowKeys {
 public:
  /// Errors: those of PlanKeys; kInvalidTable when the table has no primary key.
  static Result<RowKeys> Make(types::RowFormat format, const types::TableDescriptor& descriptor);

  /// Keys of rows that were taken apart into the columns of `schema`, their parts end to end.
  /// Errors: kCorruptRecord for a NULL in a key column, naming it.
  Result<std::vector<std::string>> KeysOf(const types::Schema& schema,
                                          std::span<const Part> parts) const;
  /// Keys of the rows at `rows` of a batch whose columns are those of `schema`, each handed to
  /// `take`, which is to copy it.
  Status EachKey(const types::Schema& schema, const arrow::RecordBatch& batch,
                 std::span<const int64_t> rows, const types::TakeBytes& take) const;

 private:
  RowKeys(std::vector<std::string> names, types::RowCodec codec, types::KeyEncoder encoder)
      : names_(std::move(names)), codec_(std::move(codec)), encoder_(std::move(encoder)) {}

  std::vector<std::string> names_;  // Physical primary key.
  types::RowCodec codec_;           // Rows of the key columns alone.
  types::KeyEncoder encoder_;
};

}  // namespace sluice::kv
