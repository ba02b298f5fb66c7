#include "sql/cast.h"

namespace sluice::sql {

namespace {

/// One conversion being built.
struct Casting {
  const SqlType& from;
  const SqlType& to;
  CastMode mode;
  const std::string& zone;

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
std::string LocalReading(const std::string& instant, const std::string& zone) {
  if (zone == "UTC") return instant;
  return "timezone(" + QuoteString(zone) + ", timezone('UTC', " + instant + "))";
}
std::string InstantOf(const std::string& local, const std::string& zone) {
  if (zone == "UTC") return local;
  return "timezone('UTC', timezone(" + QuoteString(zone) + ", " + local + "))";
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
      if (c.from.is_nanos()) return "flink_timestamp_ns_text($1" + digits;
      const bool instant = c.from.kind == SqlKind::kTimestampLtz;
      return "flink_timestamp_text(" + (instant ? LocalReading("$1", c.zone) : "$1") + digits;
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
    return "rpad(" + plain + ", " + length + ", ' ')";  // Also cuts what is longer.
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
  if (c.from.is_text()) return c.ToTarget("$1");
  if (c.from.kind == SqlKind::kTimestamp) return c.ToTarget("$1");
  if (c.from.kind == SqlKind::kTimestampLtz) return c.ToTarget(LocalReading("$1", c.zone));
  return std::string(kNoCast);
}

std::string ToTime(const Casting& c) {
  std::string time;
  if (c.from.kind == SqlKind::kTime) {
    time = "$1";
  } else if (c.from.is_text() || c.from.kind == SqlKind::kTimestamp) {
    time = c.ToTarget("$1");
  } else if (c.from.kind == SqlKind::kTimestampLtz) {
    time = c.ToTarget(LocalReading("$1", c.zone));
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
    time = c.Function(nanos ? "text_to_timestamp_ns" : "text_to_timestamp") + "($1)";
  } else if (c.from.kind == SqlKind::kDate) {
    time = "CAST($1 AS TIMESTAMP)";
    if (nanos) time = "flink_us_to_ns(" + time + ")";
    digits = 0;
  } else if (c.from.kind == SqlKind::kTime) {
    time = "(DATE '1970-01-01' + $1)";
    if (nanos) time = "flink_us_to_ns(" + time + ")";
    digits = c.from.precision;
  } else if (c.from.is_timestamp()) {
    time = c.from.is_nanos() == nanos ? "$1" : nanos ? "flink_us_to_ns($1)" : "flink_ns_to_us($1)";
    digits = c.from.precision;
    local = c.from.kind == SqlKind::kTimestamp;
  } else {
    return std::string(kNoCast);
  }
  if (local && to_instant) time = InstantOf(time, c.zone);
  if (!local && !to_instant) time = LocalReading(time, c.zone);
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
    case SqlKind::kArray:
    case SqlKind::kMap:
    case SqlKind::kRow:
      return c.from.kind == c.to.kind ? c.ToTarget("$1") : std::string(kNoCast);
    default:
      return std::string(kNoCast);
  }
}

}  // namespace

Result<BoundPtr> CastTo(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                        const std::string& zone) {
  if (value->is_null_literal()) {
    return MakeTyped("CAST", to.WithNullable(true), "CAST(NULL AS " + to.EngineName() + ")", {});
  }
  const SqlType& from = value->type;
  if (from.SameShape(to)) return value;
  if (from.kind == SqlKind::kNull) {  // A column of nothing but NULLs.
    return MakeTyped("CAST", to.WithNullable(true),
                     "CAST($1 AS " + EscapeTemplate(to.EngineName()) + ")", {std::move(value)});
  }
  const Casting casting{from, to, mode, zone};
  if (from.kind == SqlKind::kBoolean && (to.is_timestamp() || to.kind == SqlKind::kDate)) {
    return InvalidAt(at, "cannot cast BOOLEAN to ", to.ToString());
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
