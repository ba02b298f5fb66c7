#include <algorithm>

#include "sql/binder_internal.h"

namespace sluice::sql {

Result<BoundPtr> Binder::Impl::NumericFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                               bool* matched) {
  const std::string& name = call.name;
  const bool rounds = name == "ROUND" || name == "TRUNCATE";
  const bool whole = name == "FLOOR" || name == "CEIL" || name == "CEILING";
  if (name == "MOD" && args.size() == 2)
    return Arithmetic(sql::Arithmetic::kModulo, args[0], args[1], call.at);
  const bool single = name == "ABS" || name == "SIGN" || whole || (rounds && args.size() == 1);
  if (!(single && args.size() == 1) && !(rounds && args.size() == 2)) {
    *matched = false;
    return nullptr;
  }
  if (!args[0]->type.is_numeric())
    return InvalidAt(call.at, name, " needs a number, type=", args[0]->type.ToString());
  SqlType type = args[0]->type;
  if (name == "ABS" || name == "SIGN") {
    return MakeCall(name, type,
                    "CAST(" + std::string(name == "ABS" ? "abs" : "sign") + "($1) AS " +
                        type.EngineName() + ")",
                    args);
  }
  if (whole) {
    if (type.is_integer()) return args[0];
    if (type.kind == SqlKind::kDecimal) type.scale = 0;
    return MakeCall(name, type,
                    "CAST(" + std::string(name == "FLOOR" ? "floor" : "ceil") + "($1) AS " +
                        type.EngineName() + ")",
                    args);
  }
  return Round(call, args);
}

// ROUND and TRUNCATE of a number to some digits, none when they are not said.
Result<BoundPtr> Binder::Impl::Round(const ast::Expr& call, std::vector<BoundPtr>& args) {
  const std::string& name = call.name;
  const SqlType type = args[0]->type;
  if (args.size() == 1) args.push_back(MakeInteger(0));
  if (!args[1]->type.is_integer())
    return InvalidAt(call.at, name, " needs a whole number of digits");
  const std::string function = name == "ROUND" ? "round" : "trunc";
  if (type.kind == SqlKind::kDecimal) {
    if (!args[1]->constant) {
      return ErrorAt(ErrorCode::kUnsupportedVersion, call.at, name,
                     " of DECIMAL to a computed number of digits is not supported yet");
    }
    const int digits = std::atoi(args[1]->constant->c_str());
    if (digits >= type.scale) return args[0];
    const SqlType rounded = SqlType::Decimal(
        std::min(38, 1 + type.precision - type.scale + std::max(digits, 0)), std::max(digits, 0));
    if (name == "ROUND" && digits >= 0) {
      return MakeCall(name, rounded, "CAST($1 AS " + rounded.EngineName() + ")", {args[0]});
    }
    return MakeCall(name, rounded,
                    "CAST(" + function + "($1, " + std::to_string(digits) + ") AS " +
                        rounded.EngineName() + ")",
                    {args[0]});
  }
  if (type.is_approximate()) {
    return MakeCall(name, type,
                    std::string("CAST(") + (name == "ROUND" ? "flink_round(" : "flink_truncate(") +
                        "CAST($1 AS DOUBLE), CAST($2 AS INTEGER)) AS " + type.EngineName() + ")",
                    args);
  }
  if (name == "ROUND") {  // The engine's own wraps around.
    return MakeCall(name, type,
                    "CAST(flink_round_integer(CAST($1 AS BIGINT), CAST($2 AS INTEGER)) AS " +
                        type.EngineName() + ")",
                    args);
  }
  return MakeCall(name, type,
                  "CAST(" + function + "($1, CAST($2 AS INTEGER)) AS " + type.EngineName() + ")",
                  args);
}

}  // namespace sluice::sql
