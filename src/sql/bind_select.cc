#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

using ast::ExprKind;

struct Item {
  BoundPtr value;
  std::string name;
  Position at;
};

struct OrderKey {
  BoundPtr value;  // Null when `item` says which column of the result.
  std::optional<size_t> item;
  std::string direction;
  Position at;
};

/// Splits a grouped SELECT into the aggregation and what is computed from its result.
class Grouping {
 public:
  Grouping(Binder::Impl& binder, const Scope& scope) : binder_(binder) {
    for (const ScopeColumn& column : scope.columns) {
      if (column.value->kind == BoundKind::kColumn) own_.insert(column.value->text);
    }
  }

  /// A plain column keeps its name, so that subqueries that take it stay right.
  void AddKey(BoundPtr key, bool may_be_missing) {
    SqlType type = key->type;
    if (may_be_missing) type.nullable = true;
    const std::string name = key->kind == BoundKind::kColumn ? key->text : binder_.NextName();
    columns_.push_back({key, MakeColumn(name, type)});
    ++keys_;
  }

  /// The same expression over the aggregation's result.
  Result<BoundPtr> Rewrite(const BoundPtr& expr, Position at) {
    for (const Output& output : columns_) {
      if (SameExpression(*output.value, *expr)) return output.column;
    }
    if (expr->kind == BoundKind::kAggregate) {
      columns_.push_back({expr, MakeColumn(binder_.NextName(), expr->type)});
      return columns_.back().column;
    }
    if (expr->kind == BoundKind::kColumn) {
      if (own_.contains(expr->text))
        return InvalidAt(at, "expression uses a column that is not grouped");
      return expr;
    }
    for (const std::string& name : expr->outer_columns) {
      if (own_.contains(name) && !IsKey(name))
        return InvalidAt(at, "subquery uses a column that is not grouped");
    }
    if (expr->args.empty()) return expr;
    auto copy = std::make_shared<Bound>(*expr);
    for (BoundPtr& arg : copy->args) {
      ASSIGN_OR_RAISE(arg, Rewrite(arg, at));
    }
    return copy;
  }

  /// SELECT keys, aggregates FROM … GROUP BY ….
  std::string Sql(const std::string& from, const std::string& where,
                  const std::vector<std::vector<size_t>>& grouping_sets) const {
    std::string list;
    for (const Output& output : columns_) {
      list +=
          (list.empty() ? "" : ", ") + binder_.Typed(*output.value) + " AS " + output.column->text;
    }
    std::string sql =
        "SELECT " + (list.empty() ? "COUNT(*) AS " + binder_.NextName() : list) + from + where;
    if (keys_ == 0 && grouping_sets.empty()) return sql;
    const auto key_list = [this](auto&& positions) {
      std::string text;
      for (const size_t i : positions)
        text += (text.empty() ? "" : ", ") + binder_.Typed(*columns_[i].value);
      return text;
    };
    if (grouping_sets.empty()) {
      std::vector<size_t> all(keys_);
      for (size_t i = 0; i < keys_; ++i) all[i] = i;
      return sql + " GROUP BY " + key_list(all);
    }
    std::string sets;
    for (const auto& set : grouping_sets)
      sets += (sets.empty() ? "(" : ", (") + key_list(set) + ")";
    return sql + " GROUP BY GROUPING SETS (" + sets + ")";
  }

 private:
  struct Output {
    BoundPtr value;
    BoundPtr column;
  };
  bool IsKey(const std::string& name) const {
    return std::any_of(columns_.begin(), columns_.begin() + static_cast<ptrdiff_t>(keys_),
                       [&](const Output& output) { return output.column->text == name; });
  }

  Binder::Impl& binder_;
  std::set<std::string> own_;
  std::vector<Output> columns_;  // Keys first.
  size_t keys_ = 0;
};

std::string NameOfItem(const ast::SelectItem& item, size_t position) {
  if (!item.alias.empty()) return item.alias;
  if (item.expr->kind == ExprKind::kColumn || item.expr->kind == ExprKind::kField)
    return item.expr->names.back();
  return "EXPR$" + std::to_string(position);
}

Status ExpandStar(const ast::Expr& star, const Scope& scope, std::vector<Item>* items) {
  const size_t before = items->size();
  for (const ScopeColumn& column : scope.columns) {
    const bool qualified = !star.names.empty();
    if (column.hidden || (column.merged && !qualified)) continue;
    if (qualified && (column.qualifier.empty() || column.qualifier.back() != star.names.back()))
      continue;
    items->push_back({column.value, column.name, star.at});
  }
  if (items->size() > before) return Status::OK();
  return star.names.empty() ? InvalidAt(star.at, "* needs a FROM clause")
                            : InvalidAt(star.at, "table is not in FROM, name=", star.names.back());
}

Result<std::vector<Item>> BindItems(Binder::Impl& binder, const ast::Select& select,
                                    ExprContext& context) {
  std::vector<Item> items;
  for (const ast::SelectItem& item : select.items) {
    if (item.expr->kind == ExprKind::kStar) {
      RETURN_NOT_OK(ExpandStar(*item.expr, *context.scope, &items));
      continue;
    }
    ASSIGN_OR_RAISE(BoundPtr value, binder.Expression(*item.expr, context));
    items.push_back({std::move(value), NameOfItem(item, items.size()), item.expr->at});
  }
  return items;
}

Result<std::vector<OrderKey>> BindOrder(Binder::Impl& binder,
                                        const std::vector<ast::SortKey>& order,
                                        const std::vector<Item>& items, const ast::Select& select,
                                        ExprContext context) {
  std::map<std::string, BoundPtr> aliases;
  for (size_t i = 0; i < select.items.size(); ++i) {
    if (!select.items[i].alias.empty()) {
      const auto item = std::ranges::find(items, select.items[i].alias, &Item::name);
      if (item != items.end()) aliases.emplace(item->name, item->value);
    }
  }
  context.aliases = &aliases;
  context.clause = "ORDER BY";
  std::vector<OrderKey> keys;
  for (const ast::SortKey& key : order) {
    OrderKey bound{.direction = SortDirection(key), .at = key.expr->at};
    if (key.expr->kind == ExprKind::kNumber && key.expr->number_kind == TokenKind::kInteger) {
      const size_t position = std::strtoull(key.expr->text.c_str(), nullptr, 10);
      if (position < 1 || position > items.size()) {
        return InvalidAt(key.expr->at,
                         "ORDER BY position is not in the select list, position=", position);
      }
      bound.item = position - 1;
    } else {
      ASSIGN_OR_RAISE(bound.value, binder.Expression(*key.expr, context));
      for (size_t i = 0; i < items.size() && !bound.item; ++i) {
        if (SameExpression(*items[i].value, *bound.value)) bound.item = i;
      }
    }
    if (select.distinct && !bound.item) {
      return InvalidAt(key.expr->at,
                       "ORDER BY of SELECT DISTINCT needs columns of the select list");
    }
    keys.push_back(std::move(bound));
  }
  return keys;
}

Status CheckGroupKey(const ast::Expr& expr, const Bound& key) {
  if (ContainsAggregate(key) || key.window)
    return InvalidAt(expr.at, "GROUP BY cannot hold an aggregate");
  if (key.kind == BoundKind::kLiteral)
    return InvalidAt(expr.at, "GROUP BY takes expressions, not positions or constants");
  return Status::OK();
}

}  // namespace

Result<BoundQuery> Binder::Impl::Select(const ast::Select& select,
                                        const std::vector<ast::SortKey>* order, Scope* outer,
                                        Frame* frame) {
  BoundRelation relation;
  if (select.from != nullptr) {
    ASSIGN_OR_RAISE(relation, From(*select.from, outer, frame));
  }
  Scope scope{.columns = relation.columns, .outer = outer, .frame = frame};
  ExprContext context{.scope = &scope, .clause = "WHERE"};
  std::string where;
  if (select.where != nullptr) {
    ASSIGN_OR_RAISE(BoundPtr condition, Condition(*select.where, context));
    condition = WithJoinKeys(condition, scope.columns);
    PushPredicates(condition, scope.columns);
    where = " WHERE " + Emit(*condition);
  }

  // A window in GROUP BY becomes two columns of the relation, by which it is then grouped.
  size_t window_position = 0;
  context.clause = "GROUP BY";
  ASSIGN_OR_RAISE(std::optional<GroupWindow> window,
                  FindGroupWindow(select, context, &window_position));
  if (window) {
    const Position at = select.group_by[window_position]->at;
    ASSIGN_OR_RAISE(WindowColumns columns, AddWindow(window->kind, window->time,
                                                     window->intervals_ms, at, relation, where));
    window->start = columns.start;
    window->end = columns.end;
    relation.sql = std::move(columns.sql);
    where.clear();
    context.window = &*window;
  }

  context.clause = "SELECT";
  context.aggregates = true;
  context.grouped = select.grouped && !(select.group_by.empty() && select.grouping_sets.empty());
  context.windows = &select.windows;
  ASSIGN_OR_RAISE(std::vector<Item> items, BindItems(*this, select, context));
  BoundPtr having;
  if (select.having != nullptr) {
    context.clause = "HAVING";
    ASSIGN_OR_RAISE(having, Condition(*select.having, context));
  }
  std::vector<OrderKey> keys;
  if (order != nullptr) {
    ASSIGN_OR_RAISE(keys, BindOrder(*this, *order, items, select, context));
  }

  std::string from = relation.sql.empty() ? "" : " FROM " + relation.sql;
  bool aggregated = select.grouped || having != nullptr;
  for (const Item& item : items) aggregated = aggregated || ContainsAggregate(*item.value);
  for (const OrderKey& key : keys)
    aggregated = aggregated || (key.value != nullptr && ContainsAggregate(*key.value));
  if (aggregated) {
    Grouping grouping(*this, scope);
    ExprContext key_context{.scope = &scope, .clause = "GROUP BY"};
    for (size_t i = 0; i < select.group_by.size(); ++i) {
      if (window && i == window_position) {
        grouping.AddKey(window->start, false);
        grouping.AddKey(window->end, false);
        continue;
      }
      ASSIGN_OR_RAISE(BoundPtr key, Expression(*select.group_by[i], key_context));
      RETURN_NOT_OK(CheckGroupKey(*select.group_by[i], *key));
      const bool missing = std::ranges::any_of(
          select.grouping_sets,
          [i](const std::vector<size_t>& set) { return std::ranges::find(set, i) == set.end(); });
      grouping.AddKey(std::move(key), missing);
    }
    for (Item& item : items) {
      ASSIGN_OR_RAISE(item.value, grouping.Rewrite(item.value, item.at));
    }
    if (having != nullptr) {
      ASSIGN_OR_RAISE(having, grouping.Rewrite(having, select.having->at));
    }
    for (OrderKey& key : keys) {
      if (key.item) continue;
      ASSIGN_OR_RAISE(key.value, grouping.Rewrite(key.value, key.at));
    }
    from = " FROM (" + grouping.Sql(from, where, select.grouping_sets) + ")";
    where = having == nullptr ? "" : " WHERE " + Emit(*having);
  }

  BoundQuery bound;
  std::string list;
  for (const Item& item : items) {
    SqlType type = item.value->type;
    bound.columns.push_back({item.name, type, NextName()});
    list +=
        (list.empty() ? "" : ", ") + Typed(*item.value) + " AS " + bound.columns.back().internal;
  }
  bound.sql = std::string("SELECT ") + (select.distinct ? "DISTINCT " : "") + list + from + where;
  std::string sorted;
  for (const OrderKey& key : keys) {
    sorted += (sorted.empty() ? " ORDER BY " : ", ") +
              (key.item ? bound.columns[*key.item].internal : Emit(*key.value)) + key.direction;
  }
  bound.sql += sorted;
  return bound;
}

}  // namespace sluice::sql
