#include <algorithm>

#include "sql/binder_internal.h"
#include "sql/json_path.h"

namespace sluice::sql {

namespace {

/// A function whose SQL and type follow from its arguments alone.
///
/// `arguments`, a letter each: s text, i INT, l BIGINT, d DOUBLE, x anything. `result`: a type's
/// name; "=" the first argument's; "V" VARCHAR of the first argument's length. '?' behind it: may
/// be NULL though no argument is.
struct SimpleFunction {
  std::string_view name;
  std::string_view arguments;
  std::string_view result;
  std::string_view text;
};

constexpr SimpleFunction kSimpleFunctions[] = {
    {"UPPER", "s", "=", "upper(flink_special_upper($1))"},
    {"LOWER", "s", "=", "lower($1)"},
    {"INITCAP", "s", "=", "flink_initcap($1)"},
    {"LTRIM", "s", "V", "ltrim($1, ' ')"},
    {"RTRIM", "s", "V", "rtrim($1, ' ')"},
    {"BTRIM", "s", "V", "trim($1, ' ')"},
    {"LPAD", "sis", "STRING", "flink_lpad($1, $2, $3)"},
    {"RPAD", "sis", "STRING", "flink_rpad($1, $2, $3)"},
    {"REPEAT", "si", "STRING", "flink_repeat($1, $2)"},
    {"REPLACE", "sss", "STRING", "flink_replace($1, $2, $3)"},
    {"TRANSLATE", "sss", "STRING", "translate($1, $2, $3)"},
    {"REVERSE", "s", "STRING?", "flink_reverse($1)"},
    {"LEFT", "si", "V?", "flink_left($1, $2)"},
    {"RIGHT", "si", "V?", "flink_right($1, $2)"},
    {"SUBSTRING", "si", "V?", "flink_substring($1, $2, 2147483647)"},
    {"SUBSTRING", "sii", "V?", "flink_substring($1, $2, $3)"},
    {"SUBSTR", "si", "V?", "flink_substring($1, $2, 2147483647)"},
    {"SUBSTR", "sii", "V?", "flink_substring($1, $2, $3)"},
    {"OVERLAY", "ssi", "STRING", "flink_overlay($1, $2, $3, CAST(length($2) AS INTEGER))"},
    {"OVERLAY", "ssii", "STRING", "flink_overlay($1, $2, $3, $4)"},
    {"POSITION", "ss", "INT", "flink_locate($1, $2, 1)"},
    {"LOCATE", "ss", "INT", "flink_locate($1, $2, 1)"},
    {"LOCATE", "ssi", "INT", "flink_locate($1, $2, $3)"},
    {"INSTR", "ss", "INT", "flink_locate($2, $1, 1)"},
    {"CHAR_LENGTH", "s", "INT", "CAST(length($1) AS INTEGER)"},
    {"CHARACTER_LENGTH", "s", "INT", "CAST(length($1) AS INTEGER)"},
    {"ASCII", "s", "INT", "flink_ascii($1)"},
    {"CHR", "l", "STRING?", "flink_chr($1)"},
    {"MD5", "s", "CHAR32", "md5($1)"},
    {"SHA1", "s", "CHAR40", "sha1($1)"},
    {"SHA256", "s", "CHAR64", "sha256($1)"},
    {"TO_BASE64", "s", "STRING", "to_base64(encode($1))"},
    {"FROM_BASE64", "s", "STRING", "decode(from_base64($1))"},
    {"UNHEX", "s", "BYTES?", "try(unhex($1))"},
    {"BIN", "l", "STRING", "bin($1)"},
    {"STARTSWITH", "ss", "BOOLEAN", "starts_with($1, $2)"},
    {"ENDSWITH", "ss", "BOOLEAN", "ends_with($1, $2)"},
    {"REGEXP", "ss", "BOOLEAN",
     "CASE WHEN $2 = '' AND $1 IS NOT NULL THEN FALSE ELSE regexp_matches($1, $2) END"},
    {"REGEXP_REPLACE", "sss", "STRING",
     "regexp_replace(flink_room_to_replace($1, $3), $2, $3, 'g')"},
    {"REGEXP_EXTRACT", "ss", "STRING?",
     "CASE WHEN regexp_matches($1, $2) THEN regexp_extract($1, $2) END"},
    {"REGEXP_EXTRACT", "ssi", "STRING?",
     "coalesce(nullif(regexp_extract($1, $2, $3), ''), regexp_extract_all($1, $2, $3)[1])"},
    {"SPLIT_INDEX", "ssi", "STRING?", "flink_split_index($1, $2, $3)"},
    {"PARSE_URL", "ss", "STRING?", "flink_parse_url($1, $2)"},
    {"IS_ALPHA", "s", "BOOLEAN", "flink_is_alpha($1)"},
    {"IS_DIGIT", "s", "BOOLEAN", "flink_is_digit($1)"},
    {"IS_DECIMAL", "s", "BOOLEAN", "flink_is_decimal($1)"},
    {"JSON_VALUE", "ss", "STRING?",
     "CASE WHEN NOT json_valid($1) THEN NULL WHEN json_type($1, $2) IN ('ARRAY', 'OBJECT') THEN "
     "NULL "
     "ELSE json_extract_string($1, $2) END"},
    {"JSON_EXISTS", "ss", "BOOLEAN?",
     "CASE WHEN NOT json_valid($1) THEN FALSE ELSE json_exists($1, $2) END"},
    {"JSON_QUERY", "ss", "STRING?",
     "CASE WHEN NOT json_valid($1) THEN NULL WHEN json_type($1, $2) IN ('ARRAY', 'OBJECT') THEN "
     "CAST(json_extract($1, $2) AS "
     "VARCHAR) END"},
    {"UUID", "", "CHAR36", "CAST(uuid() AS VARCHAR)"},
    {"SQRT", "d", "DOUBLE", "flink_sqrt($1)"},
    {"EXP", "d", "DOUBLE", "exp($1)"},
    {"LN", "d", "DOUBLE", "flink_ln($1)"},
    {"LOG", "d", "DOUBLE", "flink_ln($1)"},
    {"LOG", "dd", "DOUBLE", "(flink_ln($2) / flink_ln($1))"},
    {"LOG10", "d", "DOUBLE", "flink_log10($1)"},
    {"LOG2", "d", "DOUBLE", "(flink_ln($1) / flink_ln(2e0))"},
    {"POWER", "dd", "DOUBLE", "power($1, $2)"},
    {"SIN", "d", "DOUBLE", "flink_sin($1)"},
    {"COS", "d", "DOUBLE", "flink_cos($1)"},
    {"TAN", "d", "DOUBLE", "flink_tan($1)"},
    {"COT", "d", "DOUBLE", "flink_cot($1)"},
    {"ASIN", "d", "DOUBLE", "flink_asin($1)"},
    {"ACOS", "d", "DOUBLE", "flink_acos($1)"},
    {"ATAN", "d", "DOUBLE", "atan($1)"},
    {"ATAN2", "dd", "DOUBLE", "atan2($1, $2)"},
    {"SINH", "d", "DOUBLE", "sinh($1)"},
    {"COSH", "d", "DOUBLE", "cosh($1)"},
    {"TANH", "d", "DOUBLE", "tanh($1)"},
    {"DEGREES", "d", "DOUBLE", "degrees($1)"},
    {"RADIANS", "d", "DOUBLE", "radians($1)"},
    {"PI", "", "DOUBLE", "pi()"},
    {"E", "", "DOUBLE", "exp(1e0)"},
    {"RAND", "", "DOUBLE", "random()"},
    {"RAND_INTEGER", "i", "INT",
     "CAST(floor(random() * CASE WHEN $1 > 0 THEN $1 ELSE error('RAND_INTEGER needs a number above "
     "zero') END) AS INTEGER)"},
};

std::optional<SqlType> ParameterType(char letter) {
  switch (letter) {
    case 'i':
      return SqlType::Of(SqlKind::kInteger);
    case 'l':
      return SqlType::Of(SqlKind::kBigInt);
    case 'd':
      return SqlType::Of(SqlKind::kDouble);
    default:
      return std::nullopt;
  }
}

bool Accepts(char letter, const SqlType& type) {
  if (type.kind == SqlKind::kNull || letter == 'x') return true;
  switch (letter) {
    case 's':
      return type.is_text();
    case 'i':
    case 'l':
      return type.is_integer();
    default:
      return type.is_numeric();
  }
}

SqlType ResultType(std::string_view result, const std::vector<BoundPtr>& args) {
  if (result == "=") return args[0]->type;
  if (result == "V")
    return args[0]->type.is_text() ? SqlType::Varchar(args[0]->type.length) : SqlType::String();
  if (result == "INT") return SqlType::Of(SqlKind::kInteger);
  if (result == "DOUBLE") return SqlType::Of(SqlKind::kDouble);
  if (result == "BOOLEAN") return SqlType::Of(SqlKind::kBoolean);
  if (result == "BYTES") return SqlType::Bytes();
  if (result.starts_with("CHAR"))
    return SqlType::Char(static_cast<int32_t>(std::stol(std::string(result.substr(4)))));
  return SqlType::String();
}

bool IsWindowProperty(const std::string& name) {
  for (const std::string_view kind : {"TUMBLE_", "HOP_", "SESSION_"}) {
    if (name.starts_with(kind)) return true;
  }
  return false;
}

std::string TypeList(const std::vector<BoundPtr>& args) {
  std::string text;
  for (const BoundPtr& arg : args)
    text += (text.empty() ? "" : ", ") + arg->type.WithNullable(true).ToString();
  return text;
}

// Java's $1 in a replacement is \1 here.
std::string ReplacementText(std::string_view java) {
  std::string text;
  for (size_t i = 0; i < java.size(); ++i) {
    if (java[i] == '$' && i + 1 < java.size() && java[i + 1] >= '0' && java[i + 1] <= '9') {
      text.push_back('\\');
    } else if (java[i] == '\\' && i + 1 < java.size()) {
      text.push_back(java[++i]);
    } else {
      text.push_back(java[i]);
    }
  }
  return text;
}

}  // namespace

Result<BoundPtr> Binder::Impl::Call(const ast::Expr& call, ExprContext& context) {
  if (call.over != nullptr) return Over(call, context);
  if (IsAggregateName(call.name)) return Aggregate(call, context);
  if (call.distinct || call.star || call.filter != nullptr || !call.within_group.empty()) {
    return InvalidAt(call.at, "not an aggregate function, name=", call.name);
  }
  if (call.name == "TUMBLE" || call.name == "HOP" || call.name == "SESSION") {
    return InvalidAt(call.at, call.name, " stands in GROUP BY or in TABLE(…)");
  }
  if (IsWindowProperty(call.name)) return WindowProperty(call, context);
  ASSIGN_OR_RAISE(std::vector<BoundPtr> args, Arguments(call.args, context));
  bool matched = true;
  ASSIGN_OR_RAISE(BoundPtr operation, Operator(call, args, &matched));
  if (matched) return operation;
  return Function(call, std::move(args));
}

namespace {

// Groups that a regular expression captures.
int CountGroups(std::string_view pattern) {
  int groups = 0;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.front() == '\\') {
      ++i;
    } else if (in_class) {
      in_class = rest.front() != ']';
    } else if (rest.front() == '[') {
      in_class = true;
      if (rest.substr(1).starts_with("]") || rest.substr(1).starts_with("^]"))
        i += rest[1] == '^' ? 2 : 1;
    } else if (rest.front() == '(') {
      const bool named = rest.starts_with("(?P<") || (rest.starts_with("(?<") && rest.size() > 3 &&
                                                      rest[3] != '=' && rest[3] != '!');
      groups += named || !rest.starts_with("(?") ? 1 : 0;
    }
  }
  return groups;
}

// The group that REGEXP_EXTRACT asks for: NULL when the pattern has none such.
Result<BoundPtr> GroupOf(const ast::Expr& call, const std::vector<BoundPtr>& args) {
  constexpr int kGroupMax = 9;  // The engine's.
  const BoundPtr& group = args[2];
  if (!group->constant || !args[1]->constant) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.args[2]->at,
                   "REGEXP_EXTRACT with a computed pattern or group is not supported yet");
  }
  const int64_t number = std::strtoll(group->constant->c_str(), nullptr, 10);
  if (number < 0 || number > CountGroups(*args[1]->constant)) return MakeNull();
  if (number > kGroupMax) {
    return ErrorAt(ErrorCode::kUnsupportedVersion, call.args[2]->at,
                   "REGEXP_EXTRACT of this group is not supported yet, group=", number,
                   " group_max=", kGroupMax);
  }
  return group;
}

// Constant arguments that the engine writes in another way, or takes for something else.
Status PrepareArguments(const ast::Expr& call, std::vector<BoundPtr>* args) {
  const std::string& name = call.name;
  if (name == "REGEXP_REPLACE" && (*args)[2]->constant)
    (*args)[2] = MakeString(ReplacementText(*(*args)[2]->constant));
  if (name == "REGEXP_EXTRACT" && args->size() == 3) {
    ASSIGN_OR_RAISE((*args)[2], GroupOf(call, *args));
  }
  if (name == "JSON_VALUE" || name == "JSON_QUERY" || name == "JSON_EXISTS") {
    BoundPtr& path = (*args)[1];
    if (!path->constant) {
      path = MakeCall("JSON PATH", SqlType::String(), "flink_json_path($1)", {path});
      return Status::OK();
    }
    const auto checked = EngineJsonPath(*path->constant);
    if (!checked.ok())
      return ErrorAt(CodeOf(checked.status()), call.args[1]->at, checked.status().message());
    path = MakeString(*checked);
  }
  return Status::OK();
}

}  // namespace

Result<BoundPtr> Binder::Impl::Function(const ast::Expr& call, std::vector<BoundPtr> args) {
  const std::string& name = call.name;
  bool known = false;
  for (const SimpleFunction& function : kSimpleFunctions) {
    if (function.name != name) continue;
    known = true;
    if (function.arguments.size() != args.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < args.size(); ++i)
      fits = fits && Accepts(function.arguments[i], args[i]->type);
    if (!fits) continue;
    for (size_t i = 0; i < args.size(); ++i) {
      if (const auto type = ParameterType(function.arguments[i])) {
        ASSIGN_OR_RAISE(args[i], Widen(std::move(args[i]), *type, call.at));
      }
    }
    RETURN_NOT_OK(PrepareArguments(call, &args));
    const bool loses = function.result.ends_with('?');
    SqlType type =
        ResultType(function.result.substr(0, function.result.size() - (loses ? 1 : 0)), args);
    if (name == "OVERLAY" && args[0]->type.length < SqlType::kMaxLength - args[1]->type.length) {
      type = SqlType::Varchar(args[0]->type.length + args[1]->type.length);
    }
    // LPAD and RPAD are NULL for a negative length and for no padding.
    const bool pads = name == "LPAD" || name == "RPAD";
    const bool pad_loses = pads && (!args[1]->constant || args[1]->constant->starts_with("-") ||
                                    !args[2]->constant || args[2]->constant->empty());
    type.nullable = loses || pad_loses || AnyNullable(args);
    return MakeTyped(name, type, std::string(function.text), std::move(args));
  }
  for (auto group : {&Impl::NumericFunction, &Impl::ConditionalFunction, &Impl::CollectionFunction,
                     &Impl::TimeFunction}) {
    bool matched = true;
    ASSIGN_OR_RAISE(BoundPtr bound, (this->*group)(call, args, &matched));
    if (matched) return bound;
  }
  if (known)
    return InvalidAt(call.at, "function does not take these arguments, name=", name,
                     " types=", TypeList(args));
  return ErrorAt(ErrorCode::kUnsupportedVersion, call.at,
                 "function is not known, name=", Shown(name));
}

}  // namespace sluice::sql
