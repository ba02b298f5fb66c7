#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

constexpr std::string_view kWindowFunctions[] = {
    "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST",
    "NTILE",      "LAG",  "LEAD",       "FIRST_VALUE",  "LAST_VALUE",
};

}  // namespace

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
