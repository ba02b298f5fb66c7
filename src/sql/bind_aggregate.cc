#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

constexpr std::string_view kAggregates[] = {
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "VAR_POP",
    "VAR_SAMP",
    "VARIANCE",
    "LISTAGG",
    "COLLECT",
    "ARRAY_AGG",
    "FIRST_VALUE",
    "LAST_VALUE",
    "PERCENTILE",
    "SINGLE_VALUE",
    "APPROX_COUNT_DISTINCT",
};

BoundPtr MakeAggregate(const Bound& like, std::string name, SqlType type, std::string text,
                       std::vector<BoundPtr> args) {
  auto bound = std::make_shared<Bound>(like);
  bound->kind = BoundKind::kAggregate;
  bound->name = std::move(name);
  bound->type = std::move(type);
  bound->text = std::move(text);
  bound->args = std::move(args);
  return bound;
}

// The exact sum of DECIMALs, NULL beyond 38 digits. The engine's own wraps around at 2^127: the sum
// of floating numbers tells when it may have; from narrow values it would take 10^10 rows. Values
// that differ may be one floating number, so those of DISTINCT are told apart first.
std::string DecimalSumText(const SqlType& from, bool distinct) {
  const std::string name = SqlType::Decimal(38, from.scale).EngineName();
  if (from.precision <= 28) return "CAST(SUM(#$1)@ AS " + name + ")";
  std::string limit(38, '9');
  if (from.scale > 0) limit.insert(limit.size() - static_cast<size_t>(from.scale), ".");
  const std::string most = "CAST('" + limit + "' AS " + name + ")";
  const std::string near = "1.5e" + std::to_string(38 - from.scale);
  const std::string rough =
      distinct ? "list_sum(CAST(list(#$1)@ AS DOUBLE[]))" : "SUM(CAST($1 AS DOUBLE))@";
  return "CASE WHEN abs(" + rough + ") < " + near + " AND SUM(#$1)@ BETWEEN -" + most + " AND " +
         most + " THEN SUM(#$1)@ END";
}

// Rows where an argument is NULL do not count.
BoundPtr Count(const Bound& like, bool star, std::vector<BoundPtr> args) {
  const SqlType type = SqlType::Of(SqlKind::kBigInt, false);
  if (star || args.empty()) return MakeAggregate(like, "COUNT", type, "COUNT(*)@", {});
  if (args.size() == 1) return MakeAggregate(like, "COUNT", type, "COUNT(#$1)@", std::move(args));
  std::string row;
  std::string present;
  for (size_t i = 1; i <= args.size(); ++i) {
    row += (i > 1 ? ", $" : "$") + std::to_string(i);
    present += (i > 1 ? " AND $" : "$") + std::to_string(i) + " IS NOT NULL";
  }
  return MakeAggregate(like, "COUNT", type,
                       "COUNT(#CASE WHEN " + present + " THEN row(" + row + ") END)@",
                       std::move(args));
}

BoundPtr Sum(const Bound& like, const BoundPtr& value, bool nullable) {
  SqlType type = value->type.WithNullable(nullable);
  if (type.kind == SqlKind::kDecimal) type.precision = 38;
  const std::string text = type.kind == SqlKind::kDecimal
                               ? DecimalSumText(value->type, like.distinct)
                               : "CAST(SUM(#$1)@ AS " + type.EngineName() + ")";
  return MakeAggregate(like, "SUM", type, text, {value});
}

}  // namespace

bool IsVariance(const std::string& name) {
  return name.starts_with("STDDEV") || name.starts_with("VAR");
}

bool IsAggregateName(const std::string& upper) {
  return std::ranges::find(kAggregates, upper) != std::end(kAggregates);
}

bool HasAggregateCall(const ast::Expr& expr) {
  if (expr.kind == ast::ExprKind::kCall && expr.over == nullptr && IsAggregateName(expr.name))
    return true;
  return std::ranges::any_of(expr.args,
                             [](const ast::ExprPtr& arg) { return HasAggregateCall(*arg); });
}

Result<BoundPtr> Binder::Impl::ListText(const Bound& like, const ast::Expr& call,
                                        std::vector<BoundPtr> args, ExprContext& inner) {
  const SqlType from = args[0]->type;
  if (!from.is_text()) return InvalidAt(call.at, "LISTAGG needs text, type=", from.ToString());
  if (args.size() == 1) args.push_back(MakeString(","));
  std::string order;
  for (const ast::SortKey& key : call.within_group) {
    ASSIGN_OR_RAISE(BoundPtr bound, Expression(*key.expr, inner));
    args.push_back(std::move(bound));
    order +=
        (order.empty() ? " ORDER BY $" : ", $") + std::to_string(args.size()) + SortDirection(key);
  }
  return MakeAggregate(like, "LISTAGG", SqlType::String(from.nullable || like.filter != nullptr),
                       "string_agg(#$1, $2" + order + ")@", std::move(args));
}

// Whole numbers stay whole, decimals keep at least six digits.
Result<BoundPtr> Binder::Impl::Average(const Bound& like, const BoundPtr& value, bool nullable) {
  const SqlType& from = value->type;
  const SqlType type = from.WithNullable(nullable);
  if (from.is_approximate())
    return MakeAggregate(like, "AVG", type,
                         "CAST(AVG(#CAST($1 AS DOUBLE))@ AS " + type.EngineName() + ")", {value});
  if (from.is_integer()) {
    return MakeAggregate(
        like, "AVG", type,
        "CAST(CASE WHEN COUNT(#$1)@ > 0 THEN CAST(SUM(#$1)@ AS BIGINT) // COUNT(#$1)@ END "
        "AS " +
            type.EngineName() + ")",
        {value});
  }
  const BoundPtr sum = MakeAggregate(like, "SUM", SqlType::Decimal(38, from.scale, nullable),
                                     DecimalSumText(from, like.distinct), {value});
  const BoundPtr count =
      MakeAggregate(like, "COUNT", SqlType::Of(SqlKind::kBigInt, false), "COUNT(#$1)@", {value});
  const SqlType average = SqlType::Decimal(38, std::max(6, from.scale), nullable);
  BoundPtr quotient = DecimalCall(sql::Arithmetic::kDivide, sum, count, average);
  // The sum is NULL when the count is zero; the division must not see that.
  return MakeTyped("AVG", average, "CASE WHEN $1 > 0 THEN $2 END", {count, std::move(quotient)});
}

Result<BoundPtr> Binder::Impl::Aggregate(const ast::Expr& call, ExprContext& context) {
  const std::string& name = call.name;
  if (context.in_aggregate)
    return InvalidAt(call.at, "an aggregate cannot stand inside another, name=", name);
  if (!context.aggregates)
    return InvalidAt(call.at, "an aggregate cannot stand in ", context.clause, ", name=", name);
  ExprContext inner = context;
  inner.aggregates = false;
  inner.in_aggregate = true;
  inner.aliases = nullptr;
  ASSIGN_OR_RAISE(std::vector<BoundPtr> args, Arguments(call.args, inner));
  Bound like;
  like.distinct = call.distinct;
  if (call.filter != nullptr) {
    ASSIGN_OR_RAISE(like.filter, Condition(*call.filter, inner));
  }
  if (!call.within_group.empty() && name != "LISTAGG") {
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.at, "WITHIN GROUP of ", name,
                   " is not supported yet");
  }
  if (name == "COUNT") return Count(like, call.star, std::move(args));
  if (name == "APPROX_COUNT_DISTINCT" && args.size() == 1) {
    return MakeAggregate(like, name, SqlType::Of(SqlKind::kBigInt, false), "COUNT(DISTINCT $1)@",
                         std::move(args));
  }
  const size_t most = name == "LISTAGG" || name == "PERCENTILE" ? 2 : 1;
  if (call.star || args.empty() || args.size() > most)
    return InvalidAt(call.at, "aggregate has a wrong number of arguments, name=", name);
  const BoundPtr value = args[0];
  const SqlType& from = value->type;
  const bool nullable = from.nullable || !context.grouped || like.filter != nullptr;
  if (name == "MIN" || name == "MAX" || name == "SINGLE_VALUE" || name == "FIRST_VALUE" ||
      name == "LAST_VALUE") {
    const std::string function = name == "MIN"          ? "min"
                                 : name == "MAX"        ? "max"
                                 : name == "LAST_VALUE" ? "last"
                                                        : "first";
    return MakeAggregate(like, name, from.WithNullable(nullable), function + "(#$1)@",
                         std::move(args));
  }
  if (name == "ARRAY_AGG") {
    return MakeAggregate(like, name, SqlType::Array(from, from.nullable || like.filter != nullptr),
                         "list(#$1)@", std::move(args));
  }
  if (name == "LISTAGG") return ListText(like, call, std::move(args), inner);
  if (name == "COLLECT")
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.at,
                   "COLLECT (MULTISET) is not supported yet");
  if (!from.is_numeric())
    return InvalidAt(call.at, name, " needs a number, type=", from.ToString());
  if (name == "PERCENTILE") {
    if (args.size() != 2 || !args[1]->type.is_numeric())
      return InvalidAt(call.at, "PERCENTILE needs a constant number between 0 and 1");
    // The engine takes negative ones for those of the opposite order; it refuses 2.
    return MakeAggregate(like, name, SqlType::Of(SqlKind::kDouble),
                         "quantile_cont(#CAST($1 AS DOUBLE), CASE WHEN $2 >= 0 THEN CAST($2 AS "
                         "DOUBLE) ELSE 2e0 END)@",
                         std::move(args));
  }
  if (name == "SUM") return Sum(like, value, nullable);
  if (IsVariance(name)) return Variance(name, like, value, call.at);
  return Average(like, value, nullable);
}

// Flink's own formula, in the arithmetic of the argument's type: (SUM(x * x) - SUM(x) * SUM(x) / n)
// / n or n - 1.
Result<BoundPtr> Binder::Impl::Variance(const std::string& name, const Bound& call, BoundPtr value,
                                        Position at) {
  const bool population = name.ends_with("POP");
  const bool root = name.starts_with("STDDEV");
  const SqlType from = value->type;
  if (from.is_approximate()) {
    const std::string function =
        std::string(root ? "stddev_" : "var_") + (population ? "pop" : "samp");
    const SqlType type = from.WithNullable(true);
    return MakeAggregate(
        call, name, type,
        "CAST(" + function + "(#CAST($1 AS DOUBLE))@ AS " + type.EngineName() + ")",
        {std::move(value)});
  }
  if (from.is_integer()) {
    ASSIGN_OR_RAISE(value,
                    Widen(std::move(value), SqlType::Of(SqlKind::kBigInt, from.nullable), at));
  }
  ASSIGN_OR_RAISE(const BoundPtr square, Arithmetic(sql::Arithmetic::kTimes, value, value, at));
  const auto sum_of = [&](const BoundPtr& term) {
    SqlType type = term->type.WithNullable(true);
    if (type.kind == SqlKind::kDecimal) type.precision = 38;
    return MakeAggregate(call, "SUM", type,
                         term->type.kind == SqlKind::kDecimal
                             ? DecimalSumText(term->type, call.distinct)
                             : "CAST(SUM(#$1)@ AS " + type.EngineName() + ")",
                         {term});
  };
  const BoundPtr count =
      MakeAggregate(call, "COUNT", SqlType::Of(SqlKind::kBigInt, false), "COUNT(#$1)@", {value});
  // NULL stands for a count that cannot divide.
  const BoundPtr all = MakeTyped("COUNT", SqlType::Of(SqlKind::kBigInt), "nullif($1, 0)", {count});
  const BoundPtr divisor = population ? all
                                      : MakeTyped("COUNT", SqlType::Of(SqlKind::kBigInt),
                                                  "nullif(greatest($1 - 1, 0), 0)", {count});
  const BoundPtr sum = sum_of(value);
  ASSIGN_OR_RAISE(BoundPtr product, Arithmetic(sql::Arithmetic::kTimes, sum, sum, at));
  ASSIGN_OR_RAISE(BoundPtr mean, Arithmetic(sql::Arithmetic::kDivide, std::move(product), all, at));
  ASSIGN_OR_RAISE(BoundPtr spread,
                  Arithmetic(sql::Arithmetic::kMinus, sum_of(square), std::move(mean), at));
  ASSIGN_OR_RAISE(BoundPtr variance,
                  Arithmetic(sql::Arithmetic::kDivide, std::move(spread), divisor, at));
  const SqlType type = from.kind == SqlKind::kDecimal
                           ? SqlType::Decimal(38, std::max(6, from.scale))
                           : from.WithNullable(true);
  if (root) {
    variance = MakeTyped("SQRT", SqlType::Of(SqlKind::kDouble), "sqrt(CAST($1 AS DOUBLE))",
                         {std::move(variance)});
  }
  return Cast(std::move(variance), type, CastMode::kCast, at);
}

}  // namespace sluice::sql
