#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

// Nullable only when all are, as COALESCE.
bool AllNullable(const std::vector<BoundPtr>& args) {
  return std::ranges::all_of(args, [](const BoundPtr& arg) { return arg->type.nullable; });
}

std::string List(size_t from, size_t to) {
  std::string text;
  for (size_t i = from; i <= to; ++i) text += (i > from ? ", $" : "$") + std::to_string(i);
  return text;
}

}  // namespace

Result<BoundPtr> Binder::Impl::ConditionalFunction(const ast::Expr& call,
                                                   std::vector<BoundPtr>& args, bool* matched) {
  const std::string& name = call.name;
  const auto wrong_count = [&] {
    return InvalidAt(call.at, "function has a wrong number of arguments, name=", name);
  };
  if (name == "COALESCE" || name == "IFNULL") {
    if (args.empty() || (name == "IFNULL" && args.size() != 2)) return wrong_count();
    RETURN_NOT_OK(Unify(&args, call.at, name));
    const SqlType type = args[0]->type.WithNullable(AllNullable(args));
    return MakeTyped(name, type, "coalesce(" + List(1, args.size()) + ")", args);
  }
  if (name == "NULLIF") {
    if (args.size() != 2) return wrong_count();
    const SqlType type = args[0]->type.WithNullable(true);
    ASSIGN_OR_RAISE(BoundPtr equal, Compare("=", args[0], args[1], call.at));
    return MakeTyped(name, type, "CASE WHEN $1 THEN NULL ELSE $2 END", {std::move(equal), args[0]});
  }
  if (name == "IF") {
    if (args.size() != 3) return wrong_count();
    if (args[0]->type.kind != SqlKind::kBoolean)
      return InvalidAt(call.at, "IF needs a condition, type=", args[0]->type.ToString());
    std::vector<BoundPtr> values{args[1], args[2]};
    RETURN_NOT_OK(Unify(&values, call.at, name));
    const SqlType type = values[0]->type.WithNullable(AnyNullable(values));
    return MakeTyped(name, type, "CASE WHEN $1 THEN $2 ELSE $3 END",
                     {args[0], values[0], values[1]});
  }
  if (name == "GREATEST" || name == "LEAST") {
    if (args.empty()) return wrong_count();
    RETURN_NOT_OK(Unify(&args, call.at, name));
    const SqlType type = args[0]->type.WithNullable(AnyNullable(args));
    std::string text = "CASE WHEN ";
    for (size_t i = 1; i <= args.size(); ++i)
      text += (i > 1 ? " OR $" : "$") + std::to_string(i) + " IS NULL";
    text += " THEN NULL ELSE " + std::string(name == "GREATEST" ? "greatest(" : "least(") +
            List(1, args.size()) + ") END";
    return MakeTyped(name, type, text, args);
  }
  return TextFunction(call, args, matched);
}

// Functions on text whose form depends on their arguments.
Result<BoundPtr> Binder::Impl::TextFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                            bool* matched) {
  const std::string& name = call.name;
  if (name == "CONCAT" || name == "CONCAT_WS") {
    for (const BoundPtr& arg : args) {
      if (!arg->type.is_text() && !arg->is_null_literal())
        return InvalidAt(call.at, name, " needs text, type=", arg->type.ToString());
    }
    if (args.size() < 2)
      return InvalidAt(call.at, "function has a wrong number of arguments, name=", name);
    const std::string function = name == "CONCAT" ? "flink_concat(" : "flink_concat_ws(";
    return MakeCall(name, SqlType::String(), function + List(1, args.size()) + ")", args);
  }
  if (name == "TRIM") {
    for (const BoundPtr& arg : args) {
      if (!arg->type.is_text() && !arg->is_null_literal())
        return InvalidAt(call.at, "TRIM needs text, type=", arg->type.ToString());
    }
    if (args.size() == 1) args.push_back(MakeString(" "));  // The engine also cuts other blanks.
    const std::string function = call.text == "LEADING"    ? "ltrim("
                                 : call.text == "TRAILING" ? "rtrim("
                                                           : "trim(";
    const SqlType type =
        args[0]->type.is_text() ? SqlType::Varchar(args[0]->type.length) : SqlType::String();
    return MakeCall(name, type, function + List(1, args.size()) + ")", args);
  }
  if (name == "HEX" && args.size() == 1) {
    if (!args[0]->type.is_text() && !args[0]->type.is_integer())
      return InvalidAt(call.at, "HEX needs text or a whole number");
    return MakeCall(name, SqlType::String(),
                    args[0]->type.is_text() ? "hex(encode($1))" : "hex(CAST($1 AS BIGINT))", args);
  }
  if (name == "TYPEOF" && args.size() == 1) {
    BoundPtr text = MakeString(args[0]->type.ToString());
    return MakeTyped(name, SqlType::String(), EscapeTemplate(text->text), {});
  }
  *matched = false;
  return nullptr;
}

Result<BoundPtr> Binder::Impl::CollectionFunction(const ast::Expr& call,
                                                  std::vector<BoundPtr>& args, bool* matched) {
  const std::string& name = call.name;
  const bool collection = !args.empty() && (args[0]->type.kind == SqlKind::kArray ||
                                            args[0]->type.kind == SqlKind::kMap);
  const bool array = collection && args[0]->type.kind == SqlKind::kArray;
  if (name == "CARDINALITY" && collection) {
    return MakeCall(name, SqlType::Of(SqlKind::kInteger),
                    array ? "CAST(len($1) AS INTEGER)" : "CAST(cardinality($1) AS INTEGER)", args);
  }
  if (name == "ELEMENT" && array) {
    SqlType type = args[0]->type.children[0];
    type.nullable = type.nullable || args[0]->type.nullable;
    return MakeTyped(name, type,
                     "CASE WHEN len($1) > 1 THEN error('ELEMENT: the array has more than one "
                     "value') ELSE list_extract($1, 1) END",
                     args);
  }
  if (name == "ARRAY_CONTAINS" && array && args.size() == 2) {
    ASSIGN_OR_RAISE(args[1], Widen(args[1], args[0]->type.children[0], call.at));
    return MakeCall(name, SqlType::Of(SqlKind::kBoolean), "list_contains($1, $2)", args);
  }
  if (name == "ARRAY_JOIN" && array && args.size() == 2) {
    return MakeCall(name, SqlType::String(), "flink_array_join(CAST($1 AS VARCHAR[]), $2)", args);
  }
  if (name == "MAP_KEYS" && collection && !array) {
    return MakeCall(name, SqlType::Array(args[0]->type.children[0]), "map_keys($1)", args);
  }
  if (name == "MAP_VALUES" && collection && !array) {
    return MakeCall(name, SqlType::Array(args[0]->type.children[1]), "map_values($1)", args);
  }
  *matched = false;
  return nullptr;
}

}  // namespace sluice::sql
