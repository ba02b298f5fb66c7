#include <charconv>

#include "sql/binder_internal.h"

namespace sluice::sql {

Binder::Binder(const BindContext& context) : impl_(std::make_unique<Impl>(context)) {}
Binder::~Binder() = default;

Result<BoundQuery> Binder::BindQuery(const ast::Query& query) {
  Frame frame;
  return impl_->Query(query, nullptr, &frame);
}
Result<ResolvedName> Binder::Resolve(const std::vector<ast::Name>& parts, Position at) const {
  return impl_->Resolve(parts, at);
}
std::vector<ScanUse>& Binder::scans() { return impl_->scans_; }
const std::set<DecimalFunction>& Binder::decimal_functions() const {
  return impl_->decimal_functions_;
}
const std::vector<TableMention>& Binder::mentions() const { return impl_->mentions_; }
const std::vector<Place>& Binder::places() const { return impl_->places_; }

namespace {

// SELECT conversions of a query's columns FROM the query.
Result<BoundQuery> Convert(Binder::Impl& binder, BoundQuery query,
                           const std::vector<SqlType>& types, CastMode mode,
                           const std::vector<Position>& at,
                           const std::vector<std::string>& targets = {}) {
  BoundQuery result;
  std::string list;
  for (size_t i = 0; i < types.size(); ++i) {
    const OutputColumn& from = query.columns[i];
    ASSIGN_OR_RAISE(const BoundPtr value,
                    binder.Cast(MakeColumn(from.internal, from.type), types[i], mode, at[i],
                                targets.empty() ? "" : targets[i]));
    SqlType type = types[i].WithNullable(value->type.nullable);
    result.columns.push_back({from.name, type, binder.NextName()});
    list += (i > 0 ? ", " : "") + binder.Typed(*value) + " AS " + result.columns.back().internal;
  }
  result.sql = "SELECT " + list + " FROM (" + query.sql + ")";
  return result;
}

}  // namespace

Result<BoundQuery> Binder::BindForSink(const ast::Query& query,
                                       const std::vector<types::Column>& targets, Position at) {
  ASSIGN_OR_RAISE(BoundQuery bound, BindQuery(query));
  if (bound.columns.size() != targets.size()) {
    return InvalidAt(at, "query has another number of columns than its target, query=",
                     bound.columns.size(), " target=", targets.size());
  }
  std::vector<SqlType> types;
  std::vector<std::string> names;
  for (size_t i = 0; i < targets.size(); ++i) {
    names.push_back(targets[i].name);
    const SqlType target = SqlType::FromColumn(*targets[i].type);
    if (!ImplicitlyCastable(bound.columns[i].type, target)) {
      return InvalidAt(at, "query and target disagree, write a CAST, column=", targets[i].name,
                       " query=", bound.columns[i].type.ToString(), " target=", target.ToString());
    }
    types.push_back(target);
  }
  return Convert(*impl_, std::move(bound), types, CastMode::kSink,
                 std::vector<Position>(types.size(), at), names);
}

Result<BoundQuery> Binder::InSessionZone(BoundQuery query) {
  const auto instant = [](const OutputColumn& column) { return HoldsInstant(column.type); };
  if (impl_->context_.time_zone == "UTC" || std::ranges::none_of(query.columns, instant))
    return query;
  std::string list;
  for (OutputColumn& column : query.columns) {
    ASSIGN_OR_RAISE(const BoundPtr shown, LocalReadings(MakeColumn(column.internal, column.type),
                                                        impl_->context_.time_zone));
    column.internal = impl_->NextName();
    list += (list.empty() ? "" : ", ") + impl_->Typed(*shown) + " AS " + column.internal;
  }
  query.sql = "SELECT " + list + " FROM (" + query.sql + ")";
  return query;
}

Result<BoundQuery> Binder::BindOverTable(
    const ast::ObjectName& table, const std::vector<types::Column>& targets,
    const std::vector<std::pair<ast::Name, ast::ExprPtr>>& values, const ast::Expr* where) {
  ast::Relation relation;
  relation.at = table.at;
  relation.names = table.parts;
  Frame frame;
  ASSIGN_OR_RAISE(BoundRelation from, impl_->From(relation, nullptr, &frame));
  Scope scope{.columns = from.columns, .frame = &frame};
  ExprContext context{.scope = &scope, .clause = "SET"};
  BoundQuery result;
  std::string list;
  for (const types::Column& target : targets) {
    ast::Expr stored;
    stored.kind = ast::ExprKind::kColumn;
    stored.at = table.at;
    stored.names = {target.name};
    const auto changed =
        std::ranges::find(values, target.name, &std::pair<ast::Name, ast::ExprPtr>::first);
    const ast::Expr& expr = changed == values.end() ? stored : *changed->second;
    ASSIGN_OR_RAISE(BoundPtr value, impl_->Expression(expr, context));
    const SqlType type = SqlType::FromColumn(*target.type);
    if (!ImplicitlyCastable(value->type, type)) {
      return InvalidAt(expr.at, "value and column disagree, write a CAST, column=", target.name,
                       " value=", value->type.ToString(), " type=", type.ToString());
    }
    ASSIGN_OR_RAISE(value,
                    impl_->Cast(std::move(value), type, CastMode::kSink, expr.at, target.name));
    result.columns.push_back(
        {target.name, type.WithNullable(value->type.nullable), impl_->NextName()});
    list +=
        (list.empty() ? "" : ", ") + impl_->Typed(*value) + " AS " + result.columns.back().internal;
  }
  result.sql = "SELECT " + list + " FROM " + from.sql;
  if (where != nullptr) {
    context.clause = "WHERE";
    ASSIGN_OR_RAISE(const BoundPtr condition, impl_->Condition(*where, context));
    impl_->PushPredicates(condition, scope.columns);
    result.sql += " WHERE " + Emit(*condition);
  }
  return result;
}

// --- queries ---

std::string Binder::Impl::Typed(const Bound& expr) const {
  if (expr.kind == BoundKind::kColumn) return expr.text;
  const std::string type = expr.type.EngineName();
  const bool written = expr.kind == BoundKind::kLiteral && expr.text.starts_with("CAST(") &&
                       expr.text.ends_with(" AS " + type + ")");
  if (written) return expr.text;  // Lists of VALUES are long: say it once.
  return "CAST(" + Emit(expr) + " AS " + type + ")";
}

std::string SortDirection(const ast::SortKey& key) {
  const bool first = key.nulls_first.value_or(!key.descending);
  return std::string(key.descending ? " DESC" : " ASC") + (first ? " NULLS FIRST" : " NULLS LAST");
}

Result<BoundQuery> Binder::Impl::Query(const ast::Query& query, Scope* outer, Frame* frame) {
  const size_t depth = common_tables_.size();
  for (const ast::CommonTable& table : query.with) {
    for (size_t i = depth; i < common_tables_.size(); ++i) {
      if (common_tables_[i]->name == table.name) {
        return InvalidAt(table.at, "WITH names a table twice, name=", table.name);
      }
    }
    common_tables_.push_back(&table);
  }
  Result<BoundQuery> bound = Body(*query.body, &query.order_by, outer, frame);
  common_tables_.resize(depth);
  RETURN_NOT_OK(bound.status());
  ASSIGN_OR_RAISE(const std::string limits, Limits(query));
  bound->sql += limits;
  if (bound->sql.size() > kEngineTextMax) {
    return InvalidAt(query.at, "query is too large once views and WITH are written out, bytes=",
                     bound->sql.size(), " limit=", kEngineTextMax);
  }
  return bound;
}

Result<BoundQuery> Binder::Impl::Body(const ast::Body& body, const std::vector<ast::SortKey>* order,
                                      Scope* outer, Frame* frame) {
  if (const auto* select = std::get_if<ast::Select>(&body.node))
    return Select(*select, order, outer, frame);
  Result<BoundQuery> bound = BoundQuery{};
  if (const auto* operation = std::get_if<ast::SetOperation>(&body.node)) {
    bound = SetOperation(*operation, outer, frame);
  } else if (const auto* values = std::get_if<ast::Values>(&body.node)) {
    bound = Values(*values, outer, frame);
  } else {
    bound = Query(*std::get<ast::QueryPtr>(body.node), outer, frame);
    if (bound.ok()) bound->sql = "SELECT * FROM (" + bound->sql + ")";
  }
  RETURN_NOT_OK(bound.status());
  if (order != nullptr && !order->empty()) {
    ASSIGN_OR_RAISE(const std::string keys, OutputOrder(*bound, *order));
    bound->sql = "SELECT * FROM (" + bound->sql + ")" + keys;
  }
  return bound;
}

namespace {

std::string_view WordOf(ast::SetOperation::Op op) {
  switch (op) {
    case ast::SetOperation::Op::kUnion:
      return "UNION";
    case ast::SetOperation::Op::kIntersect:
      return "INTERSECT";
    case ast::SetOperation::Op::kExcept:
      return "EXCEPT";
  }
  return "";
}

}  // namespace

Result<BoundQuery> Binder::Impl::SetOperation(const ast::SetOperation& operation, Scope* outer,
                                              Frame* frame) {
  // A chain of UNION is one DISTINCT over all its rows: the engine would keep a table for each.
  const bool distinct = operation.operands.size() > 2 && !operation.all;
  const bool all = operation.all || distinct;
  const std::string word = std::string(WordOf(operation.op)) + (all ? " ALL" : "");
  std::vector<BoundQuery> queries;
  std::vector<SqlType> types;
  for (const auto& operand : operation.operands) {
    ASSIGN_OR_RAISE(BoundQuery query, Body(*operand, nullptr, outer, frame));
    if (queries.empty()) {
      for (const OutputColumn& column : query.columns) types.push_back(column.type);
    } else if (query.columns.size() != types.size()) {
      return InvalidAt(operation.at, WordOf(operation.op),
                       " needs the same number of columns on both sides, left=", types.size(),
                       " right=", query.columns.size());
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const auto type = CommonType(types[i], query.columns[i].type);
      if (!type) {
        return InvalidAt(operation.at, WordOf(operation.op), " has no common type, column=", i + 1,
                         " left=", types[i].ToString(),
                         " right=", query.columns[i].type.ToString());
      }
      types[i] = *type;
    }
    queries.push_back(std::move(query));
  }
  const std::vector<Position> at(types.size(), operation.at);
  BoundQuery whole;
  for (BoundQuery& query : queries) {
    ASSIGN_OR_RAISE(query, Convert(*this, std::move(query), types, CastMode::kWiden, at));
    if (whole.columns.empty()) whole.columns = query.columns;
    for (size_t i = 0; i < types.size(); ++i) {
      whole.columns[i].type.nullable =
          whole.columns[i].type.nullable || query.columns[i].type.nullable;
    }
    whole.sql += (whole.sql.empty() ? "(" : " " + word + " (") + query.sql + ")";
  }
  if (distinct) whole.sql = "SELECT DISTINCT * FROM (" + whole.sql + ")";
  return whole;
}

Result<BoundQuery> Binder::Impl::Values(const ast::Values& values, Scope* outer, Frame* frame) {
  Scope scope{.outer = outer, .frame = frame};
  ExprContext context{.scope = &scope, .clause = "VALUES"};
  const size_t width = values.rows.front().size();
  std::vector<std::vector<BoundPtr>> columns(width);
  for (const auto& row : values.rows) {
    if (row.size() != width) {
      return InvalidAt(row.empty() ? values.at : row.front()->at,
                       "VALUES has rows of different length, first=", width, " this=", row.size());
    }
    for (size_t i = 0; i < width; ++i) {
      ASSIGN_OR_RAISE(BoundPtr value, Expression(*row[i], context));
      columns[i].push_back(std::move(value));
    }
  }
  BoundQuery bound;
  std::string names;
  for (size_t i = 0; i < width; ++i) {
    RETURN_NOT_OK(Unify(&columns[i], values.at, "VALUES"));
    SqlType type = columns[i].front()->type;
    for (const BoundPtr& value : columns[i]) type.nullable = type.nullable || value->type.nullable;
    bound.columns.push_back({"EXPR$" + std::to_string(i), type, NextName()});
    names += (i > 0 ? ", " : "") + bound.columns.back().internal;
  }
  bound.sql = "SELECT * FROM (VALUES ";
  for (size_t row = 0; row < values.rows.size(); ++row) {
    bound.sql += row > 0 ? ", (" : "(";
    for (size_t i = 0; i < width; ++i) bound.sql += (i > 0 ? ", " : "") + Typed(*columns[i][row]);
    bound.sql += ")";
  }
  bound.sql += ") AS v(" + names + ")";
  return bound;
}

// ORDER BY over a set operation or VALUES: columns of the result, by name or position.
Result<std::string> Binder::Impl::OutputOrder(const BoundQuery& query,
                                              const std::vector<ast::SortKey>& order) {
  Frame frame;
  Scope scope{.frame = &frame};
  for (const OutputColumn& column : query.columns) {
    scope.columns.push_back(
        {.name = column.name, .value = MakeColumn(column.internal, column.type)});
  }
  ExprContext context{.scope = &scope, .clause = "ORDER BY"};
  std::string text;
  for (const ast::SortKey& key : order) {
    std::string sql;
    if (key.expr->kind == ast::ExprKind::kNumber && key.expr->number_kind == TokenKind::kInteger) {
      const size_t position = std::strtoull(key.expr->text.c_str(), nullptr, 10);
      if (position < 1 || position > query.columns.size()) {
        return InvalidAt(key.expr->at,
                         "ORDER BY position is not in the select list, position=", position);
      }
      sql = query.columns[position - 1].internal;
    } else {
      ASSIGN_OR_RAISE(const BoundPtr bound, Expression(*key.expr, context));
      sql = Emit(*bound);
    }
    text += (text.empty() ? " ORDER BY " : ", ") + sql + SortDirection(key);
  }
  return text;
}

Result<std::string> Binder::Impl::Limits(const ast::Query& query) {
  std::string text;
  const auto add = [&text](const ast::ExprPtr& expr, std::string_view word) -> Status {
    if (expr == nullptr) return Status::OK();
    if (expr->kind != ast::ExprKind::kNumber || expr->number_kind != TokenKind::kInteger) {
      return InvalidAt(expr->at, word, " needs a whole number");
    }
    int64_t rows = 0;
    const char* const end = expr->text.data() + expr->text.size();
    if (std::from_chars(expr->text.data(), end, rows).ec != std::errc())
      return InvalidAt(expr->at, word, " is too large, number=", Shown(expr->text));
    text += " " + std::string(word) + " " + std::to_string(rows);
    return Status::OK();
  };
  RETURN_NOT_OK(add(query.limit, "LIMIT"));
  RETURN_NOT_OK(add(query.offset, "OFFSET"));
  return text;
}

}  // namespace sluice::sql
