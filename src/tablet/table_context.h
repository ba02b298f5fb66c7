#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "tablet/table_source.h"
#include "types/schema.h"
#include "types/table_options.h"
#include "wire/log_batch.h"

namespace sluice::tablet {

/// A table as request handling needs it: its options read once, its schemas at hand.
///
/// Threads: any.
class TableContext {
 public:
  /// Errors: kInvalidConfig for an option that cannot be read (the coordinator checked them).
  static Result<std::shared_ptr<const TableContext>> Make(
      std::shared_ptr<const types::TableInfo> info, const TableSource& source);

  const types::TableInfo& info() const { return *info_; }
  bool has_primary_key() const { return info_->descriptor.has_primary_key(); }
  types::LogFormat log_format() const { return log_format_; }
  bool lake_enabled() const { return lake_enabled_; }
  int64_t log_ttl_ms() const { return log_ttl_ms_; }  ///< 0 = keep for ever.
  /// `table.log.local-ttl`, of what remote storage holds too; 0 = keep for ever.
  int64_t local_ttl_ms() const { return local_ttl_ms_; }
  /// `table.log.tiered.local-segments`: of these, the newest stay here also when they were copied.
  size_t local_segments() const { return local_segments_; }
  /// `table.statistics.columns` is set: batches may have magic 1.
  bool has_statistics() const { return has_statistics_; }
  /// `table.auto-increment.cache-size`: values that a bucket takes at once.
  int64_t id_block() const { return id_block_; }
  /// Clients must know how keys are encoded since version 1 of the key calls (Java's ApiKeys).
  bool needs_new_keys() const { return needs_new_keys_; }
  /// For changelog batches; schema, writer and sequence are the caller's.
  wire::LogBatchOptions batch_options() const;

  /// Errors: kSchemaNotExist.
  Result<std::shared_ptr<const types::Schema>> SchemaOf(int32_t schema_id) const;
  Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(int32_t schema_id) const;

 private:
  TableContext(std::shared_ptr<const types::TableInfo> info, const TableSource& source)
      : info_(std::move(info)), source_(source) {}
  Status ReadOptions();

  struct Schemas {
    std::shared_ptr<const types::Schema> types;
    std::shared_ptr<arrow::Schema> arrow;
  };
  Result<Schemas> Find(int32_t schema_id) const;

  const std::shared_ptr<const types::TableInfo> info_;
  const TableSource& source_;
  types::LogFormat log_format_ = types::LogFormat::kArrow;
  bool lake_enabled_ = false;
  bool has_statistics_ = false;
  bool needs_new_keys_ = false;
  int64_t log_ttl_ms_ = 0;
  int64_t local_ttl_ms_ = 0;
  size_t local_segments_ = 2;
  int64_t id_block_ = 0;
  wire::ArrowCompression compression_ = wire::ArrowCompression::kZstd;
  int32_t zstd_level_ = 3;
  mutable std::mutex mutex_;  // Guards the map only.
  mutable std::map<int32_t, Schemas> schemas_;
};
using TableContextPtr = std::shared_ptr<const TableContext>;

/// The contexts of all tables in use. Threads: any.
class TableContexts {
 public:
  explicit TableContexts(const TableSource& source) : source_(source) {}
  /// Errors: kTableNotExist.
  Result<TableContextPtr> Get(int64_t table_id);
  /// Read the table again at next use, after news of it or its end.
  void Forget(int64_t table_id);

 private:
  const TableSource& source_;
  std::mutex mutex_;  // Guards what follows.
  std::unordered_map<int64_t, TableContextPtr> contexts_;
  uint64_t news_ = 0;  // Counts calls of Forget.
};

}  // namespace sluice::tablet
