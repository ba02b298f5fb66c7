#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "sql/binder_internal.h"

namespace sluice::sql {

bool IsTableOf(const ScopeColumn& column, const std::vector<ast::Name>& names, size_t parts) {
  if (parts == 0) return !column.merged;
  return parts <= column.qualifier.size() &&
         std::equal(names.begin(), names.begin() + static_cast<ptrdiff_t>(parts),
                    column.qualifier.end() - static_cast<ptrdiff_t>(parts));
}

std::string Joined(const std::vector<ast::Name>& names) {
  std::string text;
  for (const ast::Name& name : names) text += (text.empty() ? "" : ".") + name;
  return text;
}

namespace {

/// What names are in one scope.
struct Named {
  const ScopeColumn* column = nullptr;  ///< The first one of the name.
  int columns = 0;
  size_t at = 0;       ///< Its name among the names; fields of it follow.
  bool table = false;  ///< There is such a table.
};

// The first `parts` are the table, the one `at` is the column.
Named FindAt(const Scope& scope, const std::vector<ast::Name>& names, size_t parts, size_t at) {
  Named named{.at = at};
  for (const ScopeColumn& column : scope.columns) {
    if (!IsTableOf(column, names, parts)) continue;
    named.table = parts > 0;
    if (column.name != names[at]) continue;
    if (named.columns++ == 0) named.column = &column;
  }
  return named;
}

// As Flink, r.x also is a field of the column r of the table r that has no column x.
Named FindColumn(const Scope& scope, const std::vector<ast::Name>& names, size_t parts) {
  const Named named = FindAt(scope, names, parts, parts);
  if (!named.table || named.column != nullptr || parts > 1) return named;
  const Named row = FindAt(scope, names, 1, 0);
  const bool is_row = row.column != nullptr && row.column->value->type.kind == SqlKind::kRow;
  return is_row ? row : named;
}

std::string Hint(const Scope& scope, const std::string& name) {
  for (const ScopeColumn& column : scope.columns) {
    if (SameUpToCase(column.name, name)) return ", did you mean " + column.name + "?";
  }
  return "";
}

}  // namespace

Result<BoundPtr> Binder::Impl::Column(const ast::Expr& expr, ExprContext& context) {
  const std::vector<ast::Name>& names = expr.names;
  if (context.aliases != nullptr && names.size() == 1) {
    const auto alias = context.aliases->find(names[0]);
    if (alias != context.aliases->end()) return alias->second;
  }
  // As many leading parts as can be are a table, of this query or of one around it; then come the
  // column and its fields. What is a table here is not the column of another table.
  const auto not_found = [&] {
    return InvalidAt(expr.at, "column not found, name=", Shown(Joined(names)),
                     Hint(*context.scope, names.back()));
  };
  for (size_t parts = names.size(); parts-- > 0;) {
    for (Scope* scope = context.scope; scope != nullptr; scope = scope->outer) {
      const Named named = FindColumn(*scope, names, parts);
      if (named.columns > 1)
        return InvalidAt(expr.at, "column is ambiguous, name=", Shown(Joined(names)));
      if (named.column == nullptr && named.table) return not_found();
      if (named.column == nullptr) continue;
      BoundPtr value = Use(*named.column, *scope, context);
      for (size_t i = named.at + 1; i < names.size(); ++i) {
        ASSIGN_OR_RAISE(value, Field(std::move(value), names[i], expr.at));
      }
      return value;
    }
  }
  return not_found();
}

// The column's value, noted where what is read is kept.
BoundPtr Binder::Impl::Use(const ScopeColumn& column, const Scope& scope,
                           const ExprContext& context) {
  Frame* frame = context.scope->frame;
  for (; frame != scope.frame && frame != nullptr; frame = frame->parent) {
    if (column.value->kind == BoundKind::kColumn) frame->outer_columns.insert(column.value->text);
  }
  if (column.scan >= 0) scans_[static_cast<size_t>(column.scan)].used.insert(column.scan_column);
  return column.value;
}

Result<BoundPtr> Binder::Impl::Field(BoundPtr row, const std::string& name, Position at) {
  if (row->type.kind != SqlKind::kRow)
    return InvalidAt(at, "value has no fields, field=", name, " type=", row->type.ToString());
  const auto found = std::ranges::find(row->type.names, name);
  if (found == row->type.names.end()) return InvalidAt(at, "field not found, name=", name);
  const auto position = static_cast<size_t>(found - row->type.names.begin());
  SqlType type = row->type.children[position];
  type.nullable = type.nullable || row->type.nullable;
  return MakeTyped("FIELD", type, "struct_extract($1, " + EscapeTemplate(QuoteString(name)) + ")",
                   {std::move(row)});
}

}  // namespace sluice::sql
