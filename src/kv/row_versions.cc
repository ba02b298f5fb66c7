#include "kv/row_versions.h"

#include <arrow/record_batch.h>

#include <numeric>

#include "base/bytes.h"
#include "wire/kv_batch.h"

namespace sluice::kv {
namespace {

int PositionOfId(const types::Schema& schema, int32_t column_id) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].id == column_id) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

RowVersions::RowVersions(types::RowFormat format, const types::TableInfo& table, SchemaOf schema_of)
    : format_(format), schema_of_(std::move(schema_of)) {
  auto schema = std::make_shared<const types::Schema>(table.descriptor.schema);
  std::vector<int> same(schema->columns.size());
  std::iota(same.begin(), same.end(), 0);
  auto codec = types::RowCodec(format, TypesOf(schema->columns));
  RowCheck check(*schema, codec);
  auto version = std::make_unique<RowVersion>(RowVersion{
      table.schema_id, std::move(schema), std::move(codec), std::move(check), std::move(same)});
  latest_ = version.get();
  versions_.emplace(table.schema_id, std::move(version));
}

Result<const RowVersion*> RowVersions::Find(int32_t schema_id) {
  if (const auto at = versions_.find(schema_id); at != versions_.end()) return at->second.get();
  if (schema_id < 0 || schema_id > latest_->schema_id) {
    return Error(ErrorCode::kSchemaNotExist, "no such schema schema_id=", schema_id,
                 " latest=", latest_->schema_id);
  }
  ASSIGN_OR_RAISE(auto schema, schema_of_(schema_id));
  auto version = std::make_unique<RowVersion>(Describe(schema_id, std::move(schema)));
  return versions_.emplace(schema_id, std::move(version)).first->second.get();
}

RowVersion RowVersions::Describe(int32_t schema_id,
                                 std::shared_ptr<const types::Schema> schema) const {
  std::vector<int> source;
  for (const types::Column& column : latest_->schema->columns)
    source.push_back(PositionOfId(*schema, column.id));
  auto codec = types::RowCodec(format_, TypesOf(schema->columns));
  RowCheck check(*schema, codec);
  return RowVersion{schema_id, std::move(schema), std::move(codec), std::move(check),
                    std::move(source)};
}

void RowVersions::WidenParts(const RowVersion& version, std::span<const Part> parts,
                             std::span<Part> out) const {
  for (size_t i = 0; i < out.size(); ++i) {
    const int from = version.source[i];
    out[i] = from >= 0 ? parts[static_cast<size_t>(from)] : std::nullopt;
  }
}

Result<std::string_view> RowVersions::Widen(std::string_view stored_value, Arena* bytes) {
  ASSIGN_OR_RAISE(const wire::StoredValue stored, wire::ParseStoredValue(stored_value));
  ASSIGN_OR_RAISE(const RowVersion* version, Find(stored.schema_id));
  if (version == latest_) return stored.row;
  ASSIGN_OR_RAISE(const Parts own, version->codec.Split(stored.row));
  Parts parts(version->source.size());
  WidenParts(*version, own, parts);
  return bytes->Copy(latest_->codec.Join(parts));
}

Result<RowKeys> RowKeys::Make(types::RowFormat format, const types::TableDescriptor& descriptor) {
  ASSIGN_OR_RAISE(const types::KeyPlan plan, types::PlanKeys(descriptor));
  std::vector<std::string> names = plan.physical_primary_key;
  if (names.empty()) return Error(ErrorCode::kInvalidTable, "table has no primary key of its own");
  ASSIGN_OR_RAISE(const auto positions, descriptor.schema.IndexesOf(names));
  std::vector<types::DataTypePtr> key_types;
  for (const int position : positions) {
    key_types.push_back(descriptor.schema.columns[static_cast<size_t>(position)].type);
  }
  ASSIGN_OR_RAISE(auto encoder, types::KeyEncoder::Make(plan.primary_key_format, key_types,
                                                        /*null_allowed=*/false));
  return RowKeys(std::move(names), types::RowCodec(format, std::move(key_types)),
                 std::move(encoder));
}

Result<std::vector<std::string>> RowKeys::KeysOf(const types::Schema& schema,
                                                 std::span<const Part> parts) const {
  if (parts.empty()) return std::vector<std::string>();
  ASSIGN_OR_RAISE(const auto positions, schema.IndexesOf(names_));
  const size_t width = schema.columns.size();
  Parts key_parts;
  key_parts.reserve(parts.size() / width * positions.size());
  for (size_t row = 0; row < parts.size(); row += width) {
    for (size_t i = 0; i < positions.size(); ++i) {
      key_parts.push_back(parts[row + static_cast<size_t>(positions[i])]);
      if (!key_parts.back().has_value()) return Corrupt("key column is null column=", names_[i]);
    }
  }
  ASSIGN_OR_RAISE(const auto batch, codec_.DecodeParts(key_parts));
  std::vector<int> all(positions.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::string> keys;
  RETURN_NOT_OK(encoder_.Encode(*batch, all, &keys));
  return keys;
}

Status RowKeys::EachKey(const types::Schema& schema, const arrow::RecordBatch& batch,
                        std::span<const int64_t> rows, const types::TakeBytes& take) const {
  ASSIGN_OR_RAISE(const auto positions, schema.IndexesOf(names_));
  return encoder_.EncodeEach(batch, positions, rows, take);
}

}  // namespace sluice::kv
