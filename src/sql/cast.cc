#include "sql/cast.h"

#include <algorithm>
#include <functional>

namespace sluice::sql {

namespace {

/// One conversion being built.
struct Casting {
  const SqlType& from;
  const SqlType& to;
  CastMode mode;
  const std::string& zone;
  const std::string& column;

  bool tries() const { return mode == CastMode::kTry; }
  std::string Word() const { return tries() ? "TRY_CAST" : "CAST"; }
  // "CAST(inner AS type)" or its trying form.
  std::string To(const std::string& inner, const std::string& type) const {
    return Word() + "(" + inner + " AS " + type + ")";
  }
  std::string ToTarget(const std::string& inner) const { return To(inner, to.EngineName()); }
  // "flink_x" or "flink_try_x".
  std::string Function(const std::string& name) const {
    return std::string("flink_") + (tries() ? "try_" : "") + name;
  }
  // A call of one whose messages name the column.
  std::string NamingFunction(const std::string& name, const std::string& inner) const {
    return Function(name) + "(" + inner + ", " + EscapeTemplate(QuoteString(column)) + ")";
  }
};

constexpr std::string_view kNoCast;

std::string ToBoolean(const Casting& c) {
  if (c.from.is_numeric()) return "($1 <> 0)";
  if (c.from.is_text()) return c.ToTarget("trim($1)");
  return std::string(kNoCast);
}

std::string ToInteger(const Casting& c) {
  if (c.from.kind == SqlKind::kBoolean || c.from.is_integer()) return c.ToTarget("$1");
  if (c.from.kind == SqlKind::kDecimal || c.from.is_approximate()) return c.ToTarget("trunc($1)");
  if (c.from.is_text()) return c.ToTarget(c.Function("text_to_integer") + "($1)");
  if (c.from.is_interval()) return c.ToTarget("$1");
  return std::string(kNoCast);
}

// NULL where the value has too many digits, except into a table's column.
std::string ToDecimal(const Casting& c) {
  const std::string name = c.to.EngineName();
  const std::string word = c.mode == CastMode::kSink ? "CAST(" : "TRY_CAST(";
  if (c.from.is_exact()) {
    const SqlType exact = AsDecimal(c.from);
    const bool fits = c.to.precision - c.to.scale >=
                      exact.precision - exact.scale + (c.to.scale < exact.scale ? 1 : 0);
    return (fits ? "CAST(" : word) + "$1 AS " + name + ")";
  }
  if (c.from.kind == SqlKind::kDouble) return word + "flink_double_text($1) AS " + name + ")";
  if (c.from.kind == SqlKind::kFloat) return word + "flink_float_text($1) AS " + name + ")";
  if (c.from.kind == SqlKind::kBoolean) return word + "CAST($1 AS INTEGER) AS " + name + ")";
  if (c.from.is_text()) return c.ToTarget("trim($1)");
  return std::string(kNoCast);
}

std::string ToApproximate(const Casting& c) {
  if (c.from.is_numeric()) return c.ToTarget("$1");
  if (c.from.kind == SqlKind::kBoolean) return c.To("CAST($1 AS INTEGER)", c.to.EngineName());
  if (c.from.is_text()) return c.ToTarget("trim($1)");
  return std::string(kNoCast);
}

// An instant read as local time of the session, and back; instants are held as their UTC reading.
// A shift between zones is whole seconds, so digits beyond the microsecond go around it.
std::string Shifted(const std::string& time, bool nanos, const std::string& from,
                    const std::string& to) {
  if (from == to) return time;
  const std::string micros = nanos ? "flink_ns_to_us(" + time + ")" : time;
  const std::string shifted = "timezone(" + EscapeTemplate(QuoteString(to)) + ", timezone(" +
                              EscapeTemplate(QuoteString(from)) + ", " + micros + "))";
  if (!nanos) return shifted;
  return "make_timestamp_ns(epoch_ns(" + time + ") + (epoch_us(" + shifted + ") - epoch_us(" +
         micros + ")) * 1000)";
}
std::string LocalReading(const std::string& instant, bool nanos, const std::string& zone) {
  return Shifted(instant, nanos, "UTC", zone);
}
std::string InstantOf(const std::string& local, bool nanos, const std::string& zone) {
  return Shifted(local, nanos, zone, "UTC");
}

constexpr std::string_view kArrayText =
    "('[' || coalesce(list_aggregate(list_transform($1, lambda x: coalesce(CAST(x AS VARCHAR), "
    "'NULL')), 'string_agg', "
    "', '), CASE WHEN len($1) = 0 THEN '' END) || ']')";

std::string RowText(const SqlType& row) {
  std::string text = "('('";
  for (size_t i = 0; i < row.children.size(); ++i) {
    if (i > 0) text += " || ', '";
    text += " || coalesce(CAST(struct_extract($1, " + EscapeTemplate(QuoteString(row.names[i])) +
            ") AS VARCHAR), 'NULL')";
  }
  return text + " || ')')";
}

// Plain text of a value, before CHAR and VARCHAR cut it to their length.
std::string PlainText(const Casting& c) {
  switch (c.from.kind) {
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return "$1";
    case SqlKind::kBoolean:
      return "CASE WHEN $1 THEN 'TRUE' WHEN NOT $1 THEN 'FALSE' END";
    case SqlKind::kFloat:
      return "flink_float_text($1)";
    case SqlKind::kDouble:
      return "flink_double_text($1)";
    case SqlKind::kBinary:
    case SqlKind::kVarbinary:
      return "decode($1)";
    case SqlKind::kTime:
      return c.from.precision == 0 ? "strftime(DATE '1970-01-01' + $1, '%H:%M:%S')"
                                   : "CAST($1 AS VARCHAR)";
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz: {
      const std::string digits = ", " + std::to_string(c.from.precision) + ")";
      const bool nanos = c.from.is_nanos();
      const bool instant = c.from.kind == SqlKind::kTimestampLtz;
      return (nanos ? "flink_timestamp_ns_text(" : "flink_timestamp_text(") +
             (instant ? LocalReading("$1", nanos, c.zone) : "$1") + digits;
    }
    case SqlKind::kArray:
      return std::string(kArrayText);
    case SqlKind::kRow:
      return RowText(c.from);
    default:
      return "CAST($1 AS VARCHAR)";
  }
}

std::string ToText(const Casting& c) {
  const std::string plain = PlainText(c);
  const std::string length = std::to_string(c.to.length);
  if (c.to.kind == SqlKind::kChar) {
    if (c.from.kind == SqlKind::kChar && c.from.length == c.to.length) return plain;
    return "flink_rpad(" + plain + ", " + length + ", ' ')";  // Also cuts what is longer.
  }
  const bool fits =
      c.to.length == SqlType::kMaxLength || (c.from.is_text() && c.from.length <= c.to.length);
  return fits ? plain : "left(" + plain + ", " + length + ")";
}

std::string ToBinary(const Casting& c) {
  const std::string bytes = c.from.is_text() ? "encode($1)" : c.from.is_binary() ? "$1" : "";
  if (bytes.empty() || c.to.length == SqlType::kMaxLength ||
      (c.from.is_binary() && c.from.length <= c.to.length)) {
    return bytes;
  }
  return bytes + "[1:" + std::to_string(c.to.length) + "]";
}

std::string ToDate(const Casting& c) {
  if (c.from.kind == SqlKind::kDate) return "$1";
  if (c.from.is_text()) return c.ToTarget(c.Function("date_text") + "($1)");
  if (c.from.kind == SqlKind::kTimestamp) return c.ToTarget("$1");
  if (c.from.kind == SqlKind::kTimestampLtz)
    return c.ToTarget(LocalReading("$1", c.from.is_nanos(), c.zone));
  return std::string(kNoCast);
}

std::string ToTime(const Casting& c) {
  std::string time;
  if (c.from.kind == SqlKind::kTime) {
    time = "$1";
  } else if (c.from.is_text() || c.from.kind == SqlKind::kTimestamp) {
    time = c.ToTarget("$1");
  } else if (c.from.kind == SqlKind::kTimestampLtz) {
    time = c.ToTarget(LocalReading("$1", c.from.is_nanos(), c.zone));
  } else {
    return std::string(kNoCast);
  }
  if (c.from.kind == SqlKind::kTime && c.from.precision <= c.to.precision) return time;
  return c.to.precision >= 6 ? time
                             : "CAST(flink_cut(DATE '1970-01-01' + " + time + ", " +
                                   std::to_string(c.to.precision) + ") AS TIME)";
}

std::string ToTimestamp(const Casting& c) {
  const bool nanos = c.to.is_nanos();
  const bool to_instant = c.to.kind == SqlKind::kTimestampLtz;
  std::string time;    // Of the target's engine type.
  int32_t digits = 9;  // Digits it may have.
  bool local = true;   // Is it a local reading?
  if (c.from.is_text()) {
    time = nanos ? c.NamingFunction("text_to_timestamp_ns", "$1")
                 : c.Function("text_to_timestamp") + "($1)";
  } else if (c.from.kind == SqlKind::kDate) {
    time = "CAST($1 AS TIMESTAMP)";
    if (nanos) time = c.NamingFunction("us_to_ns", time);
    digits = 0;
  } else if (c.from.kind == SqlKind::kTime) {
    time = "(DATE '1970-01-01' + $1)";
    if (nanos) time = c.NamingFunction("us_to_ns", time);
    digits = c.from.precision;
  } else if (c.from.is_timestamp()) {
    time = c.from.is_nanos() == nanos ? "$1"
           : nanos                    ? c.NamingFunction("us_to_ns", "$1")
                                      : "flink_ns_to_us($1)";
    digits = c.from.precision;
    local = c.from.kind == SqlKind::kTimestamp;
  } else {
    return std::string(kNoCast);
  }
  if (local && to_instant) time = InstantOf(time, nanos, c.zone);
  if (!local && !to_instant) time = LocalReading(time, nanos, c.zone);
  if (digits <= c.to.precision || (!nanos && c.to.precision == 6)) return time;
  return (nanos ? "flink_cut_ns(" : "flink_cut(") + time + ", " + std::to_string(c.to.precision) +
         ")";
}

std::string Conversion(const Casting& c) {
  switch (c.to.kind) {
    case SqlKind::kBoolean:
      return ToBoolean(c);
    case SqlKind::kTinyInt:
    case SqlKind::kSmallInt:
    case SqlKind::kInteger:
    case SqlKind::kBigInt:
      return ToInteger(c);
    case SqlKind::kDecimal:
      return ToDecimal(c);
    case SqlKind::kFloat:
    case SqlKind::kDouble:
      return ToApproximate(c);
    case SqlKind::kChar:
    case SqlKind::kVarchar:
      return ToText(c);
    case SqlKind::kBinary:
    case SqlKind::kVarbinary:
      return ToBinary(c);
    case SqlKind::kDate:
      return ToDate(c);
    case SqlKind::kTime:
      return ToTime(c);
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return ToTimestamp(c);
    default:
      return std::string(kNoCast);
  }
}

// --- nested types ---

using InnerConversion = std::function<Result<BoundPtr>(BoundPtr, const SqlType&)>;

int Height(const SqlType& type) {
  int highest = 0;
  for (const SqlType& child : type.children) highest = std::max(highest, Height(child));
  return highest + 1;
}

// `list` (SQL of a list of `from`) with every element converted; `variable` names one.
Result<std::string> ConvertList(const std::string& list, const SqlType& from, const SqlType& to,
                                const std::string& variable, const InnerConversion& convert) {
  ASSIGN_OR_RAISE(const BoundPtr element, convert(MakeColumn(variable, from), to));
  return "list_transform(" + list + ", lambda " + variable + ": CAST(" +
         EscapeTemplate(Emit(*element) + " AS " + to.EngineName()) + "))";
}

Result<BoundPtr> ConvertRow(const BoundPtr& row, const SqlType& to,
                            const InnerConversion& convert) {
  const bool fresh = row->kind == BoundKind::kCall && row->name == "ROW";
  std::vector<BoundPtr> fields;
  std::string list;
  for (size_t i = 0; i < to.children.size(); ++i) {
    const std::string name = EscapeTemplate(QuoteString(row->type.names[i]));
    BoundPtr field = fresh ? row->args[i]
                           : MakeTyped("FIELD", row->type.children[i].WithNullable(true),
                                       "struct_extract($1, " + name + ")", {row});
    ASSIGN_OR_RAISE(field, convert(std::move(field), to.children[i]));
    fields.push_back(std::move(field));
    std::string quoted = to.names[i];
    for (size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
      quoted.insert(at, "\"");
    list += (i > 0 ? ", \"" : "\"") + EscapeTemplate(quoted) + "\" := CAST($" +
            std::to_string(i + 1) + " AS " + EscapeTemplate(to.children[i].EngineName()) + ")";
  }
  std::string text = "struct_pack(" + list + ")";
  if (!fresh) {
    fields.push_back(row);
    text = "CASE WHEN $" + std::to_string(fields.size()) + " IS NOT NULL THEN " + text + " END";
  }
  return MakeTyped("CAST", to.WithNullable(row->type.nullable), std::move(text), std::move(fields));
}

// `value` of a nested type with `convert` applied to what is inside. Both types are of one kind.
Result<BoundPtr> ConvertNested(const BoundPtr& value, const SqlType& to,
                               const InnerConversion& convert) {
  const SqlType& from = value->type;
  if (to.kind == SqlKind::kRow) return ConvertRow(value, to, convert);
  const std::string variable = "x" + std::to_string(Height(to));  // Falls from level to level.
  std::string text;
  if (to.kind == SqlKind::kArray) {
    ASSIGN_OR_RAISE(text, ConvertList("$1", from.children[0], to.children[0], variable, convert));
  } else {
    ASSIGN_OR_RAISE(const std::string keys, ConvertList("map_keys($1)", from.children[0],
                                                        to.children[0], variable, convert));
    ASSIGN_OR_RAISE(const std::string values, ConvertList("map_values($1)", from.children[1],
                                                          to.children[1], variable, convert));
    text = "CASE WHEN $1 IS NOT NULL THEN map(" + keys + ", " + values + ") END";
  }
  return MakeTyped("CAST", to.WithNullable(from.nullable), std::move(text), {value});
}

}  // namespace

bool HoldsInstant(const SqlType& type) {
  return type.kind == SqlKind::kTimestampLtz || std::ranges::any_of(type.children, HoldsInstant);
}

Result<BoundPtr> LocalReadings(BoundPtr value, const std::string& zone) {
  const SqlType type = value->type;
  if (!HoldsInstant(type)) return value;
  if (type.kind == SqlKind::kTimestampLtz)
    return MakeCall("LOCAL", type, LocalReading("$1", type.is_nanos(), zone), {std::move(value)});
  return ConvertNested(value, type, [&zone](BoundPtr inner, const SqlType&) {
    return LocalReadings(std::move(inner), zone);
  });
}

Result<BoundPtr> CastTo(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                        const std::string& zone, const std::string& column) {
  if (value->is_null_literal()) {
    return MakeTyped("CAST", to.WithNullable(true),
                     "CAST(NULL AS " + EscapeTemplate(to.EngineName()) + ")", {});
  }
  const SqlType& from = value->type;
  if (from.SameShape(to)) return value;
  if (from.kind == SqlKind::kNull) {  // A column of nothing but NULLs.
    return MakeTyped("CAST", to.WithNullable(true),
                     "CAST($1 AS " + EscapeTemplate(to.EngineName()) + ")", {std::move(value)});
  }
  const Casting casting{from, to, mode, zone, column};
  if (from.kind == SqlKind::kBoolean && (to.is_timestamp() || to.kind == SqlKind::kDate)) {
    return InvalidAt(at, "cannot cast BOOLEAN to ", to.ToString());
  }
  if (to.is_nested() && from.kind == to.kind && from.children.size() == to.children.size()) {
    return ConvertNested(value, to, [&](BoundPtr inner, const SqlType& type) {
      return CastTo(std::move(inner), type, mode, at, zone, column);
    });
  }
  const std::string text = Conversion(casting);
  if (text.empty()) {
    return InvalidAt(at, "cannot cast ", from.WithNullable(true).ToString(), " to ",
                     to.WithNullable(true).ToString(),
                     from.is_numeric() && to.is_timestamp()
                         ? ", use TO_TIMESTAMP(FROM_UNIXTIME(x)) or TO_TIMESTAMP_LTZ"
                         : "");
  }
  const bool nullable = from.nullable || mode == CastMode::kTry;
  return MakeTyped(mode == CastMode::kWiden ? "WIDEN" : "CAST", to.WithNullable(nullable), text,
                   {std::move(value)});
}

}  // namespace sluice::sql
