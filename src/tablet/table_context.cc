#include "tablet/table_context.h"

#include <arrow/type.h>

#include <algorithm>

#include "types/duration.h"
#include "types/table_options.h"

namespace sluice::tablet {
namespace {

Status Unreadable(const std::string& key, std::string_view value) {
  return Error(ErrorCode::kInvalidConfig, "table option cannot be read key=", key,
               " value=", value);
}

Result<wire::ArrowCompression> CompressionOf(const std::string& name) {
  if (name == "NONE") return wire::ArrowCompression::kNone;
  if (name == "LZ4_FRAME") return wire::ArrowCompression::kLz4Frame;
  if (name == "ZSTD") return wire::ArrowCompression::kZstd;
  return Unreadable("table.log.arrow.compression.type", name);
}

}  // namespace

Result<TableContextPtr> TableContext::Make(std::shared_ptr<const types::TableInfo> info,
                                           const TableSource& source) {
  std::shared_ptr<TableContext> context(new TableContext(std::move(info), source));
  ARROW_RETURN_NOT_OK(context->ReadOptions());
  return context;
}

Status TableContext::ReadOptions() {
  const types::TableDescriptor& table = info_->descriptor;
  log_format_ = types::LogFormatOf(table);
  lake_enabled_ = types::LakeEnabled(table);
  has_statistics_ = table.properties.contains(types::kStatisticsColumnsKey);
  ASSIGN_OR_RAISE(
      compression_,
      CompressionOf(types::UpperCase(table.Property("table.log.arrow.compression.type", "ZSTD"))));
  zstd_level_ = static_cast<int32_t>(
      types::IntegerOption(table, "table.log.arrow.compression.zstd.level", 3));
  ASSIGN_OR_RAISE(const int64_t ttl_ms,
                  types::ParseDurationMs(table.Property("table.log.ttl", "7 d")));
  log_ttl_ms_ = std::max<int64_t>(ttl_ms, 0);
  const std::string local_ttl = table.Property("table.log.local-ttl");
  local_ttl_ms_ = log_ttl_ms_;
  if (!local_ttl.empty()) {
    ASSIGN_OR_RAISE(const int64_t local_ms, types::ParseDurationMs(local_ttl));
    local_ttl_ms_ = std::max<int64_t>(local_ms, 0);
  }
  local_segments_ = static_cast<size_t>(
      std::max<int64_t>(types::IntegerOption(table, "table.log.tiered.local-segments", 2), 1));
  id_block_ = types::IntegerOption(table, "table.auto-increment.cache-size", 100'000);
  if (id_block_ <= 0) {
    return Unreadable("table.auto-increment.cache-size",
                      table.Property("table.auto-increment.cache-size"));
  }
  needs_new_keys_ = table.has_primary_key() && !table.Property("table.datalake.format").empty() &&
                    types::KvFormatVersion(table) == 2 && !table.bucket_keys.empty() &&
                    table.bucket_keys != table.PhysicalPrimaryKey();
  return Status::OK();
}

wire::LogBatchOptions TableContext::batch_options() const {
  wire::LogBatchOptions options;
  options.compression = compression_;
  options.zstd_level = zstd_level_;
  return options;
}

Result<TableContext::Schemas> TableContext::Find(int32_t schema_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = schemas_.find(schema_id);
  if (found != schemas_.end()) return found->second;
  Schemas schemas;
  ASSIGN_OR_RAISE(schemas.types, source_.SchemaOf(info_->table_id, schema_id));
  schemas.arrow = schemas.types->ToArrow();
  schemas_.emplace(schema_id, schemas);
  return schemas;
}

Result<std::shared_ptr<const types::Schema>> TableContext::SchemaOf(int32_t schema_id) const {
  ASSIGN_OR_RAISE(auto schemas, Find(schema_id));
  return schemas.types;
}

Result<std::shared_ptr<arrow::Schema>> TableContext::ArrowSchemaOf(int32_t schema_id) const {
  ASSIGN_OR_RAISE(auto schemas, Find(schema_id));
  return schemas.arrow;
}

Result<TableContextPtr> TableContexts::Get(int64_t table_id) {
  uint64_t news = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(table_id);
    if (found != contexts_.end()) return found->second;
    news = news_;
  }
  ASSIGN_OR_RAISE(auto info, source_.ById(table_id));
  ASSIGN_OR_RAISE(auto context, TableContext::Make(std::move(info), source_));
  const std::lock_guard lock(mutex_);
  // What was read before news of a table came may be of the time before; it serves this call alone.
  if (news == news_) contexts_[table_id] = context;
  return context;
}

void TableContexts::Forget(int64_t table_id) {
  const std::lock_guard lock(mutex_);
  ++news_;
  contexts_.erase(table_id);
}

}  // namespace sluice::tablet
