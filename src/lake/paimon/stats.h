#pragma once
#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include <memory>
#include <string>
#include <vector>

#include "lake/paimon/manifest.h"
#include "types/data_type.h"

namespace sluice::lake::paimon {

/// Least and greatest value and NULL count of one column, gathered over batches in file form.
class ColumnStats {
 public:
  explicit ColumnStats(types::DataTypePtr type) : type_(std::move(type)) {}

  void Update(const arrow::Array& array);
  int64_t null_count() const { return null_count_; }
  /// The least (greatest) value as a file-form array of length one, cut to `truncate` characters or
  /// bytes; NULL when there is none or the type has no order. Of a pair either both are known or
  /// none.
  Result<std::pair<std::shared_ptr<arrow::Array>, std::shared_ptr<arrow::Array>>> MinMax(
      size_t truncate) const;

 private:
  struct Bounds {
    int64_t min_integer = INT64_MAX, max_integer = INT64_MIN;
    double min_real = 0, max_real = 0;
    arrow::Decimal128 min_decimal, max_decimal;
    std::string min_bytes, max_bytes;
  };
  template <typename ArrayType>
  void UpdateIntegers(const arrow::Array& array);
  template <typename ArrayType>
  void UpdateReals(const arrow::Array& array);
  void UpdateDecimals(const arrow::Array& array);
  void UpdateBytes(const arrow::Array& array);

  types::DataTypePtr type_;
  int64_t null_count_ = 0;
  bool seen_ = false;
  bool unknown_ = false;  // A NaN, or a type without order.
  Bounds bounds_;
};

/// The stats of some columns together.
class StatsCollector {
 public:
  StatsCollector(std::vector<types::DataTypePtr> types, size_t truncate);
  void Update(const std::vector<std::shared_ptr<arrow::Array>>& columns);
  Result<SimpleStats> Finish() const;

 private:
  std::vector<types::DataTypePtr> types_;
  size_t truncate_;
  std::vector<ColumnStats> columns_;
};

// Bounds of texts cut to `size` characters (UTF-8) or bytes. The upper one grows at its last place
// so that it stays above the whole text; nullopt when that is impossible.
std::string TruncateDown(std::string_view text, size_t size, bool utf8);
std::optional<std::string> TruncateUp(std::string_view text, size_t size, bool utf8);

}  // namespace sluice::lake::paimon
