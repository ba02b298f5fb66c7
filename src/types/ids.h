#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

namespace sluice::types {

/// A table by name. Text form: "database.table".
struct TablePath {
  std::string database;
  std::string table;
  auto operator<=>(const TablePath&) const = default;
  std::string ToString() const { return database + "." + table; }
};

/// One bucket of a table or of a partition of it.
struct BucketId {
  int64_t table_id = -1;
  std::optional<int64_t> partition_id;
  int32_t bucket = 0;
  auto operator<=>(const BucketId&) const = default;
  /// "table_id=3 partition_id=7 bucket=0", as log lines and messages show it.
  std::string ToString() const;
};

inline std::ostream& operator<<(std::ostream& out, const TablePath& path) {
  return out << path.ToString();
}
inline std::ostream& operator<<(std::ostream& out, const BucketId& id) {
  return out << id.ToString();
}

}  // namespace sluice::types

template <>
struct std::hash<sluice::types::BucketId> {
  size_t operator()(const sluice::types::BucketId& id) const noexcept {
    uint64_t h = static_cast<uint64_t>(id.table_id) * 0x9e3779b97f4a7c15u;
    h ^= (static_cast<uint64_t>(id.partition_id.value_or(-1)) + 0x7f4a7c15u + (h << 6) + (h >> 2));
    h *= 0xbf58476d1ce4e5b9u;
    h ^= static_cast<uint64_t>(id.bucket) + (h >> 29);
    return h * 0x94d049bb133111ebu;
  }
};
