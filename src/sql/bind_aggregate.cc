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
constexpr std::string_view kWindowFunctions[] = {
    "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST",
    "NTILE",      "LAG",  "LEAD",       "FIRST_VALUE",  "LAST_VALUE",
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
// of floating numbers tells when it may have; from narrow values it would take 10^10 rows.
std::string DecimalSumText(const SqlType& from) {
  const std::string name = SqlType::Decimal(38, from.scale).EngineName();
  if (from.precision <= 28) return "CAST(SUM(#$1)@ AS " + name + ")";
  std::string limit(38, '9');
  if (from.scale > 0) limit.insert(limit.size() - static_cast<size_t>(from.scale), ".");
  const std::string most = "CAST('" + limit + "' AS " + name + ")";
  const std::string near = "1.5e" + std::to_string(38 - from.scale);
  return "CASE WHEN abs(SUM(#CAST($1 AS DOUBLE))@) < " + near + " AND SUM(#$1)@ BETWEEN -" + most +
         " AND " + most + " THEN SUM(#$1)@ END";
}

bool IsVariance(const std::string& name) {
  return name.starts_with("STDDEV") || name.starts_with("VAR");
}

}  // namespace

bool IsAggregateName(const std::string& upper) {
  return std::ranges::find(kAggregates, upper) != std::end(kAggregates);
}

bool HasAggregateCall(const ast::Expr& expr) {
  if (expr.kind == ast::ExprKind::kCall && expr.over == nullptr && IsAggregateName(expr.name))
    return true;
  return std::ranges::any_of(expr.args,
                             [](const ast::ExprPtr& arg) { return HasAggregateCall(*arg); });
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
  if (name == "COUNT") {
    const SqlType type = SqlType::Of(SqlKind::kBigInt, false);
    if (call.star || args.empty()) return MakeAggregate(like, name, type, "COUNT(*)@", {});
    if (args.size() == 1) return MakeAggregate(like, name, type, "COUNT(#$1)@", std::move(args));
    std::string row;  // Rows with a NULL do not count.
    std::string present;
    for (size_t i = 1; i <= args.size(); ++i) {
      row += (i > 1 ? ", $" : "$") + std::to_string(i);
      present += (i > 1 ? " AND $" : "$") + std::to_string(i) + " IS NOT NULL";
    }
    return MakeAggregate(like, name, type,
                         "COUNT(#CASE WHEN " + present + " THEN row(" + row + ") END)@",
                         std::move(args));
  }
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
  if (name == "LISTAGG") {
    if (!from.is_text()) return InvalidAt(call.at, "LISTAGG needs text, type=", from.ToString());
    if (args.size() == 1) args.push_back(MakeString(","));
    std::string order;
    for (const ast::SortKey& key : call.within_group) {
      ASSIGN_OR_RAISE(BoundPtr bound, Expression(*key.expr, inner));
      args.push_back(std::move(bound));
      order += (order.empty() ? " ORDER BY $" : ", $") + std::to_string(args.size()) +
               SortDirection(key);
    }
    return MakeAggregate(like, name, SqlType::String(from.nullable || like.filter != nullptr),
                         "string_agg(#$1, $2" + order + ")@", std::move(args));
  }
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
  if (name == "SUM") {
    SqlType type = from.WithNullable(nullable);
    if (type.kind == SqlKind::kDecimal) {
      type.precision = 38;
      return MakeAggregate(like, name, type, DecimalSumText(from), std::move(args));
    }
    return MakeAggregate(like, name, type, "CAST(SUM(#$1)@ AS " + type.EngineName() + ")",
                         std::move(args));
  }
  if (IsVariance(name)) return Variance(name, like, value, call.at);
  // AVG: whole numbers stay whole, decimals keep at least six digits.
  const SqlType type = from.WithNullable(nullable);
  if (from.is_approximate())
    return MakeAggregate(like, name, type,
                         "CAST(AVG(#CAST($1 AS DOUBLE))@ AS " + type.EngineName() + ")",
                         std::move(args));
  if (from.is_integer()) {
    return MakeAggregate(
        like, name, type,
        "CAST(CASE WHEN COUNT(#$1)@ > 0 THEN CAST(SUM(#$1)@ AS BIGINT) // COUNT(#$1)@ END "
        "AS " +
            type.EngineName() + ")",
        std::move(args));
  }
  const BoundPtr sum = MakeAggregate(like, "SUM", SqlType::Decimal(38, from.scale, nullable),
                                     DecimalSumText(from), {value});
  const BoundPtr count =
      MakeAggregate(like, "COUNT", SqlType::Of(SqlKind::kBigInt, false), "COUNT(#$1)@", {value});
  const SqlType average = SqlType::Decimal(38, std::max(6, from.scale), nullable);
  BoundPtr quotient = DecimalCall(sql::Arithmetic::kDivide, sum, count, average);
  // The sum is NULL when the count is zero; the division must not see that.
  return MakeTyped("AVG", average, "CASE WHEN $1 > 0 THEN $2 END", {count, std::move(quotient)});
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
                             ? DecimalSumText(term->type)
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

// --- OVER ---

Result<BoundPtr> Binder::Impl::Over(const ast::Expr& call, ExprContext& context) {
  if (!context.aggregates || context.in_aggregate)
    return InvalidAt(call.at, "OVER cannot stand in ", context.clause);
  const ast::WindowSpec* window = call.over.get();
  if (!window->reference.empty()) {
    const auto found = context.windows == nullptr
                           ? std::map<std::string, ast::WindowSpec>::const_iterator{}
                           : context.windows->find(window->reference);
    if (context.windows == nullptr || found == context.windows->end()) {
      return InvalidAt(window->at, "window is not defined, name=", window->reference);
    }
    window = &found->second;
  }
  if (call.distinct || call.filter != nullptr) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.at,
                   "DISTINCT and FILTER with OVER are not supported yet");
  }
  const std::string& name = call.name;
  std::vector<BoundPtr> args;
  std::string text;
  SqlType type;
  const bool pure = std::ranges::find(kWindowFunctions, name) != std::end(kWindowFunctions);
  if (!pure && !IsAggregateName(name))
    return InvalidAt(call.at, "function cannot take OVER, name=", name);
  if (pure) {
    ASSIGN_OR_RAISE(args, Arguments(call.args, context));
    const bool moves = name == "LAG" || name == "LEAD";
    const bool value = name == "FIRST_VALUE" || name == "LAST_VALUE";
    const bool counts =
        name == "ROW_NUMBER" || name == "RANK" || name == "DENSE_RANK" || name == "NTILE";
    const size_t least = moves || value || name == "NTILE" ? 1 : 0;
    if (args.size() < least || args.size() > (moves ? 3 : least))
      return InvalidAt(call.at, "function has a wrong number of arguments, name=", name);
    std::string list;
    for (size_t i = 1; i <= args.size(); ++i) list += (i > 1 ? ", $" : "$") + std::to_string(i);
    text = name + "(" + list + ")";
    type = moves || value ? args[0]->type
                          : SqlType::Of(counts ? SqlKind::kBigInt : SqlKind::kDouble, false);
    if (moves && args.size() == 3) {
      ASSIGN_OR_RAISE(args[2], Widen(args[2], args[0]->type, call.at));
      type.nullable = args[0]->type.nullable || args[2]->type.nullable;
    } else if (moves) {
      type.nullable = true;
    }
  } else {
    ExprContext inner = context;
    inner.grouped = true;  // A row is always in its own window.
    ASSIGN_OR_RAISE(const BoundPtr aggregate, Aggregate(call, inner));
    if (aggregate->kind != BoundKind::kAggregate || IsVariance(name)) {
      return ErrorAt(ErrorCode::kUnsupportedVersion, call.at, name,
                     " of this type with OVER is not supported yet");
    }
    args = aggregate->args;
    text = aggregate->text;
    type = aggregate->type;
    if (window->from && name != "COUNT") type.nullable = true;  // A frame may hold no row.
    text.erase(std::remove(text.begin(), text.end(), '#'), text.end());
  }
  ASSIGN_OR_RAISE(const std::string over, WindowText(*window, context, &args));
  if (pure) {
    text += over;
  } else {
    for (size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += over.size())
      text.replace(at, 1, over);
  }
  auto bound = std::make_shared<Bound>(*MakeTyped(name, type, text, std::move(args)));
  bound->window = true;
  return bound;
}

namespace {

using Edge = ast::WindowSpec::Bound;

// ROWS counts rows; RANGE with a distance needs one key that it can be taken from.
Status CheckDistance(const ast::WindowSpec& window, const Edge& edge, const Bound& distance,
                     const std::vector<SqlType>& keys) {
  const Position at = edge.offset->at;
  if (distance.constant && distance.constant->starts_with("-"))
    return InvalidAt(at, "window edge cannot be negative");
  if (window.rows) {
    return distance.type.is_integer() && distance.constant
               ? Status::OK()
               : InvalidAt(at, "ROWS needs a constant whole number as window edge");
  }
  if (keys.size() != 1)
    return InvalidAt(at, "RANGE with a distance needs one key of ORDER BY, keys=", keys.size());
  const SqlType& key = keys.front();
  const bool times = distance.number && distance.type.kind == SqlKind::kIntervalSecond &&
                     (key.is_timestamp() || key.kind == SqlKind::kDate);
  const bool numbers = distance.type.is_numeric() && distance.constant && key.is_numeric();
  if (times || numbers) return Status::OK();
  return InvalidAt(at, "window edge does not fit the key of ORDER BY, edge=",
                   distance.type.WithNullable(true).ToString(),
                   " key=", key.WithNullable(true).ToString());
}

// A frame that ends before it begins is none.
Status CheckOrder(const ast::WindowSpec& window) {
  using Kind = Edge::Kind;
  const auto rank = [](Kind kind) {
    constexpr Kind kInOrder[] = {Kind::kUnboundedPreceding, Kind::kPreceding, Kind::kCurrentRow,
                                 Kind::kFollowing, Kind::kUnboundedFollowing};
    return std::ranges::find(kInOrder, kind) - std::begin(kInOrder);
  };
  const Kind to = window.to ? window.to->kind : Kind::kCurrentRow;
  const bool possible = rank(window.from->kind) <= rank(to) &&
                        window.from->kind != Kind::kUnboundedFollowing &&
                        to != Kind::kUnboundedPreceding;
  return possible ? Status::OK() : InvalidAt(window.at, "window frame ends before it begins");
}

}  // namespace

Result<std::string> Binder::Impl::EdgeText(const ast::WindowSpec& window,
                                           const ast::WindowSpec::Bound& edge,
                                           const std::vector<SqlType>& keys, ExprContext& context) {
  using Kind = Edge::Kind;
  switch (edge.kind) {
    case Kind::kUnboundedPreceding:
      return std::string("UNBOUNDED PRECEDING");
    case Kind::kUnboundedFollowing:
      return std::string("UNBOUNDED FOLLOWING");
    case Kind::kCurrentRow:
      return std::string("CURRENT ROW");
    default:
      break;
  }
  ASSIGN_OR_RAISE(const BoundPtr value, Expression(*edge.offset, context));
  RETURN_NOT_OK(CheckDistance(window, edge, *value, keys));
  const std::string offset = value->number
                                 ? "INTERVAL '" + std::to_string(*value->number) + " milliseconds'"
                                 : *value->constant;
  return offset + (edge.kind == Kind::kPreceding ? " PRECEDING" : " FOLLOWING");
}

Result<std::string> Binder::Impl::WindowText(const ast::WindowSpec& window, ExprContext& context,
                                             std::vector<BoundPtr>* args) {
  const auto place = [args](BoundPtr value) {
    args->push_back(std::move(value));
    return "$" + std::to_string(args->size());
  };
  std::string text;
  for (const ast::ExprPtr& expr : window.partition_by) {
    ASSIGN_OR_RAISE(BoundPtr value, Expression(*expr, context));
    text += (text.empty() ? "PARTITION BY " : ", ") + place(std::move(value));
  }
  std::string order;
  std::vector<SqlType> keys;
  for (const ast::SortKey& key : window.order_by) {
    ASSIGN_OR_RAISE(BoundPtr value, Expression(*key.expr, context));
    keys.push_back(value->type);
    order += (order.empty() ? " ORDER BY " : ", ") + place(std::move(value)) + SortDirection(key);
  }
  text += order;
  if (window.from) {
    RETURN_NOT_OK(CheckOrder(window));
    ASSIGN_OR_RAISE(const std::string from, EdgeText(window, *window.from, keys, context));
    std::string to = "CURRENT ROW";
    if (window.to) {
      ASSIGN_OR_RAISE(to, EdgeText(window, *window.to, keys, context));
    }
    text += std::string(window.rows ? " ROWS" : " RANGE") + " BETWEEN " + from + " AND " + to;
  }
  return " OVER (" + text + ")";
}

}  // namespace sluice::sql
