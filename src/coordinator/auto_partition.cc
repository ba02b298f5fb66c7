#include "coordinator/auto_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "types/row.h"
#include "types/table_options.h"

namespace sluice::coordinator {

namespace {

constexpr std::string_view kUnits[] = {"YEAR", "QUARTER", "MONTH", "DAY", "HOUR"};
constexpr std::string_view kFormats[] = {"yyyy", "yyyyQ", "yyyyMM", "yyyyMMdd", "yyyyMMddHH"};
constexpr int64_t kHourMs = 3600 * 1000;
constexpr int kYearMax = 9999;

// A moment of some zone's wall clock.
struct Local {
  std::chrono::year_month_day date;
  int hour = 0;
};

Local LocalAt(const io::TimeZone& zone, int64_t utc_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> utc{std::chrono::milliseconds(utc_ms)};
  const auto local = std::chrono::floor<std::chrono::seconds>(utc) + zone.OffsetAt(utc_ms);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  return {day, static_cast<int>(std::chrono::floor<std::chrono::hours>(local - day).count())};
}

// The next field of a format, or one character that stands for itself.
std::string_view TakeField(std::string_view* format) {
  for (const std::string_view field : {"yyyy", "MM", "dd", "HH", "Q"}) {
    if (!format->starts_with(field)) continue;
    format->remove_prefix(field.size());
    return field;
  }
  const std::string_view one = format->substr(0, 1);
  format->remove_prefix(1);
  return one;
}

bool IsField(std::string_view part) { return part.size() > 1 || part == "Q"; }

int QuarterOf(std::chrono::month month) { return (static_cast<int>(unsigned(month)) + 2) / 3; }

std::string FieldText(std::string_view field, const Local& at) {
  if (field == "yyyy") return fmt::format("{:04}", int(at.date.year()));
  if (field == "Q") return std::to_string(QuarterOf(at.date.month()));
  if (field == "MM") return fmt::format("{:02}", unsigned(at.date.month()));
  if (field == "dd") return fmt::format("{:02}", unsigned(at.date.day()));
  if (field == "HH") return fmt::format("{:02}", at.hour);
  return std::string(field);
}

std::string Format(std::string_view format, const Local& at) {
  std::string text;
  while (!format.empty()) text += FieldText(TakeField(&format), at);
  return text;
}

}  // namespace

Result<AutoPartition> AutoPartition::Of(const types::TableDescriptor& descriptor) {
  CHECK(descriptor.partitioned());
  AutoPartition out;
  const types::AutoPartitionOptions options = types::AutoPartitionOf(descriptor);
  out.enabled_ = options.enabled;
  const auto& keys = descriptor.partition_keys;
  const auto key = std::ranges::find(keys, options.key);
  if (key != keys.end()) out.key_index_ = key - keys.begin();
  const auto found = std::ranges::find(kUnits, options.time_unit);
  CHECK(found != std::end(kUnits));  // The option's choices.
  out.unit_ = static_cast<Unit>(found - std::begin(kUnits));
  out.format_ = options.time_format;
  out.has_format_ = !out.format_.empty();
  if (!out.has_format_) out.format_ = kFormats[static_cast<size_t>(out.unit_)];
  const auto zone_found =
      options.time_zone.empty() ? io::TimeZone::OfMachine() : io::TimeZone::Find(options.time_zone);
  if (!zone_found.ok()) {
    return Error(ErrorCode::kInvalidConfig, "invalid table option table.auto-partition.time-zone: ",
                 zone_found.status().message());
  }
  out.zone_ = *zone_found;
  out.precreate_ = options.precreate;
  out.retention_ = options.retention;
  if (out.has_format_) RETURN_NOT_OK(out.CheckFormat());
  const types::Schema& schema = descriptor.schema;
  if (out.enabled_)
    RETURN_NOT_OK(out.CheckColumn(schema.columns[schema.IndexOf(keys[out.key_index_])]));
  return out;
}

// The fields of the unit's own format, in its order, and between them what a name may have.
Status AutoPartition::CheckFormat() const {
  std::string fields;
  bool named = true;
  for (std::string_view rest = format_; !rest.empty();) {
    const std::string_view part = TakeField(&rest);
    if (IsField(part)) {
      fields += part;
    } else {
      named = named && (part == "-" || part == "_");
    }
  }
  if (named && fields == kFormats[static_cast<size_t>(unit_)]) return Status::OK();
  return Error(ErrorCode::kInvalidTable, "does not have the fields ",
               kFormats[static_cast<size_t>(unit_)],
               " in this order and '-' or '_' between them "
               "option=table.auto-partition.time-format value=",
               format_);
}

// Rows find their partition by the text of their value, so the column must have such values.
Status AutoPartition::CheckColumn(const types::Column& column) const {
  const std::string sample =
      Format(format_, {std::chrono::sys_days(std::chrono::year(2026) / 11 / 30), 23});
  const auto value = types::PartitionValue(*column.type, sample);
  if (value.ok()) {
    const auto text = types::PartitionText(*column.type, **value, 0);
    if (text.ok() && *text == sample) return Status::OK();
  }
  return Error(ErrorCode::kInvalidTable, "partitions by time have values like ", sample,
               ", which a column of type ", column.type->ToString(),
               " does not, column=", column.name, " option=table.auto-partition.time-format");
}

std::optional<std::string> AutoPartition::ValueAt(int64_t now_ms, int64_t periods) const {
  // Far more than there are in the years that can be written.
  if (std::abs(periods) > int64_t{kYearMax} * 366 * 24) return std::nullopt;
  const int64_t hours = unit_ == Unit::kHour ? periods : 0;
  Local at = LocalAt(zone_, now_ms + hours * kHourMs);
  const std::chrono::year_month month{at.date.year(), at.date.month()};
  const auto count = static_cast<int>(periods);
  switch (unit_) {
    case Unit::kYear:
      if (std::abs(periods) > kYearMax) return std::nullopt;
      at.date = (month + std::chrono::years(count)) / 1;
      break;
    case Unit::kQuarter:
    case Unit::kMonth:
      if (std::abs(periods) > kYearMax * 12) return std::nullopt;
      at.date = (month + std::chrono::months(unit_ == Unit::kMonth ? count : 3 * count)) / 1;
      break;
    case Unit::kDay:
      if (std::abs(periods) > kYearMax * 366) return std::nullopt;
      at.date = std::chrono::sys_days(at.date) + std::chrono::days(count);
      break;
    case Unit::kHour:
      break;
  }
  const int year = static_cast<int>(at.date.year());
  if (year < 0 || year > kYearMax) return std::nullopt;
  return Format(format_, at);
}

std::vector<std::string> AutoPartition::Wanted(int64_t now_ms, int64_t most) const {
  std::vector<std::string> values;
  for (int64_t i = 0; i < std::min(precreate_, most); ++i) {
    auto value = ValueAt(now_ms, i);
    if (!value.has_value()) break;
    // An hour that the end of summer repeats is one partition.
    if (values.empty() || values.back() != *value) values.push_back(*std::move(value));
  }
  return values;
}

std::optional<std::string> AutoPartition::FirstKept(int64_t now_ms) const {
  return retention_ < 0 ? std::nullopt : ValueAt(now_ms, -retention_);
}

bool AutoPartition::Reads(std::string_view value) const {
  int year = 0;
  unsigned month = 1;
  unsigned day = 1;
  for (std::string_view rest = format_; !rest.empty();) {
    const std::string_view part = TakeField(&rest);
    const std::string_view text = value.substr(0, part.size());
    value.remove_prefix(text.size());
    if (!IsField(part)) {
      if (text != part) return false;
      continue;
    }
    unsigned number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || at != end || text.size() != part.size()) return false;
    if (part == "yyyy") year = static_cast<int>(number);
    if (part == "MM") month = number;
    if (part == "dd") day = number;
    if (part == "Q" && (number < 1 || number > 4)) return false;
    if (part == "HH" && number > 23) return false;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  return value.empty() && date.ok();
}

Status AutoPartition::Check(const std::string& value, int64_t now_ms) const {
  if (!enabled_ && !has_format_) return Status::OK();
  if (!Reads(value)) {
    return Error(ErrorCode::kPartitionSpecInvalid, "partition value is not a time of the format ",
                 format_, " value=", value);
  }
  const auto first = enabled_ ? FirstKept(now_ms) : std::nullopt;
  if (!first.has_value() || value >= *first) return Status::OK();
  return Error(ErrorCode::kPartitionSpecInvalid, "partition is over value=", value,
               " first_kept=", *first);
}

}  // namespace sluice::coordinator
