#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/clock.h"
#include "io/file.h"
#include "io/random.h"
#include "lake/lake_table.h"

namespace sluice::lake {

/// One change of a lake table, as Fluss makes them.
struct LakeChange {
  enum class Kind { kAddColumn, kSetOption, kResetOption };
  Kind kind = Kind::kSetOption;
  types::Column column;  ///< kAddColumn: nullable; goes to the end, in front of the system columns.
  std::string key;       ///< Fluss property: "table.…", "paimon.…" or the user's own.
  std::string value;     ///< kSetOption.

  static LakeChange AddColumn(types::Column column);
  static LakeChange SetOption(std::string key, std::string value);
  static LakeChange ResetOption(std::string key);
};

struct LakeCatalogOptions {
  std::string format = "paimon";
  std::map<std::string, std::string>
      properties;  ///< `datalake.paimon.*` without that prefix: metastore, warehouse.
  io::FileSystem* files = nullptr;
  io::Clock* clock = nullptr;
  io::Random* random = nullptr;  ///< Called from any thread.
  /// False: the warehouse was made before, and its absence is an error.
  bool may_make_warehouse = true;
  /// True: only to read. The warehouse's folder must be there, whoever made it, and nothing is
  /// written into it to find out.
  bool read_only = false;
};

/// The catalog of a warehouse, as the coordinator (DDL), tiering and SQL use it.
///
/// Threads: any.
class LakeCatalog {
 public:
  /// Errors: kInvalidConfig naming the property: unknown format or metastore, no warehouse,
  /// warehouse that cannot be written, or is gone.
  static Result<std::unique_ptr<LakeCatalog>> Open(LakeCatalogOptions options);
  virtual ~LakeCatalog() = default;

  /// Check what the lake refuses in a table descriptor, without touching files.
  /// Errors: kInvalidConfig for options that only the system sets, kInvalidTable for system column
  /// names and types or keys that the lake cannot hold.
  virtual Status Validate(const types::TableDescriptor& descriptor) const = 0;

  enum class Taken { kCreated, kExisted };
  /// Create the lake table of a Fluss table, or take up an existing one that agrees with it and
  /// holds nothing. The bucket count must be set. Repeating it is harmless. The new table bears the
  /// time `made_ms` (none = now), by which RemoveMade tells it from another's. Errors: as Validate;
  /// kLakeTableAlreadyExist when a table is there that does not agree, or (`must_be_empty`) has a
  /// snapshot; names the path and the difference.
  virtual Result<Taken> CreateTable(const types::TablePath& path,
                                    const types::TableDescriptor& descriptor, bool must_be_empty,
                                    std::optional<int64_t> made_ms = std::nullopt) = 0;
  /// Apply changes as one new schema. A change that is already there is left out, so a half-done
  /// DDL can be repeated. Errors: kTableNotExist; kInvalidAlterTable; kInvalidConfig for options
  /// that may not change.
  virtual Status AlterTable(const types::TablePath& path,
                            const std::vector<LakeChange>& changes) = 0;
  /// Undo AlterTable with the same changes by one more schema, as the table had it before; nothing
  /// happens when it never had them. Rows that were written with them stay, without the columns.
  virtual Status TakeBackAlter(const types::TablePath& path,
                               const std::vector<LakeChange>& changes) = 0;
  /// Undo CreateTable with the same descriptor and time: remove the table that it made, unless
  /// that was changed since or has a snapshot. A table that was there before, or that another
  /// engine made, stays. True when no table is there.
  virtual Result<bool> RemoveMade(const types::TablePath& path,
                                  const types::TableDescriptor& descriptor, int64_t made_ms) = 0;

  virtual Result<bool> TableExists(const types::TablePath& path) = 0;
  /// Ok when the newest snapshot has no file of a partition, whatever rows are left in them;
  /// `values` are its texts in partition-key order. A table that is not there has none. Errors:
  /// kLakeTableAlreadyExist naming the partition and the lake table's path.
  virtual Status CheckPartitionEmpty(const types::TablePath& path,
                                     const std::vector<std::string>& values) = 0;
  /// Cheap: what is known of a table's files is shared with those opened before. The table may
  /// outlive the catalog. Errors: kTableNotExist.
  virtual Result<std::unique_ptr<LakeTable>> OpenTable(const types::TablePath& path) = 0;
  /// Give up what was kept for tables that nobody uses any more: pins of snapshots, unused for so
  /// long, and lists of files. To be called every few seconds, or after each use.
  virtual void Trim(std::chrono::nanoseconds pins_unused = std::chrono::seconds(10)) = 0;
  virtual Result<std::vector<std::string>> ListDatabases() = 0;
  virtual Result<std::vector<std::string>> ListTables(const std::string& database) = 0;
  virtual const std::string& warehouse() const = 0;
};

}  // namespace sluice::lake
