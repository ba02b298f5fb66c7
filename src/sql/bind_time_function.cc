#include <algorithm>

#include "base/text.h"
#include "sql/binder_internal.h"
#include "sql/java_text.h"

namespace sluice::sql {

namespace {

bool IsDateOrTimestamp(const SqlType& type) {
  return type.kind == SqlKind::kDate || type.is_timestamp();
}

struct Part {
  std::string_view unit;
  std::string_view text;  // Over a TIMESTAMP.
};
constexpr Part kParts[] = {
    {"YEAR", "year($1)"},
    {"ISOYEAR", "isoyear($1)"},
    {"QUARTER", "quarter($1)"},
    {"MONTH", "month($1)"},
    {"WEEK", "week($1)"},
    {"DAY", "day($1)"},
    {"DOY", "dayofyear($1)"},
    {"DOW", "(dayofweek($1) + 1)"},  // Sunday = 1.
    {"ISODOW", "isodow($1)"},
    {"HOUR", "hour($1)"},
    {"MINUTE", "minute($1)"},
    {"SECOND", "second($1)"},
    {"MILLISECOND", "(millisecond($1) % 1000)"},
    {"MICROSECOND", "(microsecond($1) % 1000000)"},
    {"NANOSECOND", "(microsecond($1) % 1000000 * 1000)"},
    {"EPOCH", "CAST(floor(epoch($1)) AS BIGINT)"},
    {"DECADE", "decade($1)"},
    {"CENTURY", "century($1)"},
    {"MILLENNIUM", "millennium($1)"},
};

// Functions that are EXTRACT of one unit.
constexpr std::pair<std::string_view, std::string_view> kExtractors[] = {
    {"YEAR", "YEAR"},     {"QUARTER", "QUARTER"}, {"MONTH", "MONTH"},   {"WEEK", "WEEK"},
    {"DAYOFYEAR", "DOY"}, {"DAYOFMONTH", "DAY"},  {"DAYOFWEEK", "DOW"}, {"HOUR", "HOUR"},
    {"MINUTE", "MINUTE"}, {"SECOND", "SECOND"},
};

constexpr std::string_view kDefaultPattern = "yyyy-MM-dd HH:mm:ss";

Status BadTimeArguments(const ast::Expr& call) {
  return InvalidAt(call.at, "function does not take these arguments, name=", call.name);
}

}  // namespace

Result<BoundPtr> Binder::Impl::Extract(const std::string& unit, BoundPtr time, Position at) {
  if (time->type.is_text())
    return InvalidAt(at, "EXTRACT needs a date or time, type=", time->type.ToString());
  if (time->type.kind == SqlKind::kIntervalSecond || time->type.kind == SqlKind::kIntervalMonth) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, at,
                   "EXTRACT of an INTERVAL is not supported yet");
  }
  const auto part = std::ranges::find(kParts, unit, &Part::unit);
  if (part == std::end(kParts)) return InvalidAt(at, "EXTRACT has no such unit, unit=", unit);
  if (time->type.kind == SqlKind::kTime) {
    ASSIGN_OR_RAISE(time, Widen(std::move(time), SqlType::Timestamp(6, time->type.nullable), at));
  } else if (IsDateOrTimestamp(time->type)) {
    ASSIGN_OR_RAISE(time, Widen(std::move(time), SqlType::Timestamp(6, time->type.nullable), at));
  } else {
    return InvalidAt(at, "EXTRACT needs a date or time, type=", time->type.ToString());
  }
  return MakeCall("EXTRACT", SqlType::Of(SqlKind::kBigInt),
                  "CAST(" + std::string(part->text) + " AS BIGINT)", {std::move(time)});
}

// FLOOR(t TO unit), CEIL(t TO unit): weeks begin on Sunday.
Result<BoundPtr> Binder::Impl::FloorTo(const ast::Expr& call, BoundPtr time) {
  if (!IsDateOrTimestamp(time->type))
    return InvalidAt(call.at, call.name,
                     " needs a date or timestamp, type=", time->type.ToString());
  const SqlType type = time->type;
  const std::string unit = LowerCase(call.text);
  constexpr std::string_view kUnits[] = {"year",        "quarter", "month",   "week",
                                         "day",         "hour",    "minute",  "second",
                                         "millisecond", "decade",  "century", "millennium"};
  if (std::ranges::find(kUnits, unit) == std::end(kUnits))
    return InvalidAt(call.at, call.name, " has no such unit, unit=", call.text);
  ASSIGN_OR_RAISE(BoundPtr at,
                  Widen(std::move(time), SqlType::Timestamp(6, type.nullable), call.at));
  const std::string floor = unit == "week"
                                ? "(date_trunc('week', $1 + INTERVAL 1 DAY) - INTERVAL 1 DAY)"
                                : "CAST(date_trunc('" + unit + "', $1) AS TIMESTAMP)";
  const std::string step = unit == "quarter" ? "3 MONTH" : "1 " + unit;
  const std::string text = call.name == "FLOOR TO" ? floor
                                                   : "CASE WHEN " + floor + " = $1 THEN $1 ELSE " +
                                                         floor + " + INTERVAL " + step + " END";
  BoundPtr bound = MakeCall(call.name, SqlType::Timestamp(6), text, {std::move(at)});
  return Widen(std::move(bound), type.WithNullable(bound->type.nullable), call.at);
}

// Whole units between two times.
Result<BoundPtr> Binder::Impl::TimestampDiff(const ast::Expr& call, std::vector<BoundPtr>& args) {
  for (BoundPtr& arg : args) {
    if (!IsDateOrTimestamp(arg->type) && !arg->is_null_literal()) {
      return InvalidAt(call.at,
                       "TIMESTAMPDIFF needs dates or timestamps, type=", arg->type.ToString());
    }
    ASSIGN_OR_RAISE(arg, Widen(std::move(arg), SqlType::Timestamp(6, arg->type.nullable), call.at));
  }
  return MakeCall(call.name, SqlType::Of(SqlKind::kInteger),
                  "CAST(datesub('" + call.text + "', $1, $2) AS INTEGER)", args);
}

Result<BoundPtr> Binder::Impl::TimestampAdd(const ast::Expr& call, std::vector<BoundPtr>& args) {
  if (!args[0]->type.is_integer())
    return InvalidAt(call.at, "TIMESTAMPADD needs a whole number, type=", args[0]->type.ToString());
  constexpr std::pair<std::string_view, int64_t> kMonths[] = {
      {"YEAR", 12}, {"QUARTER", 3}, {"MONTH", 1}};
  constexpr std::pair<std::string_view, int64_t> kMillis[] = {{"WEEK", 604800000},
                                                              {"DAY", 86400000},
                                                              {"HOUR", 3600000},
                                                              {"MINUTE", 60000},
                                                              {"SECOND", 1000}};
  const auto amount = [&](SqlKind kind, int64_t size) {
    return MakeCall("INTERVAL", SqlType::Of(kind),
                    "(CAST($1 AS BIGINT) * " + std::to_string(size) + ")", {args[0]});
  };
  for (const auto& [unit, size] : kMonths) {
    if (unit == call.text)
      return AddMonths(args[1], amount(SqlKind::kIntervalMonth, size), false, call.at);
  }
  for (const auto& [unit, size] : kMillis) {
    if (unit == call.text)
      return AddMillis(args[1], amount(SqlKind::kIntervalSecond, size), false, call.at);
  }
  return InvalidAt(call.at, "TIMESTAMPADD has no such unit, unit=", call.text);
}

// The time of the whole statement, to the millisecond.
Result<BoundPtr> Binder::Impl::Now(const std::string& name) {
  const int64_t seconds = (context_.now_ms - ((context_.now_ms % 1000) + 1000) % 1000) / 1000;
  const auto nanos = static_cast<int32_t>((context_.now_ms - seconds * 1000) * 1000000);
  const std::string text = TimestampText(seconds, nanos, 3);
  BoundPtr now = MakeLiteral(SqlType::TimestampLtz(3), "TIMESTAMP '" + text + "'", text);
  if (name == "CURRENT_DATE") return Widen(std::move(now), SqlType::Of(SqlKind::kDate, false), {});
  if (name == "CURRENT_TIME" || name == "LOCALTIME")
    return Widen(std::move(now), SqlType::Of(SqlKind::kTime, false), {});
  if (name == "LOCALTIMESTAMP") return Widen(std::move(now), SqlType::Timestamp(3, false), {});
  return now;
}

Result<BoundPtr> Binder::Impl::TimeFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                            bool* matched) {
  const std::string& name = call.name;
  const size_t count = args.size();
  for (const auto& [function, unit] : kExtractors) {
    if (name == function && count == 1) return Extract(std::string(unit), args[0], call.at);
  }
  if (name == "EXTRACT") return Extract(call.text, args[0], call.at);
  if (name == "FLOOR TO" || name == "CEIL TO") return FloorTo(call, args[0]);
  if (name == "TIMESTAMPDIFF") return TimestampDiff(call, args);
  if (name == "TIMESTAMPADD") return TimestampAdd(call, args);
  if (count == 0 && (name == "CURRENT_TIMESTAMP" || name == "LOCALTIMESTAMP" ||
                     name == "CURRENT_DATE" || name == "CURRENT_TIME" || name == "LOCALTIME" ||
                     name == "NOW" || name == "CURRENT_ROW_TIMESTAMP")) {
    return Now(name);
  }
  if (count == 0 && (name == "CURRENT_DATABASE" || name == "CURRENT_CATALOG")) {
    return Cast(MakeString(name == "CURRENT_DATABASE" ? context_.database : context_.catalog),
                SqlType::String(false), CastMode::kCast, call.at);
  }
  return TimeTextFunction(call, args, matched);
}

// Between times on one side, text and numbers on the other.
Result<BoundPtr> Binder::Impl::TimeTextFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                                bool* matched) {
  const std::string& name = call.name;
  const size_t count = args.size();
  const bool one_or_two = count == 1 || count == 2;
  if (name == "DATE_FORMAT") return DateFormat(call, args);
  if (name == "TO_TIMESTAMP_LTZ" && one_or_two && args[0]->type.is_numeric())
    return TimestampOfEpoch(call, args);
  if (name == "FROM_UNIXTIME" && one_or_two) return FromUnixTime(call, args);
  *matched = (name == "TO_DATE" && one_or_two) || (name == "TO_TIMESTAMP" && one_or_two) ||
             (name == "UNIX_TIMESTAMP" && count <= 2) || (name == "CONVERT_TZ" && count == 3);
  if (!*matched) return nullptr;
  const bool all_text = std::ranges::all_of(
      args, [](const BoundPtr& arg) { return arg->type.is_text() || arg->is_null_literal(); });
  if (!all_text) return BadTimeArguments(call);
  if (name == "UNIX_TIMESTAMP") return UnixTimestamp(call, args);
  if (name == "TO_DATE") {
    if (count == 1) args.push_back(MakeString("yyyy-MM-dd"));
    return MakeTyped(name, SqlType::Of(SqlKind::kDate), "CAST(flink_parse_pattern($1, $2) AS DATE)",
                     args);
  }
  if (name == "TO_TIMESTAMP") {
    const char* text = count == 1 ? "flink_cut(flink_try_text_to_timestamp($1), 3)"
                                  : "flink_cut(flink_parse_pattern($1, $2), 3)";
    return MakeTyped(name, SqlType::Timestamp(3), text, args);
  }
  return MakeTyped(
      name, SqlType::String(),
      "flink_timestamp_text(timezone($3, timezone($2, flink_try_text_to_timestamp($1))), 0)", args);
}

Result<BoundPtr> Binder::Impl::DateFormat(const ast::Expr& call, std::vector<BoundPtr>& args) {
  if (args.size() != 2 || !args[1]->type.is_text()) return BadTimeArguments(call);
  if (!IsDateOrTimestamp(args[0]->type) && !args[0]->type.is_text()) return BadTimeArguments(call);
  ASSIGN_OR_RAISE(args[0], Widen(args[0], SqlType::Timestamp(6, args[0]->type.nullable), call.at));
  return MakeTyped(call.name, SqlType::String(), "flink_date_format($1, $2)", args);
}

Result<BoundPtr> Binder::Impl::TimestampOfEpoch(const ast::Expr& call,
                                                std::vector<BoundPtr>& args) {
  const std::string digits = args.size() == 2 ? args[1]->constant.value_or("") : "3";
  if (digits != "0" && digits != "3")
    return InvalidAt(call.at, "TO_TIMESTAMP_LTZ needs precision 0 (seconds) or 3 (milliseconds)");
  const std::string text = digits == "0" ? "make_timestamp(CAST($1 AS BIGINT) * 1000000)"
                                         : "make_timestamp(CAST($1 AS BIGINT) * 1000)";
  return MakeTyped(call.name, SqlType::TimestampLtz(3), text, {args[0]});
}

Result<BoundPtr> Binder::Impl::FromUnixTime(const ast::Expr& call, std::vector<BoundPtr>& args) {
  if (args.size() == 1) args.push_back(MakeString(kDefaultPattern));
  if (!args[0]->type.is_integer() || !args[1]->type.is_text()) return BadTimeArguments(call);
  BoundPtr instant = MakeTyped(call.name, SqlType::TimestampLtz(6),
                               "make_timestamp(CAST($1 AS BIGINT) * 1000000)", {args[0]});
  ASSIGN_OR_RAISE(BoundPtr local, Widen(std::move(instant), SqlType::Timestamp(6), call.at));
  return MakeTyped(call.name, SqlType::String(), "flink_date_format($1, $2)",
                   {std::move(local), args[1]});
}

Result<BoundPtr> Binder::Impl::UnixTimestamp(const ast::Expr& call, std::vector<BoundPtr>& args) {
  if (args.empty()) return MakeInteger(context_.now_ms / 1000);
  const bool nullable = AnyNullable(args);
  if (args.size() == 1) args.push_back(MakeString(kDefaultPattern));
  BoundPtr local = MakeTyped(call.name, SqlType::Timestamp(6), "flink_parse_pattern($1, $2)", args);
  ASSIGN_OR_RAISE(BoundPtr instant, Widen(std::move(local), SqlType::TimestampLtz(6), call.at));
  return MakeTyped(call.name, SqlType::Of(SqlKind::kBigInt, nullable),
                   "CAST(floor(epoch($1)) AS BIGINT)", {std::move(instant)});
}

}  // namespace sluice::sql
