#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

using ast::ExprKind;

Result<BoundPtr> Binder::Impl::Condition(const ast::Expr& expr, ExprContext& context) {
  ASSIGN_OR_RAISE(BoundPtr condition, Expression(expr, context));
  if (condition->is_null_literal())
    return Cast(condition, SqlType::Of(SqlKind::kBoolean), CastMode::kCast, expr.at);
  if (condition->type.kind != SqlKind::kBoolean) {
    return InvalidAt(expr.at, context.clause,
                     " needs a condition, type=", condition->type.ToString());
  }
  return condition;
}

Result<std::vector<BoundPtr>> Binder::Impl::Arguments(const std::vector<ast::ExprPtr>& args,
                                                      ExprContext& context) {
  std::vector<BoundPtr> bound;
  for (const ast::ExprPtr& arg : args) {
    ASSIGN_OR_RAISE(BoundPtr value, Expression(*arg, context));
    bound.push_back(std::move(value));
  }
  return bound;
}

namespace {

// The operation of an expression that may fail while it runs, as Place has it; empty: it cannot,
// or what is inside has a place of its own.
std::string FallibleOperation(const ast::Expr& expr, const SqlType& type) {
  constexpr std::string_view kSafe[] = {"AND", "OR", "NOT", "=",  "<>",       "<",
                                        "<=",  ">",  ">=",  "IF", "COALESCE", "COUNT"};
  switch (expr.kind) {
    case ExprKind::kCall:
      if (std::ranges::find(kSafe, expr.name) != std::end(kSafe) || expr.name.starts_with("IS "))
        return "";
      return expr.name + (type.is_interval() || type.is_timestamp() ||
                                  type.kind == SqlKind::kDate || type.kind == SqlKind::kTime
                              ? " time"
                              : "");
    case ExprKind::kInterval:
      return expr.args.empty() ? "" : "INTERVAL time";
    case ExprKind::kSubquery:
      return "query";
    case ExprKind::kMap:
      return "MAP";
    default:
      return "";
  }
}

}  // namespace

BoundPtr Binder::Impl::Placed(BoundPtr value, std::string operation, Position at,
                              const std::string& column) {
  if (value->kind == BoundKind::kColumn || value->kind == BoundKind::kLiteral) return value;
  if (value->place >= 0) {  // A function that ends in a conversion is better known by its name.
    Place& known = places_[static_cast<size_t>(value->place)];
    if (known.operation == "CAST" && known.at == at) known.operation = std::move(operation);
    return value;
  }
  auto placed = std::make_shared<Bound>(*value);
  placed->place = static_cast<int>(places_.size());
  placed->bytes += PlaceBegin(placed->place).size() + kPlaceEnd.size();
  // What is in a view stands in no text that the user sees: its name does.
  places_.push_back({std::move(operation), view_depth_ > 0 ? view_at_ : at, column});
  return placed;
}

Result<BoundPtr> Binder::Impl::Cast(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                                    const std::string& column) {
  const bool text = value->type.is_text();
  ASSIGN_OR_RAISE(BoundPtr cast, CastTo(value, to, mode, at, context_.time_zone, column));
  if (cast == value || (mode == CastMode::kWiden && !text)) return cast;
  const std::string operation = text && to.is_integer()     ? "text to number"
                                : text && to.is_timestamp() ? "text to timestamp"
                                : to.is_nested()            ? "nested cast"
                                                            : "CAST";
  return Placed(std::move(cast), operation, at, column);
}

Result<BoundPtr> Binder::Impl::Expression(const ast::Expr& expr, ExprContext& context) {
  ASSIGN_OR_RAISE(BoundPtr bound, ExpressionOf(expr, context));
  if (std::string operation = FallibleOperation(expr, bound->type); !operation.empty())
    bound = Placed(std::move(bound), std::move(operation), expr.at);
  if (bound->bytes > kEngineTextMax) {
    if (expr.kind == ExprKind::kString || expr.kind == ExprKind::kBinary)
      return InvalidAt(expr.at, "literal is too long, bytes=", bound->bytes,
                       " limit=", kEngineTextMax);
    return InvalidAt(expr.at, "expression is too large once its functions are written out, bytes=",
                     bound->bytes, " limit=", kEngineTextMax);
  }
  return bound;
}

Result<BoundPtr> Binder::Impl::ExpressionOf(const ast::Expr& expr, ExprContext& context) {
  switch (expr.kind) {
    case ExprKind::kColumn:
      return Column(expr, context);
    case ExprKind::kCall:
      return Call(expr, context);
    case ExprKind::kCase:
      return Case(expr, context);
    case ExprKind::kCast: {
      ASSIGN_OR_RAISE(BoundPtr value, Expression(*expr.args[0], context));
      return Cast(std::move(value), *expr.type,
                  expr.name == "TRY_CAST" ? CastMode::kTry : CastMode::kCast, expr.at);
    }
    case ExprKind::kInterval:
      return Interval(expr, context);
    case ExprKind::kIn:
      return In(expr, context);
    case ExprKind::kExists:
    case ExprKind::kSubquery:
      return Subquery(expr, context);
    case ExprKind::kArray:
    case ExprKind::kMap:
    case ExprKind::kRow:
      return Collection(expr, context);
    case ExprKind::kIndex:
      return IndexOf(expr, context);
    case ExprKind::kField: {
      ASSIGN_OR_RAISE(BoundPtr row, Expression(*expr.args[0], context));
      return Field(std::move(row), expr.names[0], expr.at);
    }
    case ExprKind::kStar:
      return InvalidAt(expr.at, "* cannot stand here");
    case ExprKind::kDescriptor:
      return InvalidAt(expr.at, "DESCRIPTOR cannot stand here");
    default:
      return Literal(expr);
  }
}

// --- CASE, IN, subqueries ---

Result<BoundPtr> Binder::Impl::Case(const ast::Expr& expr, ExprContext& context) {
  size_t next = 0;
  BoundPtr operand;
  if (expr.simple) {
    ASSIGN_OR_RAISE(operand, Expression(*expr.args[next++], context));
  }
  const size_t end = expr.args.size() - (expr.has_else ? 1 : 0);
  std::vector<BoundPtr> conditions;
  std::vector<BoundPtr> results;
  for (; next < end; next += 2) {
    BoundPtr condition;
    if (operand != nullptr) {
      ASSIGN_OR_RAISE(BoundPtr value, Expression(*expr.args[next], context));
      ASSIGN_OR_RAISE(condition, Compare("=", operand, std::move(value), expr.args[next]->at));
    } else {
      ASSIGN_OR_RAISE(condition, Condition(*expr.args[next], context));
    }
    conditions.push_back(std::move(condition));
    ASSIGN_OR_RAISE(BoundPtr result, Expression(*expr.args[next + 1], context));
    results.push_back(std::move(result));
  }
  if (expr.has_else) {
    ASSIGN_OR_RAISE(BoundPtr other, Expression(*expr.args.back(), context));
    results.push_back(std::move(other));
  } else {
    results.push_back(MakeNull());
  }
  RETURN_NOT_OK(Unify(&results, expr.at, "CASE"));
  SqlType type = results.front()->type;
  type.nullable = AnyNullable(results);
  std::string text = "CASE";
  std::vector<BoundPtr> args;
  const auto place = [&args](BoundPtr value) {
    args.push_back(std::move(value));
    return "$" + std::to_string(args.size());
  };
  for (size_t i = 0; i < conditions.size(); ++i) {
    text += " WHEN " + place(conditions[i]);
    text += " THEN " + place(results[i]);
  }
  text += " ELSE " + place(results.back()) + " END";
  return MakeTyped("CASE", type, text, std::move(args));
}

Result<BoundPtr> Binder::Impl::In(const ast::Expr& expr, ExprContext& context) {
  ASSIGN_OR_RAISE(BoundPtr left, Expression(*expr.args[0], context));
  const std::string word = expr.negated ? " NOT IN " : " IN ";
  if (expr.query == nullptr) {
    std::vector<BoundPtr> args{left};
    std::string text = "($1" + word + "(";
    for (size_t i = 1; i < expr.args.size(); ++i) {
      ASSIGN_OR_RAISE(BoundPtr item, Expression(*expr.args[i], context));
      BoundPtr probe = left;
      RETURN_NOT_OK(UnifyForComparison(&probe, &item, expr.args[i]->at, /*lenient=*/true));
      if (!probe->type.SameShape(args[0]->type)) args[0] = probe;
      args.push_back(std::move(item));
    }
    for (size_t i = 1; i < args.size(); ++i) {
      RETURN_NOT_OK(UnifyForComparison(&args[0], &args[i], expr.at, true));
      text += (i > 1 ? ", $" : "$") + std::to_string(i + 1);
    }
    if (AnyMayBeNan({args.begin() + 1, args.end()})) return AnyEqual(args, expr.negated);
    return MakeCall(expr.negated ? "NOT IN" : "IN", SqlType::Of(SqlKind::kBoolean), text + "))",
                    std::move(args));
  }
  Frame frame{.parent = context.scope->frame};
  ASSIGN_OR_RAISE(const BoundQuery query, InnerQuery(expr, context, &frame));
  if (query.columns.size() != 1)
    return InvalidAt(expr.at, "IN needs a query of one column, columns=", query.columns.size());
  BoundPtr column = MakeColumn(query.columns[0].internal, query.columns[0].type);
  const bool nullable = left->type.nullable || column->type.nullable;
  RETURN_NOT_OK(UnifyForComparison(&left, &column, expr.at, true));
  auto bound = std::make_shared<Bound>(*MakeTyped(
      "IN query", SqlType::Of(SqlKind::kBoolean, nullable),
      "($1" + word + "(SELECT " + EscapeTemplate(Emit(*column) + " FROM (" + query.sql) + ")))",
      {std::move(left)}));
  bound->kind = BoundKind::kSubquery;
  bound->outer_columns = std::move(frame.outer_columns);
  return bound;
}

Result<BoundQuery> Binder::Impl::InnerQuery(const ast::Expr& expr, ExprContext& context,
                                            Frame* frame) {
  if (subquery_depth_ >= kSubqueryDepthMax) {
    return InvalidAt(expr.at,
                     "queries in expressions are nested too deep, limit=", kSubqueryDepthMax);
  }
  ++subquery_depth_;
  Result<BoundQuery> query = Query(*expr.query, context.scope, frame);
  --subquery_depth_;
  return query;
}

Result<BoundPtr> Binder::Impl::Subquery(const ast::Expr& expr, ExprContext& context) {
  Frame frame{.parent = context.scope->frame};
  ASSIGN_OR_RAISE(const BoundQuery query, InnerQuery(expr, context, &frame));
  const bool exists = expr.kind == ExprKind::kExists;
  if (!exists && query.columns.size() != 1) {
    return InvalidAt(expr.at,
                     "a query as a value needs one column, columns=", query.columns.size());
  }
  SqlType type =
      exists ? SqlType::Of(SqlKind::kBoolean, false) : query.columns[0].type.WithNullable(true);
  auto bound = std::make_shared<Bound>(
      *MakeTyped("query", type, (exists ? "EXISTS (" : "(") + EscapeTemplate(query.sql) + ")", {}));
  bound->kind = BoundKind::kSubquery;
  bound->outer_columns = std::move(frame.outer_columns);
  return bound;
}

// --- collections ---

Result<BoundPtr> Binder::Impl::Collection(const ast::Expr& expr, ExprContext& context) {
  ASSIGN_OR_RAISE(std::vector<BoundPtr> args, Arguments(expr.args, context));
  std::string list;
  SqlType type{.nullable = false};
  if (expr.kind == ExprKind::kRow) {
    type.kind = SqlKind::kRow;
    for (size_t i = 0; i < args.size(); ++i) {
      type.names.push_back("EXPR$" + std::to_string(i));
      type.children.push_back(args[i]->type);
      list += (i > 0 ? ", \"" : "\"") + EscapeTemplate(type.names.back()) + "\" := $" +
              std::to_string(i + 1);
    }
    return MakeTyped("ROW", type, "struct_pack(" + list + ")", std::move(args));
  }
  if (args.empty()) return InvalidAt(expr.at, "an empty ARRAY or MAP has no type");
  const size_t step = expr.kind == ExprKind::kMap ? 2 : 1;
  std::string lists[2];
  for (size_t part = 0; part < step; ++part) {
    std::vector<BoundPtr> values;
    for (size_t i = part; i < args.size(); i += step) values.push_back(args[i]);
    RETURN_NOT_OK(Unify(&values, expr.at, expr.kind == ExprKind::kMap ? "MAP" : "ARRAY"));
    type.children.push_back(values.front()->type.WithNullable(AnyNullable(values)));
    for (size_t i = 0; i < values.size(); ++i) {
      args[part + i * step] = values[i];
      lists[part] += (i > 0 ? ", $" : "$") + std::to_string(part + i * step + 1);
    }
  }
  type.kind = expr.kind == ExprKind::kMap ? SqlKind::kMap : SqlKind::kArray;
  const std::string text = expr.kind == ExprKind::kMap
                               ? "map([" + lists[0] + "], [" + lists[1] + "])"
                               : "[" + lists[0] + "]";
  return MakeTyped("COLLECTION", type, text, std::move(args));
}

Result<BoundPtr> Binder::Impl::IndexOf(const ast::Expr& expr, ExprContext& context) {
  ASSIGN_OR_RAISE(BoundPtr whole, Expression(*expr.args[0], context));
  ASSIGN_OR_RAISE(BoundPtr index, Expression(*expr.args[1], context));
  const SqlType type = whole->type;
  if (type.kind == SqlKind::kArray) {
    if (!index->type.is_integer())
      return InvalidAt(expr.at, "an ARRAY needs a whole number as index");
    if (index->constant && (*index->constant == "0" || index->constant->starts_with("-"))) {
      return InvalidAt(expr.args[1]->at, "index of an ARRAY starts at 1, index=", *index->constant);
    }
    // The engine counts negative ones from the end; it has nothing at 0.
    return MakeTyped("INDEX", type.children[0].WithNullable(true),
                     "list_extract($1, greatest(CAST($2 AS BIGINT), 0))",
                     {std::move(whole), std::move(index)});
  }
  if (type.kind == SqlKind::kMap) {
    RETURN_NOT_OK(CommonType(index->type, type.children[0])
                      ? Status::OK()
                      : InvalidAt(expr.at, "key of another type than the MAP's"));
    ASSIGN_OR_RAISE(index, Widen(std::move(index), type.children[0], expr.at));
    return MakeTyped("INDEX", type.children[1].WithNullable(true), "map_extract_value($1, $2)",
                     {std::move(whole), std::move(index)});
  }
  return InvalidAt(expr.at, "only ARRAY and MAP have an index, type=", type.ToString());
}

}  // namespace sluice::sql
