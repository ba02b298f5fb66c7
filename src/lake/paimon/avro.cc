#include "lake/paimon/avro.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace sluice::lake::paimon::avro {
namespace {

using Json = nlohmann::json;
using SchemaPtr = std::shared_ptr<const Schema>;
using Kind = Schema::Kind;

const std::map<std::string, Kind, std::less<>> kPrimitives = {
    {"null", Kind::kNull},   {"boolean", Kind::kBoolean}, {"int", Kind::kInt},
    {"long", Kind::kLong},   {"float", Kind::kFloat},     {"double", Kind::kDouble},
    {"bytes", Kind::kBytes}, {"string", Kind::kString}};

// Parses a schema document. A named type is known only behind its own end, so no type can contain
// itself.
class SchemaParser {
 public:
  Result<SchemaPtr> Parse(const Json& json, int depth) {
    if (depth > Schema::kDepthMax) return Corrupt("avro schema is nested too deeply");
    if (json.is_string()) return Named(json.get<std::string>());
    if (json.is_array()) return Union(json, depth);
    if (!json.is_object() || !json.contains("type")) return Corrupt("avro schema without a type");
    const Json& type = json["type"];
    if (!type.is_string()) return Parse(type, depth + 1);
    const std::string name = type.get<std::string>();
    if (name == "record") return Record(json, depth);
    if (name == "array") return Container(json, Kind::kArray, "items", depth);
    if (name == "map") return Container(json, Kind::kMap, "values", depth);
    if (name == "enum") return Enum(json);
    if (name == "fixed") return Fixed(json);
    return Named(name);
  }

 private:
  Result<SchemaPtr> Named(const std::string& name) {
    if (const auto at = kPrimitives.find(name); at != kPrimitives.end()) {
      auto schema = std::make_shared<Schema>();
      schema->kind = at->second;
      return schema;
    }
    const auto known = named_.find(ShortName(name));
    if (known == named_.end()) return Corrupt("avro schema names an unknown type=", name);
    return known->second;
  }

  Result<SchemaPtr> Union(const Json& json, int depth) {
    auto schema = std::make_shared<Schema>();
    schema->kind = Kind::kUnion;
    for (const Json& branch : json) {
      ASSIGN_OR_RAISE(auto child, Parse(branch, depth + 1));
      RETURN_NOT_OK(Hold(schema.get(), *child));
      schema->children.push_back(std::move(child));
    }
    return schema;
  }

  // A named type counts where it is used: its text is there once, its values each time.
  static Status Hold(Schema* schema, const Schema& child) {
    schema->height = std::max(schema->height, child.height + 1);
    schema->nodes += child.nodes;
    if (schema->height > Schema::kDepthMax) return Corrupt("avro schema is nested too deeply");
    if (schema->nodes > Schema::kNodesMax) return Corrupt("avro schema has too many types");
    return Status::OK();
  }

  Result<SchemaPtr> Record(const Json& json, int depth) {
    auto schema = std::make_shared<Schema>();
    schema->kind = Kind::kRecord;
    if (!json.contains("fields") || !json["fields"].is_array())
      return Corrupt("avro record without fields");
    for (const Json& field : json["fields"]) {
      if (!field.is_object() || !field.contains("type") || !field.contains("name") ||
          !field["name"].is_string()) {
        return Corrupt("avro record field without name or type");
      }
      ASSIGN_OR_RAISE(auto child, Parse(field["type"], depth + 1));
      RETURN_NOT_OK(Hold(schema.get(), *child));
      schema->fields.push_back({field["name"].get<std::string>(), std::move(child)});
    }
    return Remember(json, std::move(schema));
  }

  Result<SchemaPtr> Container(const Json& json, Kind kind, const char* key, int depth) {
    auto schema = std::make_shared<Schema>();
    schema->kind = kind;
    if (!json.contains(key)) return Corrupt("avro collection without ", key);
    ASSIGN_OR_RAISE(auto child, Parse(json[key], depth + 1));
    RETURN_NOT_OK(Hold(schema.get(), *child));
    schema->children.push_back(std::move(child));
    return schema;
  }

  Result<SchemaPtr> Enum(const Json& json) {
    auto schema = std::make_shared<Schema>();
    schema->kind = Kind::kEnum;
    if (!json.contains("symbols") || !json["symbols"].is_array())
      return Corrupt("avro enum without symbols");
    for (const Json& symbol : json["symbols"])
      schema->symbols.push_back(symbol.is_string() ? symbol.get<std::string>() : "");
    return Remember(json, std::move(schema));
  }

  Result<SchemaPtr> Fixed(const Json& json) {
    auto schema = std::make_shared<Schema>();
    schema->kind = Kind::kFixed;
    if (!json.contains("size") || !json["size"].is_number_unsigned())
      return Corrupt("avro fixed without a size");
    schema->fixed_bytes = json["size"].get<size_t>();
    return Remember(json, std::move(schema));
  }

  SchemaPtr Remember(const Json& json, SchemaPtr schema) {
    if (json.contains("name") && json["name"].is_string())
      named_[ShortName(json["name"].get<std::string>())] = schema;
    return schema;
  }

  static std::string ShortName(const std::string& name) { return name.substr(name.rfind('.') + 1); }

  std::map<std::string, SchemaPtr> named_;
};

void AppendZigzag(std::string* out, int64_t value) {
  AppendVarint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

Result<int64_t> TakeZigzag(std::string_view* in) {
  uint64_t raw;
  if (!TakeVarint(in, &raw)) return Corrupt("avro number ends early");
  return static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
}

Result<std::string_view> TakeBytes(std::string_view* in, size_t size) {
  if (size > in->size()) return Corrupt("avro bytes end early, size_bytes=", size);
  const std::string_view taken = in->substr(0, size);
  in->remove_prefix(size);
  return taken;
}

Result<std::string_view> TakeSized(std::string_view* in) {
  ASSIGN_OR_RAISE(const int64_t size, TakeZigzag(in));
  if (size < 0) return Corrupt("avro bytes of negative size");
  return TakeBytes(in, static_cast<size_t>(size));
}

constexpr int64_t kItemsMax = int64_t{1} << 26;

// The item count of the next block of an array or map; 0 ends it.
Result<int64_t> TakeBlockCount(std::string_view* in, int64_t so_far) {
  ASSIGN_OR_RAISE(int64_t count, TakeZigzag(in));
  if (count <
      0) {  // A negative count is followed by the block's size in bytes, which we do not need.
    if (count < -kItemsMax) return Corrupt("avro block has too many items");
    count = -count;
    RETURN_NOT_OK(TakeZigzag(in));
  }
  if (count > kItemsMax - so_far) return Corrupt("avro block has too many items");
  return count;
}

Status DoesNotFit(const char* what) {
  return Corrupt("value does not fit the avro schema, wanted=", what);
}

Status EncodeList(const Schema& schema, const Value::List& items, std::string* out) {
  const bool map = schema.kind == Kind::kMap;
  if (map && items.size() % 2 != 0) return DoesNotFit("map");
  if (!items.empty())
    AppendZigzag(out, static_cast<int64_t>(map ? items.size() / 2 : items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    if (map && i % 2 == 0) {
      const auto* key = std::get_if<std::string>(&items[i].datum);
      if (key == nullptr) return DoesNotFit("map key");
      AppendZigzag(out, static_cast<int64_t>(key->size()));
      out->append(*key);
      continue;
    }
    RETURN_NOT_OK(Encode(*schema.children[0], items[i], out));
  }
  AppendZigzag(out, 0);
  return Status::OK();
}

Status EncodeUnion(const Schema& schema, const Value& value, std::string* out) {
  // The first branch that the value fits. Our unions are [null, T], so this is exact.
  for (size_t i = 0; i < schema.children.size(); ++i) {
    if ((schema.children[i]->kind == Kind::kNull) != value.is_null()) continue;
    AppendZigzag(out, static_cast<int64_t>(i));
    return Encode(*schema.children[i], value, out);
  }
  return DoesNotFit("union");
}

Status EncodeRecord(const Schema& schema, const Value& value, std::string* out) {
  const auto* fields = std::get_if<Value::List>(&value.datum);
  if (fields == nullptr || fields->size() != schema.fields.size()) return DoesNotFit("record");
  for (size_t i = 0; i < fields->size(); ++i)
    RETURN_NOT_OK(Encode(*schema.fields[i].schema, (*fields)[i], out));
  return Status::OK();
}

Result<Value> DecodeList(const Schema& schema, std::string_view* in, size_t* values_left) {
  Value::List items;
  int64_t seen = 0;
  while (true) {
    ASSIGN_OR_RAISE(const int64_t count, TakeBlockCount(in, seen));
    if (count == 0) return Value(std::move(items));
    seen += count;
    for (int64_t i = 0; i < count; ++i) {
      if (schema.kind == Kind::kMap) {
        ASSIGN_OR_RAISE(const std::string_view key, TakeSized(in));
        items.emplace_back(std::string(key));
      }
      ASSIGN_OR_RAISE(Value item, Decode(*schema.children[0], in, values_left));
      items.push_back(std::move(item));
    }
  }
}

Result<Value> DecodeRecord(const Schema& schema, std::string_view* in, size_t* values_left) {
  Value::List fields;
  fields.reserve(schema.fields.size());
  for (const Schema::Field& field : schema.fields) {
    ASSIGN_OR_RAISE(Value value, Decode(*field.schema, in, values_left));
    fields.push_back(std::move(value));
  }
  return Value(std::move(fields));
}

Result<Value> DecodeUnion(const Schema& schema, std::string_view* in, size_t* values_left) {
  ASSIGN_OR_RAISE(const int64_t branch, TakeZigzag(in));
  if (branch < 0 || branch >= static_cast<int64_t>(schema.children.size())) {
    return Corrupt("avro union has no branch=", branch);
  }
  return Decode(*schema.children[static_cast<size_t>(branch)], in, values_left);
}

template <typename T>
Result<Value> DecodeFloating(std::string_view* in) {
  ASSIGN_OR_RAISE(const std::string_view raw, TakeBytes(in, sizeof(T)));
  Value value;
  value.datum = static_cast<double>(LoadLe<T>(raw.data()));
  return value;
}

}  // namespace

Result<SchemaPtr> Schema::Parse(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Corrupt("avro schema is not json");
  return SchemaParser().Parse(document, 0);
}

int Schema::IndexOf(std::string_view name) const {
  const auto at = std::ranges::find(fields, name, &Field::name);
  return at == fields.end() ? -1 : static_cast<int>(at - fields.begin());
}

Status Encode(const Schema& schema, const Value& value, std::string* out) {
  switch (schema.kind) {
    case Kind::kNull:
      return value.is_null() ? Status::OK() : DoesNotFit("null");
    case Kind::kBoolean: {
      const auto* flag = std::get_if<bool>(&value.datum);
      if (flag == nullptr) return DoesNotFit("boolean");
      out->push_back(*flag ? 1 : 0);
      return Status::OK();
    }
    case Kind::kInt:
    case Kind::kLong:
    case Kind::kEnum: {
      const auto* number = std::get_if<int64_t>(&value.datum);
      if (number == nullptr) return DoesNotFit("integer");
      if (schema.kind != Kind::kLong && *number != static_cast<int32_t>(*number))
        return DoesNotFit("int");
      AppendZigzag(out, *number);
      return Status::OK();
    }
    case Kind::kFloat:
    case Kind::kDouble: {
      const auto* number = std::get_if<double>(&value.datum);
      if (number == nullptr) return DoesNotFit("floating point");
      if (schema.kind == Kind::kFloat) {
        AppendLe(out, static_cast<float>(*number));
      } else {
        AppendLe(out, *number);
      }
      return Status::OK();
    }
    case Kind::kBytes:
    case Kind::kString:
    case Kind::kFixed: {
      const auto* bytes = std::get_if<std::string>(&value.datum);
      if (bytes == nullptr) return DoesNotFit("bytes");
      if (schema.kind == Kind::kFixed && bytes->size() != schema.fixed_bytes)
        return DoesNotFit("fixed");
      if (schema.kind != Kind::kFixed) AppendZigzag(out, static_cast<int64_t>(bytes->size()));
      out->append(*bytes);
      return Status::OK();
    }
    case Kind::kArray:
    case Kind::kMap: {
      const auto* items = std::get_if<Value::List>(&value.datum);
      return items == nullptr ? DoesNotFit("list") : EncodeList(schema, *items, out);
    }
    case Kind::kRecord:
      return EncodeRecord(schema, value, out);
    case Kind::kUnion:
      return EncodeUnion(schema, value, out);
  }
  return DoesNotFit("known kind");
}

size_t ValuesMax(size_t size_bytes) {
  constexpr size_t kValuesPerByte = 8;
  constexpr size_t kValuesMin = 1 << 16;
  return kValuesMin + kValuesPerByte * size_bytes;
}

Result<Value> Decode(const Schema& schema, std::string_view* in) {
  size_t values_left = ValuesMax(in->size());
  return Decode(schema, in, &values_left);
}

Result<Value> Decode(const Schema& schema, std::string_view* in, size_t* values_left) {
  if (*values_left == 0) return Corrupt("avro data has too many values");
  --*values_left;
  switch (schema.kind) {
    case Kind::kNull:
      return Value();
    case Kind::kBoolean: {
      ASSIGN_OR_RAISE(const std::string_view raw, TakeBytes(in, 1));
      if (raw[0] != 0 && raw[0] != 1) return Corrupt("avro boolean is neither 0 nor 1");
      Value value;
      value.datum = raw[0] == 1;
      return value;
    }
    case Kind::kInt:
    case Kind::kLong:
    case Kind::kEnum: {
      ASSIGN_OR_RAISE(const int64_t number, TakeZigzag(in));
      if (schema.kind != Kind::kLong && number != static_cast<int32_t>(number))
        return Corrupt("avro int is too large");
      return Value(number);
    }
    case Kind::kFloat:
      return DecodeFloating<float>(in);
    case Kind::kDouble:
      return DecodeFloating<double>(in);
    case Kind::kBytes:
    case Kind::kString: {
      ASSIGN_OR_RAISE(const std::string_view bytes, TakeSized(in));
      return Value(std::string(bytes));
    }
    case Kind::kFixed: {
      ASSIGN_OR_RAISE(const std::string_view bytes, TakeBytes(in, schema.fixed_bytes));
      return Value(std::string(bytes));
    }
    case Kind::kArray:
    case Kind::kMap:
      return DecodeList(schema, in, values_left);
    case Kind::kRecord:
      return DecodeRecord(schema, in, values_left);
    case Kind::kUnion:
      return DecodeUnion(schema, in, values_left);
  }
  return Corrupt("avro schema of unknown kind");
}

}  // namespace sluice::lake::paimon::avro
