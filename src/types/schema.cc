#include "types/schema.h"

#include <arrow/type.h>

#include <set>

#include "types/data_type_internal.h"

namespace sluice::types {

int Schema::IndexOf(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

Result<std::vector<int>> Schema::IndexesOf(const std::vector<std::string>& names) const {
  std::vector<int> indexes;
  for (const std::string& name : names) {
    const int index = IndexOf(name);
    if (index < 0) return Error(ErrorCode::kInvalidTable, "unknown column column=", name);
    indexes.push_back(index);
  }
  return indexes;
}

std::shared_ptr<arrow::Schema> Schema::ToArrow() const {
  arrow::FieldVector fields;
  for (const Column& column : columns) {
    fields.push_back(arrow::field(column.name, column.type->ToArrow(), column.type->nullable()));
  }
  return arrow::schema(std::move(fields));
}

namespace {

/// Hands out field ids in preorder and sees that none repeats.
class FieldIds {
 public:
  explicit FieldIds(int32_t next) : next_(next) {}

  int32_t highest() const { return next_ - 1; }
  const std::optional<int32_t>& repeated() const { return repeated_; }

  int32_t Take(int32_t present) {
    const int32_t id = present >= 0 ? present : next_++;
    next_ = std::max(next_, id + 1);
    if (!seen_.insert(id).second) repeated_ = id;
    return id;
  }

  /// `type` with ids in all its nested row fields.
  DataTypePtr Fill(const DataTypePtr& type) {
    std::vector<DataTypePtr> children;
    for (const DataTypePtr& child : DataTypeBuilder::ChildrenOf(*type))
      children.push_back(Fill(child));
    std::vector<RowField> fields = type->fields();
    for (RowField& field : fields) {
      field.field_id = Take(field.field_id);
      field.type = Fill(field.type);
    }
    return DataTypeBuilder(*type).Children(std::move(children)).Fields(std::move(fields)).Build();
  }

 private:
  int32_t next_;
  std::set<int32_t> seen_;
  std::optional<int32_t> repeated_;
};

int32_t HighestNestedId(const DataType& type) {
  int32_t highest = -1;
  for (const DataTypePtr& child : DataTypeBuilder::ChildrenOf(type))
    highest = std::max(highest, HighestNestedId(*child));
  for (const RowField& field : type.fields()) {
    highest = std::max({highest, field.field_id, HighestNestedId(*field.type)});
  }
  return highest;
}

}  // namespace

Status Schema::AssignIds() {
  const auto with_id =
      std::ranges::count_if(columns, [](const Column& column) { return column.id >= 0; });
  if (with_id != 0 && with_id != static_cast<int64_t>(columns.size())) {
    return Error(ErrorCode::kInvalidTable,
                 "some columns have an id and others not with_id=", with_id);
  }
  int32_t used = highest_field_id;
  if (with_id == 0) used = -1;
  for (const Column& column : columns)
    used = std::max({used, column.id, with_id == 0 ? -1 : HighestNestedId(*column.type)});
  FieldIds ids(used + 1);
  for (Column& column : columns) {
    column.id = ids.Take(column.id);
    column.type = ids.Fill(column.type);
  }
  if (ids.repeated())
    return Error(ErrorCode::kInvalidTable, "field id repeats id=", *ids.repeated());
  highest_field_id = std::max(highest_field_id, ids.highest());
  return Status::OK();
}

std::vector<std::string> TableDescriptor::PhysicalPrimaryKey() const {
  std::vector<std::string> key;
  for (const std::string& name : schema.primary_key) {
    if (std::ranges::find(partition_keys, name) == partition_keys.end()) key.push_back(name);
  }
  return key;
}

std::string TableDescriptor::Property(const std::string& key, const std::string& fallback) const {
  const auto found = properties.find(key);
  return found == properties.end() ? fallback : found->second;
}

std::string PartitionInfo::Name() const {
  std::string name;
  for (size_t i = 0; i < values.size(); ++i) name += (i == 0 ? "" : "$") + values[i];
  return name;
}

std::string NameProblem(std::string_view name, bool creating) {
  if (name.empty()) return "name is empty";
  if (name.size() > 200) return "name is longer than 200 characters";
  if (name == "." || name == "..") return "name is . or ..";
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!std::ranges::all_of(name, allowed))
    return "name has other characters than letters, digits, '_' and '-'";
  if (creating && name.starts_with("__")) return "name starts with __";
  return "";
}

}  // namespace sluice::types
