#include <algorithm>
#include <charconv>

#include "sql/binder_internal.h"
#include "sql/java_text.h"

namespace sluice::sql {

using ast::ExprKind;

namespace {

BoundPtr DecimalLiteral(const std::string& text) {
  const size_t point = text.find('.');
  std::string whole = text.substr(0, point);
  const std::string fraction = point == std::string::npos ? "" : text.substr(point + 1);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  const auto scale = static_cast<int32_t>(fraction.size());
  // 0.1 is DECIMAL(2, 1): the digit before the point counts.
  const int32_t precision = std::max<int32_t>(static_cast<int32_t>(whole.size()), 1) + scale;
  if (precision > 38) return nullptr;
  const SqlType type = SqlType::Decimal(precision, scale);
  return MakeLiteral(type, "CAST('" + text + "' AS " + type.EngineName() + ")", text);
}

Result<BoundPtr> TemporalLiteral(const ast::Expr& expr) {
  if (expr.name == "DATE") {
    const auto days = ParseDate(expr.text);
    if (!days)
      return InvalidAt(expr.at, "not a date, text='", Shown(expr.text), "' form=yyyy-MM-dd");
    return MakeLiteral(SqlType::Of(SqlKind::kDate), "DATE '" + DateText(*days) + "'",
                       DateText(*days));
  }
  if (expr.name == "TIME") {
    const auto nanos = ParseTime(expr.text);
    if (!nanos)
      return InvalidAt(expr.at, "not a time, text='", Shown(expr.text), "' form=HH:mm:ss");
    return MakeLiteral(SqlType::Of(SqlKind::kTime), "TIME '" + TimeText(*nanos, 6) + "'",
                       TimeText(*nanos, 0));
  }
  const auto at = ParseTimestamp(expr.text);
  if (!at)
    return InvalidAt(expr.at, "not a timestamp, text='", Shown(expr.text),
                     "' form='yyyy-MM-dd HH:mm:ss[.f]'");
  const SqlType type = SqlType::Timestamp(at->fraction_digits);
  const std::string text = TimestampText(at->seconds, at->nanos, at->fraction_digits);
  if (!type.is_nanos()) return MakeLiteral(type, "TIMESTAMP '" + text + "'", text);
  return MakeLiteral(type, "flink_text_to_timestamp_ns('" + text + "', '')", text);
}

}  // namespace

Result<BoundPtr> Binder::Impl::Literal(const ast::Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kNull:
      return MakeNull();
    case ExprKind::kBoolean:
      return MakeBoolean(expr.text == "TRUE");
    case ExprKind::kString:
      return MakeString(expr.text);
    case ExprKind::kBinary: {
      std::string hex;
      for (const char c : expr.text) {
        constexpr std::string_view kDigits = "0123456789ABCDEF";
        hex += kDigits[static_cast<uint8_t>(c) >> 4];
        hex += kDigits[static_cast<uint8_t>(c) & 15];
      }
      const SqlType type{.kind = SqlKind::kBinary,
                         .length = static_cast<int32_t>(expr.text.size())};
      return MakeLiteral(type, "from_hex('" + hex + "')", expr.text);
    }
    case ExprKind::kTemporal:
      return TemporalLiteral(expr);
    default:
      break;
  }
  if (expr.number_kind == TokenKind::kDouble) {
    return MakeLiteral(SqlType::Of(SqlKind::kDouble), "CAST('" + expr.text + "' AS DOUBLE)",
                       expr.text);
  }
  if (expr.number_kind == TokenKind::kInteger) {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(expr.text.data(), expr.text.data() + expr.text.size(), value);
    if (error == std::errc()) return MakeInteger(value);
  }
  BoundPtr decimal = DecimalLiteral(expr.text);
  if (decimal == nullptr)
    return InvalidAt(expr.at, "number has more than 38 digits, number=", Shown(expr.text));
  return decimal;
}

namespace {

struct IntervalUnit {
  std::string_view name;
  int64_t size;
  bool months;
};
constexpr IntervalUnit kIntervalUnits[] = {
    {"YEAR", 12, true},         {"QUARTER", 3, true},     {"MONTH", 1, true},
    {"WEEK", 604800000, false}, {"DAY", 86400000, false}, {"HOUR", 3600000, false},
    {"MINUTE", 60000, false},   {"SECOND", 1000, false},
};

const IntervalUnit* FindUnit(std::string_view name) {
  const auto found = std::ranges::find(kIntervalUnits, name, &IntervalUnit::name);
  return found == std::end(kIntervalUnits) ? nullptr : found;
}

// "10 12:30:01.5" from DAY to SECOND, "1-2" from YEAR to MONTH, "5" of one unit; nullopt when it
// does not fit.
std::optional<int64_t> IntervalAmount(std::string_view text, const IntervalUnit* unit,
                                      const IntervalUnit* last) {
  bool negative = false;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.starts_with("-") || text.starts_with("+")) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int64_t total = 0;
  while (true) {
    int64_t part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    int64_t amount = 0;
    if (error != std::errc() || part < 0 || __builtin_mul_overflow(part, unit->size, &amount) ||
        __builtin_add_overflow(total, amount, &total)) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (unit == last) break;
    const char separator = unit->months ? '-' : unit->name == "DAY" ? ' ' : ':';
    if (text.empty() || text.front() != separator) return std::nullopt;
    text.remove_prefix(1);
    unit = unit->name == "YEAR" ? FindUnit("MONTH") : unit + 1;
  }
  if (text.starts_with(".") && unit->name == "SECOND") {
    text.remove_prefix(1);
    int64_t scale = 100;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; scale /= 10) {
      total += (text.front() - '0') * scale;
      text.remove_prefix(1);
    }
  }
  if (!text.empty() || (unit->months && total > INT32_MAX)) return std::nullopt;
  return negative ? -total : total;
}

}  // namespace

Result<BoundPtr> Binder::Impl::Interval(const ast::Expr& expr, ExprContext& context) {
  const IntervalUnit* unit = FindUnit(expr.name);
  const IntervalUnit* last = expr.name2.empty() ? unit : FindUnit(expr.name2);
  if (unit == nullptr || last == nullptr || unit->months != last->months || last < unit) {
    return InvalidAt(expr.at, "interval has no such units, from=", expr.name, " to=", expr.name2);
  }
  const SqlKind kind = unit->months ? SqlKind::kIntervalMonth : SqlKind::kIntervalSecond;
  if (!expr.args.empty()) {  // INTERVAL (x) DAY.
    ASSIGN_OR_RAISE(BoundPtr amount, Expression(*expr.args[0], context));
    if (!amount->type.is_integer())
      return InvalidAt(expr.at, "interval needs a whole number, type=", amount->type.ToString());
    const std::string factor = std::to_string(expr.negated ? -unit->size : unit->size);
    return MakeCall("INTERVAL", SqlType::Of(kind), "(CAST($1 AS BIGINT) * " + factor + ")",
                    {std::move(amount)});
  }
  const auto amount = IntervalAmount(expr.text, unit, last);
  if (!amount)
    return InvalidAt(expr.at, "interval text does not fit its units, text='", Shown(expr.text),
                     "'");
  return MakeInterval(kind, expr.negated ? -*amount : *amount);
}

}  // namespace sluice::sql
