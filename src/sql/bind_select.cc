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
    if (column.hidden || !IsTableOf(column, star.names, star.names.size())) continue;
    items->push_back({column.value, column.name, star.at});
  }
  if (items->size() > before) return Status::OK();
  return star.names.empty()
             ? InvalidAt(star.at, "* needs a FROM clause")
             : InvalidAt(star.at, "table is not in FROM, name=", Shown(Joined(star.names)));
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

/// One SELECT on its way to SQL, clause by clause.
class SelectBinder {
 public:
  SelectBinder(Binder::Impl& binder, const ast::Select& select, Scope* outer, Frame* frame)
      : binder_(binder), select_(select) {
    scope_.outer = outer;
    scope_.frame = frame;
    context_.scope = &scope_;
  }
  SelectBinder(const SelectBinder&) = delete;
  SelectBinder& operator=(const SelectBinder&) = delete;

  Result<BoundQuery> Bind(const std::vector<ast::SortKey>* order) {
    RETURN_NOT_OK(BindRows());
    RETURN_NOT_OK(BindWindow());
    RETURN_NOT_OK(BindLists(order));
    from_ = relation_.sql.empty() ? "" : " FROM " + relation_.sql;
    if (IsAggregated()) RETURN_NOT_OK(Group());
    return Finish();
  }

 private:
  // FROM and WHERE.
  Status BindRows() {
    if (select_.from != nullptr) {
      ASSIGN_OR_RAISE(relation_, binder_.From(*select_.from, scope_.outer, scope_.frame));
    }
    scope_.columns = relation_.columns;
    if (select_.where == nullptr) return Status::OK();
    context_.clause = "WHERE";
    ASSIGN_OR_RAISE(BoundPtr condition, binder_.Condition(*select_.where, context_));
    condition = WithJoinKeys(condition, scope_.columns);
    binder_.PushPredicates(condition, scope_.columns);
    where_ = " WHERE " + Emit(*condition);
    return Status::OK();
  }

  // A window in GROUP BY becomes two columns of the relation, by which it is then grouped.
  Status BindWindow() {
    context_.clause = "GROUP BY";
    ASSIGN_OR_RAISE(window_, binder_.FindGroupWindow(select_, context_, &window_position_));
    if (!window_) return Status::OK();
    const Position at = select_.group_by[window_position_]->at;
    ASSIGN_OR_RAISE(WindowColumns columns,
                    binder_.AddWindow(window_->kind, window_->time, window_->intervals_ms, at,
                                      relation_, where_));
    window_->start = columns.start;
    window_->end = columns.end;
    relation_.sql = std::move(columns.sql);
    where_.clear();
    context_.window = &*window_;
    return Status::OK();
  }

  // SELECT, HAVING and ORDER BY, over the rows.
  Status BindLists(const std::vector<ast::SortKey>* order) {
    context_.clause = "SELECT";
    context_.aggregates = true;
    context_.grouped =
        select_.grouped && !(select_.group_by.empty() && select_.grouping_sets.empty());
    context_.windows = &select_.windows;
    ASSIGN_OR_RAISE(items_, BindItems(binder_, select_, context_));
    if (select_.having != nullptr) {
      context_.clause = "HAVING";
      ASSIGN_OR_RAISE(having_, binder_.Condition(*select_.having, context_));
    }
    if (order != nullptr) {
      ASSIGN_OR_RAISE(keys_, BindOrder(binder_, *order, items_, select_, context_));
    }
    return Status::OK();
  }

  bool IsAggregated() const {
    const auto aggregates = [](const BoundPtr& value) {
      return value != nullptr && ContainsAggregate(*value);
    };
    return select_.grouped || having_ != nullptr ||
           std::ranges::any_of(items_, aggregates, &Item::value) ||
           std::ranges::any_of(keys_, aggregates, &OrderKey::value);
  }

  // From here on all is over the groups.
  Status Group() {
    Grouping grouping(binder_, scope_);
    RETURN_NOT_OK(AddKeys(&grouping));
    for (Item& item : items_) {
      ASSIGN_OR_RAISE(item.value, grouping.Rewrite(item.value, item.at));
    }
    if (having_ != nullptr) {
      ASSIGN_OR_RAISE(having_, grouping.Rewrite(having_, select_.having->at));
    }
    for (OrderKey& key : keys_) {
      if (key.item) continue;
      ASSIGN_OR_RAISE(key.value, grouping.Rewrite(key.value, key.at));
    }
    from_ = " FROM (" + grouping.Sql(from_, where_, select_.grouping_sets) + ")";
    where_ = having_ == nullptr ? "" : " WHERE " + Emit(*having_);
    return Status::OK();
  }

  Status AddKeys(Grouping* grouping) {
    ExprContext context{.scope = &scope_, .clause = "GROUP BY"};
    for (size_t i = 0; i < select_.group_by.size(); ++i) {
      if (window_ && i == window_position_) {
        grouping->AddKey(window_->start, false);
        grouping->AddKey(window_->end, false);
        continue;
      }
      ASSIGN_OR_RAISE(BoundPtr key, binder_.Expression(*select_.group_by[i], context));
      RETURN_NOT_OK(CheckGroupKey(*select_.group_by[i], *key));
      const bool missing = std::ranges::any_of(
          select_.grouping_sets,
          [i](const std::vector<size_t>& set) { return std::ranges::find(set, i) == set.end(); });
      grouping->AddKey(std::move(key), missing);
    }
    return Status::OK();
  }

  BoundQuery Finish() const {
    BoundQuery bound;
    std::string list;
    for (const Item& item : items_) {
      bound.columns.push_back({item.name, item.value->type, binder_.NextName()});
      list += (list.empty() ? "" : ", ") + binder_.Typed(*item.value) + " AS " +
              bound.columns.back().internal;
    }
    bound.sql =
        std::string("SELECT ") + (select_.distinct ? "DISTINCT " : "") + list + from_ + where_;
    std::string sorted;
    for (const OrderKey& key : keys_) {
      sorted += (sorted.empty() ? " ORDER BY " : ", ") +
                (key.item ? bound.columns[*key.item].internal : Emit(*key.value)) + key.direction;
    }
    bound.sql += sorted;
    return bound;
  }

  Binder::Impl& binder_;
  const ast::Select& select_;
  Scope scope_;
  ExprContext context_;
  BoundRelation relation_;
  std::optional<GroupWindow> window_;
  size_t window_position_ = 0;  // In GROUP BY.
  std::vector<Item> items_;
  BoundPtr having_;
  std::vector<OrderKey> keys_;
  std::string from_;
  std::string where_;
};

}  // namespace

Result<BoundQuery> Binder::Impl::Select(const ast::Select& select,
                                        const std::vector<ast::SortKey>* order, Scope* outer,
                                        Frame* frame) {
  return SelectBinder(*this, select, outer, frame).Bind(order);
}

}  // namespace sluice::sql
