#include <array>
#include <charconv>

#include "sql/binder_internal.h"
#include "sql/like.h"

namespace sluice::sql {

namespace {

SqlType Boolean() { return SqlType::Of(SqlKind::kBoolean); }

std::optional<Arithmetic> ArithmeticOf(const std::string& name) {
  if (name == "+") return Arithmetic::kPlus;
  if (name == "-") return Arithmetic::kMinus;
  if (name == "*") return Arithmetic::kTimes;
  if (name == "/") return Arithmetic::kDivide;
  if (name == "%") return Arithmetic::kModulo;
  return std::nullopt;
}

std::string_view SymbolOf(Arithmetic op) {
  static constexpr std::array<std::string_view, 5> kSymbols = {"+", "-", "*", "/", "%"};
  return kSymbols[static_cast<size_t>(op)];
}

bool IsTemporal(const SqlType& type) {
  return type.kind == SqlKind::kDate || type.kind == SqlKind::kTime || type.is_timestamp();
}

Status CannotApply(Position at, std::string_view op, const SqlType& a, const SqlType& b) {
  return InvalidAt(at, "cannot apply ", op, " to ", a.WithNullable(true).ToString(), " and ",
                   b.WithNullable(true).ToString());
}

}  // namespace

// Exact arithmetic by a function of its own: rounds half up, NULL on overflow, an error on division
// by zero.
BoundPtr Binder::Impl::DecimalCall(sql::Arithmetic op, BoundPtr a, BoundPtr b,
                                   const SqlType& result) {
  const SqlType left = AsDecimal(a->type);
  const SqlType right = AsDecimal(b->type);
  const DecimalFunction function{op, left.scale, right.scale, result.precision, result.scale};
  decimal_functions_.insert(function);
  std::string text = function.Name() + "(CAST($1 AS DECIMAL(38," + std::to_string(left.scale) +
                     ")), CAST($2 AS DECIMAL(38," + std::to_string(right.scale) + ")))";
  if (result.precision < 38) text = "CAST(" + text + " AS " + result.EngineName() + ")";
  return MakeCall(std::string(SymbolOf(op)), result, std::move(text), {std::move(a), std::move(b)});
}

Result<BoundPtr> Binder::Impl::Arithmetic(sql::Arithmetic op, BoundPtr a, BoundPtr b, Position at) {
  if (IsTemporal(a->type) || IsTemporal(b->type) || a->type.is_interval() ||
      b->type.is_interval()) {
    return TimeArithmetic(op, std::move(a), std::move(b), at);
  }
  if (a->is_null_literal() && b->type.is_numeric()) {
    ASSIGN_OR_RAISE(a, Widen(a, b->type, at));
  } else if (b->is_null_literal() && a->type.is_numeric()) {
    ASSIGN_OR_RAISE(b, Widen(b, a->type, at));
  }
  if (!a->type.is_numeric() || !b->type.is_numeric())
    return CannotApply(at, SymbolOf(op), a->type, b->type);
  const SqlType type = ArithmeticType(op, a->type, b->type);
  const std::string name(SymbolOf(op));
  if (type.is_integer()) {
    if (op == sql::Arithmetic::kDivide || op == sql::Arithmetic::kModulo) {
      const std::string function =
          op == sql::Arithmetic::kDivide ? "flink_integer_divide" : "flink_integer_modulo";
      return MakeCall(name, type,
                      "CAST(" + function + "(CAST($1 AS BIGINT), CAST($2 AS BIGINT)) AS " +
                          type.EngineName() + ")",
                      {std::move(a), std::move(b)});
    }
    ASSIGN_OR_RAISE(a, Widen(std::move(a), type, at));
    ASSIGN_OR_RAISE(b, Widen(std::move(b), type, at));
    return MakeCall(name, type, "($1 " + name + " $2)", {std::move(a), std::move(b)});
  }
  if (type.kind != SqlKind::kDecimal) {
    ASSIGN_OR_RAISE(a, Widen(std::move(a), type, at));
    ASSIGN_OR_RAISE(b, Widen(std::move(b), type, at));
    return MakeCall(name, type, "($1 " + name + " $2)", {std::move(a), std::move(b)});
  }
  const SqlType left = AsDecimal(a->type);
  const SqlType right = AsDecimal(b->type);
  // The engine's own operators give the same where nothing can overflow: its products have 18
  // digits or 38.
  const bool sum = op == sql::Arithmetic::kPlus || op == sql::Arithmetic::kMinus;
  const bool native = (sum && type.precision < 38) ||
                      (op == sql::Arithmetic::kTimes && left.precision + right.precision <= 18);
  if (!native) return DecimalCall(op, std::move(a), std::move(b), type);
  ASSIGN_OR_RAISE(a, Widen(std::move(a), left, at));
  ASSIGN_OR_RAISE(b, Widen(std::move(b), right, at));
  return MakeCall(name, type, "CAST(($1 " + name + " $2) AS " + type.EngineName() + ")",
                  {std::move(a), std::move(b)});
}

// --- times ---

Result<BoundPtr> Binder::Impl::AddMillis(BoundPtr time, const BoundPtr& millis, bool negate,
                                         Position at) {
  const std::string op = negate ? " - " : " + ";
  const SqlType type = time->type;
  if (type.kind == SqlKind::kDate) {
    return MakeCall("+", type, "CAST($1" + op + "to_microseconds($2 * 1000) AS DATE)",
                    {std::move(time), millis});
  }
  if (type.is_nanos()) {
    return MakeCall("+", type, "make_timestamp_ns(epoch_ns($1)" + op + "$2 * 1000000)",
                    {std::move(time), millis});
  }
  if (type.kind != SqlKind::kTime && !type.is_timestamp())
    return CannotApply(at, negate ? "-" : "+", type, millis->type);
  return MakeCall("+", type, "($1" + op + "to_microseconds($2 * 1000))", {std::move(time), millis});
}

Result<BoundPtr> Binder::Impl::AddMonths(BoundPtr time, const BoundPtr& months, bool negate,
                                         Position at) {
  const std::string op = negate ? " - " : " + ";
  const SqlType type = time->type;
  if (type.kind == SqlKind::kTime || !IsTemporal(type))
    return CannotApply(at, negate ? "-" : "+", type, months->type);
  const std::string shifted = op + "to_months(CAST($2 AS INTEGER))";
  if (type.is_nanos()) {
    return MakeCall("+", type,
                    "make_timestamp_ns(epoch_ns(flink_ns_to_us($1)" + shifted +
                        ") + epoch_ns($1) - epoch_ns(flink_ns_to_us($1)))",
                    {std::move(time), months});
  }
  if (type.kind == SqlKind::kDate)
    return MakeCall("+", type, "CAST($1" + shifted + " AS DATE)", {std::move(time), months});
  return MakeCall("+", type, "($1" + shifted + ")", {std::move(time), months});
}

Result<BoundPtr> Binder::Impl::TimeArithmetic(sql::Arithmetic op, BoundPtr a, BoundPtr b,
                                              Position at) {
  const bool plus = op == sql::Arithmetic::kPlus;
  const bool minus = op == sql::Arithmetic::kMinus;
  if (plus && a->type.is_interval() && IsTemporal(b->type)) std::swap(a, b);
  if ((plus || minus) && IsTemporal(a->type) && b->type.is_interval()) {
    return b->type.kind == SqlKind::kIntervalMonth ? AddMonths(std::move(a), b, minus, at)
                                                   : AddMillis(std::move(a), b, minus, at);
  }
  if (minus && IsTemporal(a->type) && IsTemporal(b->type)) {
    return InvalidAt(
        at, "the difference of two times needs its unit: (a - b) DAY TO SECOND, or TIMESTAMPDIFF");
  }
  if ((plus || minus) && a->type.is_interval() && a->type.kind == b->type.kind) {
    const SqlType type = a->type;
    return MakeCall("+", type, plus ? "($1 + $2)" : "($1 - $2)", {std::move(a), std::move(b)});
  }
  if (op == sql::Arithmetic::kTimes && b->type.is_interval()) std::swap(a, b);
  const bool scales = op == sql::Arithmetic::kTimes || op == sql::Arithmetic::kDivide;
  if (scales && a->type.is_interval() && b->type.is_numeric()) {
    const SqlType type = a->type;
    const std::string text = std::string("CAST(trunc(CAST($1 AS DOUBLE) ") +
                             (op == sql::Arithmetic::kTimes ? "*" : "/") +
                             " CAST($2 AS DOUBLE)) AS " + type.EngineName() + ")";
    if (op == sql::Arithmetic::kTimes && b->type.is_integer()) {
      return MakeCall("*", type, "($1 * $2)", {std::move(a), std::move(b)});
    }
    return MakeCall("*", type, text, {std::move(a), std::move(b)});
  }
  return CannotApply(at, SymbolOf(op), a->type, b->type);
}

// --- common types ---

Status Binder::Impl::Unify(std::vector<BoundPtr>* values, Position at, std::string_view what) {
  SqlType type = values->front()->type;
  for (const BoundPtr& value : *values) {
    const auto common = CommonType(type, value->type);
    if (!common) {
      return InvalidAt(at, what, " has no common type, types=", type.WithNullable(true).ToString(),
                       ", ", value->type.WithNullable(true).ToString());
    }
    type = *common;
  }
  if (type.kind == SqlKind::kNull) return Status::OK();
  for (BoundPtr& value : *values) {
    ASSIGN_OR_RAISE(value, Widen(std::move(value), type, at));
  }
  return Status::OK();
}

// `lenient`: IN also compares text with numbers, as Flink does there alone.
Status Binder::Impl::UnifyForComparison(BoundPtr* a, BoundPtr* b, Position at, bool lenient) {
  const SqlType left = (*a)->type;
  const SqlType right = (*b)->type;
  if (left.is_text() && right.is_text()) return Status::OK();
  if (const auto common = CommonType(left, right)) {
    if (common->kind == SqlKind::kNull) return Status::OK();
    ASSIGN_OR_RAISE(*a, Widen(std::move(*a), *common, at));
    ASSIGN_OR_RAISE(*b, Widen(std::move(*b), *common, at));
    return Status::OK();
  }
  const bool text_left = left.is_text();
  BoundPtr* text = text_left ? a : b;
  const SqlType& other = text_left ? right : left;
  if ((text_left || right.is_text()) && (IsTemporal(other) || (lenient && other.is_numeric()))) {
    ASSIGN_OR_RAISE(*text, Widen(std::move(*text), other, at));
    return Status::OK();
  }
  return InvalidAt(at, "cannot compare ", left.WithNullable(true).ToString(), " and ",
                   right.WithNullable(true).ToString());
}

// --- operators ---

namespace {

// The regular expression of an SQL pattern: % any text, _ any character, the rest as in regular
// expressions.
std::string SimilarPattern(std::string_view pattern) {
  std::string regex;
  for (const char c : pattern) {
    if (c == '%') {
      regex += ".*";
    } else if (c == '_' || c == '.') {
      regex += c == '_' ? "." : "\\.";
    } else {
      regex.push_back(c);
    }
  }
  return regex;
}

// -2147483648 is one literal, an INT, though 2147483648 alone is none.
std::optional<int64_t> NegatedInteger(const Bound& literal) {
  const std::string& digits = *literal.constant;
  if (!literal.type.is_exact() || digits.find_first_of("-.") != std::string::npos)
    return std::nullopt;
  const std::string text = "-" + digits;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Is it the least number of its type, whose opposite is none of it?
bool IsLeast(const Bound& literal) {
  const std::string& digits = *literal.constant;
  return (literal.type.kind == SqlKind::kInteger && digits == std::to_string(INT32_MIN)) ||
         (literal.type.kind == SqlKind::kBigInt && digits == std::to_string(INT64_MIN));
}

Result<BoundPtr> Negate(BoundPtr value, Position at) {
  if (value->number) return MakeInterval(value->type.kind, -*value->number);
  if (!value->type.is_numeric() && !value->type.is_interval()) {
    return InvalidAt(at, "cannot negate ", value->type.ToString());
  }
  if (value->kind == BoundKind::kLiteral && value->constant) {
    if (const auto whole = NegatedInteger(*value)) return MakeInteger(*whole);
    if (IsLeast(*value)) {
      return InvalidAt(at, "number is out of range, operation=-(", *value->constant,
                       ") type=", value->type.WithNullable(true).ToString());
    }
    const std::string text =
        value->constant->starts_with("-") ? value->constant->substr(1) : "-" + *value->constant;
    return MakeLiteral(value->type, "CAST('" + text + "' AS " + value->type.EngineName() + ")",
                       text);
  }
  const SqlType type = value->type;
  return MakeCall("NEGATE", type, "(-$1)", {std::move(value)});
}

Result<BoundPtr> Logic(const ast::Expr& call, std::vector<BoundPtr> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]->type.kind != SqlKind::kBoolean && !args[i]->is_null_literal()) {
      return InvalidAt(call.args[i]->at, call.name,
                       " needs conditions, type=", args[i]->type.ToString());
    }
  }
  if (call.name == "NOT") return NotOf(args[0]);
  std::string text = "($1";
  for (size_t i = 2; i <= args.size(); ++i) text += " " + call.name + " $" + std::to_string(i);
  text += ")";
  return MakeCall(call.name, Boolean(), text, std::move(args));
}

Result<BoundPtr> IsTest(const ast::Expr& call, std::vector<BoundPtr> args) {
  const std::string& name = call.name;
  if (name == "IS NULL" || name == "IS UNKNOWN")
    return MakeTyped("IS NULL", SqlType::Of(SqlKind::kBoolean, false), "($1 IS NULL)",
                     std::move(args));
  if (name == "IS NOT NULL" || name == "IS NOT UNKNOWN") {
    return MakeTyped("IS NOT NULL", SqlType::Of(SqlKind::kBoolean, false), "($1 IS NOT NULL)",
                     std::move(args));
  }
  if (args[0]->type.kind != SqlKind::kBoolean)
    return InvalidAt(call.at, name, " needs a condition, type=", args[0]->type.ToString());
  const std::string wanted = name.ends_with("TRUE") ? "$1" : "NOT $1";
  const std::string test = "coalesce(" + wanted + ", FALSE)";
  return MakeTyped(name, SqlType::Of(SqlKind::kBoolean, false),
                   name.find("NOT") == std::string::npos ? test : "(NOT " + test + ")",
                   std::move(args));
}

Result<SqlType> ConcatenationType(const SqlType& a, const SqlType& b, Position at) {
  const bool text =
      (a.is_text() || a.kind == SqlKind::kNull) && (b.is_text() || b.kind == SqlKind::kNull);
  if (!text && !(a.is_binary() && b.is_binary())) return CannotApply(at, "||", a, b);
  SqlType type = text ? SqlType::String() : SqlType::Bytes();
  const int64_t length = int64_t{a.length} + b.length;
  if (length < SqlType::kMaxLength) {
    type = a;
    type.length = static_cast<int32_t>(length);
    if (a.kind != b.kind) type.kind = text ? SqlKind::kVarchar : SqlKind::kVarbinary;
  }
  return type;
}

Result<BoundPtr> Concatenate(const ast::Expr& call, std::vector<BoundPtr> args) {
  SqlType type = args[0]->type;
  for (size_t i = 1; i < args.size(); ++i) {
    ASSIGN_OR_RAISE(type, ConcatenationType(type, args[i]->type, call.args[i]->at));
  }
  std::string text = type.is_text() ? "flink_concat(" : "flink_concat_bytes(";
  for (size_t i = 1; i <= args.size(); ++i) text += (i > 1 ? ", $" : "$") + std::to_string(i);
  return MakeCall("||", type, text + ")", std::move(args));
}

}  // namespace

Result<BoundPtr> Binder::Impl::Like(const ast::Expr& call, std::vector<BoundPtr> args) {
  for (const BoundPtr& arg : args) {
    if (!arg->type.is_text() && !arg->is_null_literal()) {
      return InvalidAt(call.at, call.name, " needs text, type=", arg->type.ToString());
    }
  }
  if (call.name == "LIKE") {
    if (args.size() == 3 && args[1]->constant && args[2]->constant) {
      const Status fits = CheckLikePattern(*args[1]->constant, *args[2]->constant);
      if (!fits.ok()) return InvalidAt(call.args[1]->at, fits.message());
    }
    const std::string text = args.size() == 3 ? "flink_like_escape($1, $2, $3)" : "($1 LIKE $2)";
    return MakeCall("LIKE", Boolean(), text, std::move(args));
  }
  if (args.size() == 3 || !args[1]->constant) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.at,
                   "SIMILAR TO with ESCAPE or a computed pattern is not supported yet");
  }
  args[1] = MakeString(SimilarPattern(*args[1]->constant));
  return MakeCall("SIMILAR TO", Boolean(), "regexp_full_match($1, $2)", std::move(args));
}

Result<BoundPtr> Binder::Impl::Operator(const ast::Expr& call, std::vector<BoundPtr> args,
                                        bool* matched) {
  const std::string& name = call.name;
  if (const auto op = ArithmeticOf(name))
    return Arithmetic(*op, std::move(args[0]), std::move(args[1]), call.at);
  if (name == "=" || name == "<>" || name == "<" || name == "<=" || name == ">" || name == ">=") {
    return Compare(name, std::move(args[0]), std::move(args[1]), call.at);
  }
  if (name == "AND" || name == "OR" || name == "NOT") return Logic(call, std::move(args));
  if (name == "NEGATE") return Negate(std::move(args[0]), call.at);
  if (name == "||") return Concatenate(call, std::move(args));
  if (name == "LIKE" || name == "SIMILAR TO") return Like(call, std::move(args));
  if (name == "BETWEEN" || name == "BETWEEN SYMMETRIC") {
    const auto between = [&](const BoundPtr& low, const BoundPtr& high) -> Result<BoundPtr> {
      ASSIGN_OR_RAISE(BoundPtr above, Compare(">=", args[0], low, call.at));
      ASSIGN_OR_RAISE(BoundPtr below, Compare("<=", args[0], high, call.at));
      return MakeCall("AND", Boolean(), "($1 AND $2)", {std::move(above), std::move(below)});
    };
    ASSIGN_OR_RAISE(BoundPtr straight, between(args[1], args[2]));
    if (name == "BETWEEN") return straight;
    ASSIGN_OR_RAISE(BoundPtr turned, between(args[2], args[1]));
    return MakeCall("OR", Boolean(), "($1 OR $2)", {std::move(straight), std::move(turned)});
  }
  if (name == "IS DISTINCT FROM" || name == "IS NOT DISTINCT FROM") {
    RETURN_NOT_OK(UnifyForComparison(&args[0], &args[1], call.at, false));
    return MakeTyped(name, SqlType::Of(SqlKind::kBoolean, false), "($1 " + name + " $2)",
                     std::move(args));
  }
  if (name.starts_with("IS ")) return IsTest(call, std::move(args));
  if (name == "TIME DIFFERENCE") {
    if (!IsTemporal(args[0]->type) || !IsTemporal(args[1]->type))
      return CannotApply(call.at, "-", args[0]->type, args[1]->type);
    for (BoundPtr& arg : args) {
      ASSIGN_OR_RAISE(arg,
                      Widen(std::move(arg), SqlType::Timestamp(6, arg->type.nullable), call.at));
    }
    const bool months = call.name2 == "YEAR" || call.name2 == "MONTH";
    return MakeCall(
        name, SqlType::Of(months ? SqlKind::kIntervalMonth : SqlKind::kIntervalSecond),
        months ? "CAST(datesub('month', $2, $1) AS INTEGER)" : "(epoch_ms($1) - epoch_ms($2))",
        std::move(args));
  }
  if (name == "OVERLAPS")
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.at, "OVERLAPS is not supported yet");
  *matched = false;
  return nullptr;
}

}  // namespace sluice::sql
