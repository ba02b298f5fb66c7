#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/time_zone.h"
#include "types/schema.h"

namespace sluice::coordinator {

/// Partitions by time as a table's `table.auto-partition.*` options describe them: which there are
/// to be, and which are over.
///
/// Format: values `yyyy`, `yyyyQ`, `yyyyMM`, `yyyyMMdd`, `yyyyMMddHH`, or as
/// `table.auto-partition.time-format` says, in the table's time zone. Periods are counted on the
/// calendar of that zone, hours on the clock. Source: AutoPartitionManager and PartitionUtils of
/// Java.
class AutoPartition {
 public:
  /// The options of a partitioned table, whether they are switched on or not.
  /// Errors: kInvalidConfig for a zone, kInvalidTable for a format or a key column that do not fit.
  static Result<AutoPartition> Of(const types::TableDescriptor& descriptor);

  bool enabled() const { return enabled_; }
  /// Place of its column among the partition columns.
  size_t key_index() const { return key_index_; }

  /// Value of the period that lies `periods` after that of an instant; nothing beyond the years 0
  /// to 9999.
  std::optional<std::string> ValueAt(int64_t now_ms, int64_t periods) const;
  /// Values to be there before rows come; at most `most`.
  std::vector<std::string> Wanted(int64_t now_ms, int64_t most) const;
  /// Partitions whose values sort before it are over; nothing = all are kept.
  std::optional<std::string> FirstKept(int64_t now_ms) const;
  /// Whether a partition of this value may be made now. Errors: kPartitionSpecInvalid.
  Status Check(const std::string& value, int64_t now_ms) const;

 private:
  enum class Unit { kYear, kQuarter, kMonth, kDay, kHour };
  Status CheckFormat() const;
  Status CheckColumn(const types::Column& column) const;
  bool Reads(std::string_view value) const;

  bool enabled_ = false;
  bool has_format_ = false;  // Given, not the unit's own.
  size_t key_index_ = 0;
  Unit unit_ = Unit::kDay;
  std::string format_;  // "yyyy", "Q", "MM", "dd", "HH" and characters for themselves.
  io::TimeZone zone_;
  int64_t precreate_ = 0;
  int64_t retention_ = 0;
};

}  // namespace sluice::coordinator
