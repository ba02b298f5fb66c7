#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

SqlType Truth() { return SqlType::Of(SqlKind::kBoolean); }

/// A value before the conversions that the binder put around it.
const Bound& Unwidened(const Bound& value) {
  const Bound* inner = &value;
  while (inner->name == "WIDEN" && inner->args.size() == 1) inner = inner->args[0].get();
  return *inner;
}

bool MayBeNan(const Bound& value) {
  const Bound& inner = Unwidened(value);
  return inner.type.is_approximate() && !(inner.kind == BoundKind::kLiteral && inner.constant);
}

bool IsComparison(const Bound& expr) {
  static constexpr std::string_view kNames[] = {"=", "<>", "<", "<=", ">", ">="};
  return expr.kind == BoundKind::kCall && expr.args.size() == 2 &&
         std::ranges::find(kNames, expr.name) != std::end(kNames);
}

// NaN equals nothing and is neither less nor greater than a number; the engine has it equal to
// itself and greater than all else. NULL stays NULL. What Flink does by other means is left to the
// engine, whose order is the same: x = x, and floats against DECIMAL.
std::string ComparisonText(const std::string& op, const Bound& a, const Bound& b) {
  const std::string plain = "($1 " + op + " $2)";
  if (Unwidened(a).type.kind == SqlKind::kDecimal || Unwidened(b).type.kind == SqlKind::kDecimal ||
      SameExpression(a, b)) {
    return plain;
  }
  const auto without_nan = [&plain](const char* value, const Bound& other, const char* other_text) {
    const std::string test = std::string("NOT isnan(") + value + ")";
    return "(" + plain + " AND " +
           (other.type.nullable ? "(" + test + " OR " + other_text + " IS NULL)" : test) + ")";
  };
  if (op.starts_with(">") && MayBeNan(a)) return without_nan("$1", b, "$2");
  if ((op == "<" || op == "<=") && MayBeNan(b)) return without_nan("$2", a, "$1");
  if (!MayBeNan(a) || !MayBeNan(b)) return plain;
  if (op == "=") return without_nan("$1", b, "$2");
  if (op == "<>") return "(" + plain + " OR (isnan($1) AND $2 IS NOT NULL))";
  return plain;
}

BoundPtr Comparison(const std::string& op, BoundPtr a, BoundPtr b) {
  std::string text = ComparisonText(op, *a, *b);
  return MakeCall(op, Truth(), std::move(text), {std::move(a), std::move(b)});
}

std::string Opposite(const std::string& op) {
  if (op == "=") return "<>";
  if (op == "<>") return "=";
  if (op == "<") return ">=";
  if (op == "<=") return ">";
  return op == ">" ? "<=" : "<";
}

bool ComparesFloats(const Bound& expr) {
  if (IsComparison(expr)) return expr.args[0]->type.is_approximate();
  return expr.kind == BoundKind::kCall && (expr.name == "AND" || expr.name == "OR") &&
         std::ranges::any_of(expr.args, [](const BoundPtr& arg) { return ComparesFloats(*arg); });
}

std::string Chained(const std::string& word, size_t count) {
  std::string text = "($1";
  for (size_t i = 2; i <= count; ++i) text += " " + word + " $" + std::to_string(i);
  return text + ")";
}

// Are the two sides columns of different relations?
bool JoinsColumns(const Bound& equal, const std::vector<ScopeColumn>& columns) {
  const ScopeColumn* sides[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    const Bound& value = Unwidened(*equal.args[i]);
    if (value.kind != BoundKind::kColumn) return false;
    const auto found = std::ranges::find_if(
        columns, [&](const ScopeColumn& column) { return column.value->text == value.text; });
    if (found == columns.end()) return false;
    sides[i] = &*found;
  }
  return sides[0]->qualifier != sides[1]->qualifier;
}

}  // namespace

Result<BoundPtr> Binder::Impl::Compare(const std::string& op, BoundPtr a, BoundPtr b, Position at) {
  RETURN_NOT_OK(UnifyForComparison(&a, &b, at, /*lenient=*/false));
  return Comparison(op, std::move(a), std::move(b));
}

BoundPtr NotOf(const BoundPtr& condition) {
  if (!ComparesFloats(*condition)) return MakeCall("NOT", Truth(), "(NOT $1)", {condition});
  if (IsComparison(*condition))
    return Comparison(Opposite(condition->name), condition->args[0], condition->args[1]);
  std::vector<BoundPtr> args;
  for (const BoundPtr& arg : condition->args) args.push_back(NotOf(arg));
  const std::string word = condition->name == "AND" ? "OR" : "AND";
  std::string text = Chained(word, args.size());
  return MakeCall(word, Truth(), std::move(text), std::move(args));
}

BoundPtr WithJoinKeys(const BoundPtr& condition, const std::vector<ScopeColumn>& columns) {
  if (condition->kind != BoundKind::kCall) return condition;
  if (condition->name == "=" && IsComparison(*condition)) {
    if (!condition->args[0]->type.is_approximate() || !JoinsColumns(*condition, columns))
      return condition;
    return MakeCall("=", Truth(), "($1 = $2)", condition->args);
  }
  if (condition->name != "AND" || !ComparesFloats(*condition)) return condition;
  std::vector<BoundPtr> args;
  for (const BoundPtr& arg : condition->args) args.push_back(WithJoinKeys(arg, columns));
  std::string text = Chained("AND", args.size());
  return MakeCall("AND", Truth(), std::move(text), std::move(args));
}

Result<BoundPtr> Binder::Impl::AnyEqual(const std::vector<BoundPtr>& args, bool negated) {
  std::vector<BoundPtr> equals;
  for (size_t i = 1; i < args.size(); ++i) equals.push_back(Comparison("=", args[0], args[i]));
  std::string text = Chained("OR", equals.size());
  BoundPtr any =
      equals.size() == 1 ? equals[0] : MakeCall("OR", Truth(), std::move(text), std::move(equals));
  return negated ? NotOf(any) : any;
}

bool AnyMayBeNan(const std::vector<BoundPtr>& values) {
  return std::ranges::any_of(values, [](const BoundPtr& value) { return MayBeNan(*value); });
}

}  // namespace sluice::sql
