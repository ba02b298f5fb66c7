#include <algorithm>
#include <cctype>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

/// How many leading parts of `names` are the column's qualifier with its name? 0 = another column.
size_t MatchedParts(const ScopeColumn& column, const std::vector<ast::Name>& names) {
  if (!column.merged && names[0] == column.name) return 1;
  for (size_t parts = 1; parts < names.size() && parts <= column.qualifier.size(); ++parts) {
    const bool same = std::equal(names.begin(), names.begin() + static_cast<ptrdiff_t>(parts),
                                 column.qualifier.end() - static_cast<ptrdiff_t>(parts));
    if (same && names[parts] == column.name) return parts + 1;
  }
  return 0;
}

bool SameUpToCase(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b,
                            [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

std::string Hint(const Scope& scope, const std::string& name) {
  for (const ScopeColumn& column : scope.columns) {
    if (SameUpToCase(column.name, name)) return ", did you mean " + column.name + "?";
  }
  return "";
}

std::string Joined(const std::vector<ast::Name>& names) {
  std::string text;
  for (const ast::Name& name : names) text += (text.empty() ? "" : ".") + name;
  return text;
}

}  // namespace

Result<BoundPtr> Binder::Impl::Column(const ast::Expr& expr, ExprContext& context) {
  const std::vector<ast::Name>& names = expr.names;
  if (context.aliases != nullptr && names.size() == 1) {
    const auto alias = context.aliases->find(names[0]);
    if (alias != context.aliases->end()) return alias->second;
  }
  Frame* inner = context.scope->frame;
  for (Scope* scope = context.scope; scope != nullptr; scope = scope->outer) {
    const ScopeColumn* found = nullptr;
    size_t parts = 0;
    for (const ScopeColumn& column : scope->columns) {
      const size_t matched = MatchedParts(column, names);
      if (matched == 0 || (found != nullptr && matched < parts)) continue;
      if (found != nullptr && matched == parts)
        return InvalidAt(expr.at, "column is ambiguous, name=", Shown(Joined(names)));
      found = &column;
      parts = matched;
    }
    if (found == nullptr) continue;
    for (Frame* frame = inner; frame != scope->frame && frame != nullptr; frame = frame->parent) {
      if (found->value->kind == BoundKind::kColumn) frame->outer_columns.insert(found->value->text);
    }
    if (found->scan >= 0) scans_[static_cast<size_t>(found->scan)].used.insert(found->scan_column);
    BoundPtr value = found->value;
    for (; parts < names.size(); ++parts) {
      ASSIGN_OR_RAISE(value, Field(std::move(value), names[parts], expr.at));
    }
    return value;
  }
  return InvalidAt(expr.at, "column not found, name=", Shown(Joined(names)),
                   Hint(*context.scope, names.back()));
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
