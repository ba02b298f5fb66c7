#include "sql/bound.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/check.h"
#include "sql/engine_error.h"

namespace sluice::sql {

namespace {

void EmitTo(const Bound& expr, std::string* out);

std::string FilterText(const Bound& expr) {
  return expr.filter == nullptr ? "" : " FILTER (WHERE " + Emit(*expr.filter) + ")";
}

// Fill $n, and in aggregates # and @, into a template.
void Fill(const Bound& expr, std::string* out) {
  const std::string& text = expr.text;
  const bool aggregate = expr.kind == BoundKind::kAggregate;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') {
      out->push_back('$');
      ++i;
    } else if (text[i] == '$' && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') {
      size_t index = 0;
      const auto [end, error] =
          std::from_chars(text.data() + i + 1, text.data() + text.size(), index);
      CHECK(error == std::errc() && index >= 1 && index <= expr.args.size());
      EmitTo(*expr.args[index - 1], out);
      i = static_cast<size_t>(end - text.data()) - 1;
    } else if (aggregate && text[i] == '#') {
      if (expr.distinct) *out += "DISTINCT ";
    } else if (aggregate && text[i] == '@') {
      *out += FilterText(expr);
    } else {
      out->push_back(text[i]);
    }
  }
}

// Length of the text that Fill gives. Limits keep each argument's far from overflow.
uint64_t BytesOf(const Bound& expr) {
  const std::string& text = expr.text;
  uint64_t bytes = text.size();
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '$') continue;
    if (text[i + 1] == '$') {
      ++i;
      continue;
    }
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(text.data() + i + 1, text.data() + text.size(), index);
    if (error == std::errc() && index >= 1 && index <= expr.args.size())
      bytes += expr.args[index - 1]->bytes;
  }
  return bytes;
}

void EmitTo(const Bound& expr, std::string* out) {
  if (expr.kind == BoundKind::kColumn || expr.kind == BoundKind::kLiteral) {
    *out += expr.text;
    return;
  }
  if (expr.place >= 0) *out += PlaceBegin(expr.place);
  Fill(expr, out);
  if (expr.place >= 0) *out += kPlaceEnd;
}

}  // namespace

std::string Emit(const Bound& expr) {
  std::string out;
  EmitTo(expr, &out);
  return out;
}

bool SameExpression(const Bound& a, const Bound& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.text != b.text || a.args.size() != b.args.size() ||
      a.distinct != b.distinct || (a.filter == nullptr) != (b.filter == nullptr)) {
    return false;
  }
  if (a.filter != nullptr && !SameExpression(*a.filter, *b.filter)) return false;
  return std::equal(a.args.begin(), a.args.end(), b.args.begin(),
                    [](const BoundPtr& x, const BoundPtr& y) { return SameExpression(*x, *y); });
}

bool ContainsAggregate(const Bound& expr) {
  return expr.kind == BoundKind::kAggregate ||
         std::ranges::any_of(expr.args,
                             [](const BoundPtr& arg) { return ContainsAggregate(*arg); });
}

std::string QuoteString(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted.push_back(c);
    if (c == '\'') quoted.push_back(c);
  }
  return quoted + "'";
}

bool AnyNullable(const std::vector<BoundPtr>& args) {
  return std::ranges::any_of(args, [](const BoundPtr& arg) { return arg->type.nullable; });
}

std::string EscapeTemplate(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '$' ? 2 : 1, c);
  return escaped;
}

BoundPtr MakeColumn(std::string internal, SqlType type) {
  auto bound = std::make_shared<Bound>();
  bound->kind = BoundKind::kColumn;
  bound->text = std::move(internal);
  bound->bytes = bound->text.size();
  bound->type = std::move(type);
  return bound;
}

BoundPtr MakeLiteral(SqlType type, std::string sql, std::string constant) {
  auto bound = std::make_shared<Bound>();
  bound->type = std::move(type);
  bound->type.nullable = false;
  bound->text = std::move(sql);
  bound->bytes = bound->text.size();
  bound->constant = std::move(constant);
  return bound;
}

BoundPtr MakeNull() {
  auto bound = std::make_shared<Bound>();
  bound->type = SqlType::Of(SqlKind::kNull);
  bound->text = "NULL";
  return bound;
}

BoundPtr MakeString(std::string_view text) {
  const auto characters =
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; });
  // A NUL cannot stand in a statement's text.
  std::string sql = text.find('\0') == std::string_view::npos
                        ? QuoteString(text)
                        : "decode(from_hex('" + ToHex(text) + "'))";
  return MakeLiteral(SqlType::Char(static_cast<int32_t>(characters)),
                     "CAST(" + sql + " AS VARCHAR)", std::string(text));
}

BoundPtr MakeInteger(int64_t value) {
  const bool narrow = value >= INT32_MIN && value <= INT32_MAX;
  const std::string digits = std::to_string(value);
  return MakeLiteral(SqlType::Of(narrow ? SqlKind::kInteger : SqlKind::kBigInt),
                     "CAST(" + digits + (narrow ? " AS INTEGER)" : " AS BIGINT)"), digits);
}

BoundPtr MakeBoolean(bool value) {
  return MakeLiteral(SqlType::Of(SqlKind::kBoolean), value ? "TRUE" : "FALSE",
                     value ? "true" : "false");
}

BoundPtr MakeInterval(SqlKind kind, int64_t amount) {
  const std::string digits = std::to_string(amount);
  auto bound = std::make_shared<Bound>(*MakeLiteral(
      SqlType::Of(kind),
      "CAST(" + digits + (kind == SqlKind::kIntervalMonth ? " AS INTEGER)" : " AS BIGINT)"),
      digits));
  bound->number = amount;
  return bound;
}

BoundPtr MakeTyped(std::string name, SqlType type, std::string text, std::vector<BoundPtr> args) {
  auto bound = std::make_shared<Bound>();
  bound->kind = BoundKind::kCall;
  bound->name = std::move(name);
  bound->type = std::move(type);
  bound->text = std::move(text);
  bound->window = std::ranges::any_of(args, [](const BoundPtr& arg) { return arg->window; });
  bound->args = std::move(args);
  bound->bytes = BytesOf(*bound);
  return bound;
}

BoundPtr MakeCall(std::string name, SqlType type, std::string text, std::vector<BoundPtr> args) {
  type.nullable = AnyNullable(args);
  return MakeTyped(std::move(name), std::move(type), std::move(text), std::move(args));
}

}  // namespace sluice::sql
