#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

std::string_view WordOf(ast::JoinKind kind) {
  switch (kind) {
    case ast::JoinKind::kInner:
      return " JOIN ";
    case ast::JoinKind::kLeft:
      return " LEFT JOIN ";
    case ast::JoinKind::kRight:
      return " RIGHT JOIN ";
    case ast::JoinKind::kFull:
      return " FULL JOIN ";
    case ast::JoinKind::kCross:
      return " CROSS JOIN ";
    case ast::JoinKind::kSemi:
      return " SEMI JOIN ";
    case ast::JoinKind::kAnti:
      return " ANTI JOIN ";
  }
  return "";
}

// Columns of the side that an outer join fills with NULL. Conditions no longer go into their scans:
// IS NULL would lie.
void MakeNullable(std::vector<ScopeColumn>* columns, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    auto value = std::make_shared<Bound>(*(*columns)[i].value);
    value->type.nullable = true;
    (*columns)[i].value = std::move(value);
    (*columns)[i].scan = -1;
  }
}

const ScopeColumn* FindByName(const std::vector<ScopeColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find_if(columns, [&](const ScopeColumn& column) {
    return column.name == name && !column.hidden && !column.merged;
  });
  return found == columns.end() ? nullptr : &*found;
}

}  // namespace

Status Binder::Impl::MergeUsing(const std::vector<ast::Name>& names, Position at,
                                ast::JoinKind kind, const BoundRelation& left,
                                const BoundRelation& right, std::vector<ScopeColumn>* columns,
                                std::string* on) {
  for (const ast::Name& name : names) {
    const ScopeColumn* a = FindByName(left.columns, name);
    const ScopeColumn* b = FindByName(right.columns, name);
    if (a == nullptr || b == nullptr)
      return InvalidAt(at, "USING names a column that a side lacks, name=", name);
    ASSIGN_OR_RAISE(BoundPtr equal, Compare("=", a->value, b->value, at));
    equal = WithJoinKeys(equal, *columns);
    *on += (on->empty() ? "" : " AND ") + Emit(*equal);
    // One column stands for both: the right one of a right join, the first that is not NULL of a
    // full one.
    for (ScopeColumn& column : *columns) {
      const bool is_left = column.value->text == a->value->text;
      const bool is_right = column.value->text == b->value->text;
      if (is_right) column.merged = true;
      if (is_left && kind == ast::JoinKind::kRight) column.value = b->value;
      if (is_left && kind == ast::JoinKind::kFull) {
        std::vector<BoundPtr> both{a->value, b->value};
        RETURN_NOT_OK(Unify(&both, at, "USING"));
        SqlType type = both[0]->type.WithNullable(true);
        column.value = MakeTyped("COALESCE", type, "coalesce($1, $2)", std::move(both));
      }
    }
  }
  return Status::OK();
}

Result<BoundRelation> Binder::Impl::Join(const ast::Relation& relation, Scope* outer,
                                         Frame* frame) {
  ASSIGN_OR_RAISE(BoundRelation left, From(*relation.left, outer, frame));
  // UNNEST and subqueries on the right may use the left's columns.
  Scope lateral{.columns = left.columns, .outer = outer, .frame = frame};
  Scope* right_outer = relation.right->kind == ast::Relation::Kind::kUnnest ? &lateral : outer;
  ASSIGN_OR_RAISE(BoundRelation right, From(*relation.right, right_outer, frame));

  BoundRelation bound;
  bound.columns = left.columns;
  bound.columns.insert(bound.columns.end(), right.columns.begin(), right.columns.end());
  std::string on;
  std::vector<ast::Name> using_columns = relation.using_columns;
  if (relation.natural) {
    for (const ScopeColumn& column : left.columns) {
      if (!column.hidden && FindByName(right.columns, column.name) != nullptr)
        using_columns.push_back(column.name);
    }
    if (using_columns.empty()) return InvalidAt(relation.at, "NATURAL JOIN finds no common column");
  }
  if (!using_columns.empty()) {
    RETURN_NOT_OK(
        MergeUsing(using_columns, relation.at, relation.join, left, right, &bound.columns, &on));
  } else if (relation.on != nullptr) {
    Scope scope{.columns = bound.columns, .outer = outer, .frame = frame};
    ExprContext context{.scope = &scope, .clause = "ON"};
    ASSIGN_OR_RAISE(BoundPtr condition, Condition(*relation.on, context));
    condition = WithJoinKeys(condition, scope.columns);
    if (relation.join == ast::JoinKind::kInner) PushPredicates(condition, scope.columns);
    on = Emit(*condition);
  }
  const size_t left_size = left.columns.size();
  if (relation.join == ast::JoinKind::kLeft || relation.join == ast::JoinKind::kFull) {
    MakeNullable(&bound.columns, left_size, bound.columns.size());
  }
  if (relation.join == ast::JoinKind::kRight || relation.join == ast::JoinKind::kFull) {
    MakeNullable(&bound.columns, 0, left_size);
  }
  if (relation.join == ast::JoinKind::kSemi || relation.join == ast::JoinKind::kAnti)
    bound.columns.resize(left_size);
  bound.sql = "(" + left.sql + std::string(WordOf(relation.join)) + right.sql +
              (on.empty() ? "" : " ON " + on) + ")";
  return bound;
}

}  // namespace sluice::sql
