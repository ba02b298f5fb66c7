#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace sluice::lake::paimon::avro {

/// An Avro schema. Logical types are kept as their base type: the caller knows what it reads.
///
/// Errors on parsing: kCorruptRecord for unknown types, types that contain themselves, nesting
/// beyond kDepthMax, more than kNodesMax types in it; both count each use of a named type.
struct Schema {
  enum class Kind {
    kNull,
    kBoolean,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kBytes,
    kString,
    kFixed,
    kEnum,
    kArray,
    kMap,
    kRecord,
    kUnion
  };
  struct Field {
    std::string name;
    std::shared_ptr<const Schema> schema;
  };
  static constexpr int kDepthMax = 32;
  static constexpr size_t kNodesMax = 10'000;

  Kind kind = Kind::kNull;
  size_t fixed_bytes = 0;            ///< kFixed.
  std::vector<std::string> symbols;  ///< kEnum.
  std::vector<Field> fields;         ///< kRecord.
  std::vector<std::shared_ptr<const Schema>>
      children;      ///< kArray, kMap: one; kUnion: its branches.
  int height = 1;    ///< Of the tree below it, this included.
  size_t nodes = 1;  ///< Types in that tree.

  static Result<std::shared_ptr<const Schema>> Parse(std::string_view json);
  /// Position of a record's field, -1 when there is none.
  int IndexOf(std::string_view name) const;
};

/// A datum. A union holds the value of its branch: monostate for null.
/// Integers and enums are int64, float and double are double, bytes, string and fixed are
/// std::string; arrays hold their items, records their fields in schema order, maps key and value
/// in turn.
struct Value {
  using List = std::vector<Value>;
  std::variant<std::monostate, bool, int64_t, double, std::string, List> datum;

  Value() = default;
  Value(int64_t value) : datum(value) {}  // NOLINT: implicit on purpose, rows read like literals
  Value(int32_t value) : datum(static_cast<int64_t>(value)) {}  // NOLINT
  Value(std::string value) : datum(std::move(value)) {}         // NOLINT
  Value(List value) : datum(std::move(value)) {}                // NOLINT

  bool is_null() const { return std::holds_alternative<std::monostate>(datum); }
  bool operator==(const Value&) const = default;
};

/// Append the encoding of `value`. Errors: kCorruptRecord when it does not fit the schema.
Status Encode(const Schema& schema, const Value& value, std::string* out);
/// Take one datum off the front of `in`. Errors: kCorruptRecord when the bytes end early or break
/// the format.
Result<Value> Decode(const Schema& schema, std::string_view* in);
/// The same; takes the values in it from `values_left`, of which there must be enough: values of no
/// bytes are not bounded by the input.
Result<Value> Decode(const Schema& schema, std::string_view* in, size_t* values_left);
/// A bound for a whole file: no real one has more values than bytes by far.
size_t ValuesMax(size_t size_bytes);

/// The content of an object container file.
struct Container {
  std::shared_ptr<const Schema> schema;
  std::vector<Value> values;
};

enum class Codec { kNull, kDeflate, kZstandard };

/// Read a whole container file. Errors: kCorruptRecord.
Result<Container> ReadContainer(std::string_view file);
/// Write a container file of one block. `sync_marker` are 16 arbitrary bytes that should differ
/// between files.
Result<std::string> WriteContainer(std::string_view schema_json, const std::vector<Value>& values,
                                   Codec codec, std::string_view sync_marker);

}  // namespace sluice::lake::paimon::avro
