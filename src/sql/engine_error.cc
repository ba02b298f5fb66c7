#include "sql/engine_error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace sluice::sql {

namespace {

constexpr std::string_view kPlaceOpen = "/*<";

// Behind the text or the name in quotes that begins at `at`; `at` itself when none does.
size_t BehindQuotes(std::string_view sql, size_t at) {
  if (sql[at] != '\'' && sql[at] != '"') return at;
  const size_t end = sql.find(sql[at], at + 1);  // A doubled quote begins the next piece.
  return end == std::string_view::npos ? sql.size() : end + 1;
}

// "/*<7*/" at `at`: 7 and the mark's length; nullopt for other text.
std::optional<std::pair<size_t, size_t>> PlaceMarkAt(std::string_view sql, size_t at) {
  std::string_view rest = sql.substr(at);
  if (!rest.starts_with(kPlaceOpen)) return std::nullopt;
  rest.remove_prefix(kPlaceOpen.size());
  size_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto digits = static_cast<size_t>(end - rest.data());
  if (error != std::errc() || !rest.substr(digits).starts_with("*/")) return std::nullopt;
  return std::pair(number, kPlaceOpen.size() + digits + 2);
}

// The place of the mark at byte `at`; null when there is none.
const Place* PlaceOfMark(const EngineText& text, size_t at) {
  const auto mark = PlaceMarkAt(text.sql, at);
  if (!mark || text.places == nullptr || mark->first >= text.places->size()) return nullptr;
  return &(*text.places)[mark->first];
}

// The place of what begins at byte `offset`: the innermost whose SQL holds it. A conversion to the
// type that its argument has anyway is dropped by the engine, which then says its place for the
// argument's: CAST(/*<7*/CAST(x AS INTEGER)/*>*/ AS INTEGER).
const Place* PlaceAt(const EngineText& text, size_t offset) {
  if (offset >= text.sql.size()) return nullptr;
  constexpr std::string_view kCast = "CAST(";
  std::vector<size_t> open;
  bool own = false;  // A mark ends at `offset`.
  for (size_t at = 0; at < offset;) {
    own = false;
    if (const size_t behind = BehindQuotes(text.sql, at); behind > at) {
      at = behind;
    } else if (const auto mark = PlaceMarkAt(text.sql, at)) {
      open.push_back(at);
      at += mark->second;
      own = at == offset;
    } else if (text.sql.substr(at).starts_with(kPlaceEnd)) {
      if (!open.empty()) open.pop_back();
      at += kPlaceEnd.size();
    } else {
      ++at;
    }
  }
  const size_t argument = offset + kCast.size();
  if (!own && text.sql.substr(offset).starts_with(kCast)) {
    if (const Place* inner = PlaceOfMark(text, argument)) return inner;
  }
  return open.empty() ? nullptr : PlaceOfMark(text, open.back());
}

}  // namespace

std::string PlaceBegin(int place) { return std::string(kPlaceOpen) + std::to_string(place) + "*/"; }

std::string WithoutPlaces(std::string_view sql) {
  std::string plain;
  for (size_t at = 0; at < sql.size();) {
    if (const size_t behind = BehindQuotes(sql, at); behind > at) {
      plain += sql.substr(at, behind - at);
      at = behind;
    } else if (const auto mark = PlaceMarkAt(sql, at)) {
      at += mark->second;
    } else if (sql.substr(at).starts_with(kPlaceEnd)) {
      at += kPlaceEnd.size();
    } else {
      plain.push_back(sql[at++]);
    }
  }
  return plain;
}

namespace duckdb {

namespace {

// What the engine's kinds of exception mean to whoever sent the statement.
struct KindOfError {
  std::string_view kind;
  ErrorCode code;
  std::string_view words;  // Said in front of the engine's own text.
};
constexpr KindOfError kKinds[] = {
    // The rows hold a value that the statement cannot compute with.
    {"Invalid Input", ErrorCode::kInvalidTable, ""},
    {"Conversion", ErrorCode::kInvalidTable, ""},
    {"Out of Range", ErrorCode::kInvalidTable, ""},
    {"Mismatch Type", ErrorCode::kInvalidTable, ""},
    {"Constraint", ErrorCode::kInvalidTable, ""},
    {"Not implemented", ErrorCode::kUnsupportedVersion, "query engine cannot do this, reason="},
    // The statement needs more than there is; it may succeed later or with less.
    {"Out of Memory", ErrorCode::kStorageBackpressure,
     "statement needs more memory than the query engine may use, reason="},
    {"IO", ErrorCode::kStorage, "query engine cannot use its disk, reason="},
    {"INTERRUPT", ErrorCode::kOperationNotAttempted, "statement was stopped, reason="},
    {"Interrupted", ErrorCode::kOperationNotAttempted, "statement was stopped, reason="},
};
constexpr std::string_view kDepthText = "Max expression depth limit";
constexpr size_t kEngineWordsMax = 400;                 // They may hold values of the user.
constexpr std::string_view kOwnMark = "sluice error ";  // An error of ours on its way through.

// Words for a text of the engine. In `text`, '*' is any part; in `words`, $1 is the first part,
// which is shown as a value of the user, and #1 as the name of a type. `operations`: those that it
// may come from, by commas; "time" are all on times.
struct Rewording {
  std::string_view text;
  std::string_view words;
  std::string_view operations;
  ErrorCode code = ErrorCode::kInvalidTable;
};
constexpr std::string_view kRegularExpressions = "REGEXP,REGEXP_REPLACE,REGEXP_EXTRACT,SIMILAR TO";
constexpr std::string_view kDeviations = "STDDEV,STDDEV_POP,STDDEV_SAMP,VARIANCE,VAR_POP,VAR_SAMP";
constexpr std::string_view kBadPattern = "regular expression is not understood, reason=$0";
constexpr std::string_view kTimeRange = "time is out of range";
constexpr std::string_view kTimes = "time,CAST,FROM_UNIXTIME,UNIX_TIMESTAMP,CONVERT_TZ,DATE_FORMAT";
constexpr std::string_view kNotADate = "text is not a date, text='$1' form=yyyy-MM-dd";
constexpr std::string_view kNotATime = "text is not a time, text='$1' form=HH:mm:ss";
constexpr std::string_view kNotATimestamp =
    "text is not a timestamp, text='$1' form='yyyy-MM-dd HH:mm:ss[.f]'";
constexpr Rewording kRewordings[] = {
    {"Overflow in addition of * (*)!*", "number is out of range, operation=$2 type=#1",
     "+,TIMESTAMPADD time,time"},
    {"Overflow in subtraction of * (*)!*", "number is out of range, operation=$2 type=#1",
     "-,time"},
    {"Overflow in multiplication of * (*)!*", "number is out of range, operation=$2 type=#1",
     "*,STDDEV,STDDEV_POP,STDDEV_SAMP,VARIANCE,VAR_POP,VAR_SAMP,FROM_UNIXTIME,time"},
    {"Overflow in multiplication of * (*). *", "number is out of range, operation=$2 type=#1",
     "*,time"},
    {"Overflow in negation*", "number is out of range, operation=negation", "NEGATE,time"},
    {"Overflow on abs(*)*", "number is out of range, operation=ABS($1)", "ABS"},
    {"Overflow in HUGEINT addition: *", "number is out of range, operation=$1", "SUM,AVG"},
    {"Overflow *", "number is out of range, reason=$0", ""},
    {"number is out of range*", "$0", "/,ROUND"},
    {"division by zero*", "$0", "/,%,MOD,AVG,STDDEV,STDDEV_POP,STDDEV_SAMP,VARIANCE"},
    {"STDDEV* is out of range!", "number is out of range, operation=STDDEV$1", kDeviations},
    {"VAR* is out of range!", "number is out of range, operation=VAR$1", kDeviations},
    {"AVG is out of range!", "number is out of range, operation=AVG", "AVG"},
    {"SUM is out of range!", "number is out of range, operation=SUM", "SUM"},
    {"Type * with value * can't be cast because the value is out of range for the destination type "
     "*",
     "value is out of range, value=$2 type=#3", ""},
    {"Casting value \"*\" to type * failed: value is out of range!*",
     "value is out of range, value=$1 type=#2", ""},
    {"Failed to cast decimal value * to type *", "value is out of range, value=$1 type=#2", ""},
    {"Could not cast value * to *", "value is out of range, value=$1 type=#2", ""},
    {"Could not convert string '*' to *", "text does not fit the type, text='$1' type=#2", ""},
    {"Could not convert string \"*\" to *", "text does not fit the type, text='$1' type=#2", ""},
    {"date field value out of range: \"*\"*", kNotADate, ""},
    {"invalid date field format: \"*\"*", kNotADate, ""},
    {"time field value out of range: \"*\"*", kNotATime, ""},
    {"invalid time field format: \"*\"*", kNotATime, ""},
    {"timestamp field value out of range: \"*\"*", kNotATimestamp, ""},
    {"invalid timestamp field format: \"*\"*", kNotATimestamp, ""},
    {"Date and time not in timestamp range*", kTimeRange, kTimes},
    {"Date out of range*", kTimeRange, kTimes},
    {"Timestamp microseconds out of range*", kTimeRange, kTimes},
    {"Could not convert Timestamp(*", kTimeRange, kTimes},
    {"Timestamp out of range*", kTimeRange, kTimes},
    {"Timestamp difference is out of bounds*", kTimeRange, "time,TIMESTAMPDIFF,TIME DIFFERENCE"},
    {"Interval value * out of range*", "interval is out of range, value=$1", "time"},
    {"Could not decode string \"*\" as base64*", "text is not base64, text='$1'", "FROM_BASE64"},
    {"Failure in decode*", "bytes are not text in UTF-8", "CAST,nested cast,FROM_BASE64"},
    {"More than one row returned by a subquery*", "a query as a value gives more than one row",
     "query"},
    {"Map keys must be unique*", "a MAP has a key twice", "MAP,nested cast"},
    {"Map keys can not be NULL*", "a key of a MAP is NULL", "MAP,nested cast"},
    {"Argument for ntile must be greater than zero*", "NTILE needs a number above zero", "NTILE"},
    {"QUANTILE can only take *", "PERCENTILE needs a constant number between 0 and 1",
     "PERCENTILE"},
    {"JSON path error near '*'*", "JSON path is not understood, near='$1'",
     "JSON_VALUE,JSON_QUERY,JSON_EXISTS"},
    {"Unknown TimeZone '*'!*", "time zone is not known, name=$1", "CONVERT_TZ"},
    {"missing *", kBadPattern, kRegularExpressions},
    {"unexpected ): *", kBadPattern, kRegularExpressions},
    {"trailing \\*", kBadPattern, kRegularExpressions},
    {"bad repetition operator*", kBadPattern, kRegularExpressions},
    {"bad repetition argument*", kBadPattern, kRegularExpressions},
    {"no argument for repetition operator*", kBadPattern, kRegularExpressions},
    {"invalid escape sequence*", kBadPattern, kRegularExpressions},
    {"invalid character class*", kBadPattern, kRegularExpressions},
    {"invalid perl operator*", kBadPattern, kRegularExpressions},
    {"invalid named *", kBadPattern, kRegularExpressions},
    {"invalid repetition *", kBadPattern, kRegularExpressions},
    {"invalid UTF-8*", kBadPattern, kRegularExpressions},
    {"pattern too large*", kBadPattern, kRegularExpressions},
    {"ESCAPE needs *", "$0", "LIKE"},
    {"the escape stands *", "$0", "LIKE"},
    {"time pattern is not supported*", "$0", "DATE_FORMAT,FROM_UNIXTIME"},
    {"a JSON path *", "$0", "JSON_VALUE,JSON_QUERY,JSON_EXISTS"},
    {"strict JSON paths *", "$0", "JSON_VALUE,JSON_QUERY,JSON_EXISTS",
     ErrorCode::kUnsupportedVersion},
    {"JSON paths that *", "$0", "JSON_VALUE,JSON_QUERY,JSON_EXISTS",
     ErrorCode::kUnsupportedVersion},
    {"RAND_INTEGER needs *", "$0", "RAND_INTEGER"},
    {"ELEMENT: *", "$0", "ELEMENT"},
    {"a function makes too *", "$0",
     "REPEAT,LPAD,RPAD,REPLACE,CONCAT,CONCAT_WS,||,ARRAY_JOIN,REGEXP_REPLACE,CAST"},
    {"REGEXP_REPLACE may make *", "$0", "REGEXP_REPLACE"},
    {"text is not a date*", "$0", "CAST,nested cast"},
    {"text is not a whole number*", "$0", "text to number,nested cast"},
    {"text is not a timestamp*", "$0", "text to timestamp,nested cast"},
    {"timestamp is outside what*", "$0", "text to timestamp,CAST,nested cast"},
};

struct TypeName {
  std::string_view engine;
  std::string_view ours;
};
constexpr TypeName kTypeNames[] = {
    {"INT128", "DECIMAL(38, 0)"},    {"INT64", "BIGINT"}, {"INT32", "INT"},
    {"INT16", "SMALLINT"},           {"INT8", "TINYINT"}, {"INTEGER", "INT"},
    {"VARCHAR", "STRING"},           {"BOOL", "BOOLEAN"}, {"BLOB", "BYTES"},
    {"TIMESTAMP_NS", "TIMESTAMP(9)"}};

std::string TypeNamed(std::string_view engine) {
  const auto found = std::ranges::find(kTypeNames, engine, &TypeName::engine);
  if (found != std::end(kTypeNames)) return std::string(found->ours);
  std::string name;
  for (const char c : engine) name += c == ',' ? ", " : std::string(1, c);  // DECIMAL(10, 2)
  return name;
}

// The parts of `text` that the stars of `pattern` stand for, each as short as it can be but the
// last; nullopt when it does not match.
std::optional<std::vector<std::string_view>> MatchStars(std::string_view pattern,
                                                        std::string_view text) {
  std::vector<std::string_view> parts;
  const size_t first = pattern.find('*');
  if (!text.starts_with(pattern.substr(0, first))) return std::nullopt;
  if (first == std::string_view::npos) return text == pattern ? std::optional(parts) : std::nullopt;
  text.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  while (true) {
    const size_t next = pattern.find('*');
    const std::string_view fixed = pattern.substr(0, next);
    const bool last = next == std::string_view::npos;
    if (last && !text.ends_with(fixed)) return std::nullopt;
    const size_t at = last ? text.size() - fixed.size() : text.find(fixed);
    if (at == std::string_view::npos) return std::nullopt;
    parts.push_back(text.substr(0, at));
    if (last) return parts;
    text.remove_prefix(at + fixed.size());
    pattern.remove_prefix(next + 1);
  }
}

std::string FillWords(std::string_view words, std::string_view whole,
                      std::span<const std::string_view> parts) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool named = (words[i] == '$' || words[i] == '#') && i + 1 < words.size() &&
                       words[i + 1] >= '0' && words[i + 1] <= '9';
    if (!named) {
      text.push_back(words[i]);
      continue;
    }
    const auto number = static_cast<size_t>(words[i + 1] - '0');
    const std::string_view part = number == 0 ? whole : parts[number - 1];
    text += words[i] == '#' ? Shown(TypeNamed(part), kEngineWordsMax)
            : number == 0   ? Shown(part, kEngineWordsMax)
                            : Shown(part);
    ++i;
  }
  return text;
}

bool Lists(std::string_view operations, std::string_view operation) {
  const bool time = operation.ends_with(" time");
  while (!operations.empty()) {
    const size_t comma = std::min(operations.find(','), operations.size());
    const std::string_view one = operations.substr(0, comma);
    if (one == operation || (one == "time" && time)) return true;
    operations.remove_prefix(std::min(comma + 1, operations.size()));
  }
  return false;
}

// The only place that does one of these operations; null when there are several or none.
const Place* OnlyPlace(const EngineText& text, std::string_view operations) {
  if (text.places == nullptr || operations.empty()) return nullptr;
  const Place* found = nullptr;
  for (const Place& place : *text.places) {
    if (!Lists(operations, place.operation)) continue;
    if (found != nullptr && found->at != place.at) return nullptr;
    found = &place;
  }
  return found;
}

/// An error as the engine says it.
struct Said {
  std::string kind;
  std::string message;
  std::optional<size_t> offset;  // In the SQL that it was given.
};

// Without the engine's hints and places in its own SQL.
void CutHints(std::string* message) {
  for (const std::string_view tail : {"\n\nLINE ", " when casting from source column",
                                      "\nPossible solutions", "\nDatabase is launched"}) {
    message->resize(std::min(message->size(), message->find(tail)));
  }
}

// `text` is JSON, or "Kind Error: text" whose text may be JSON in turn.
Said Understand(std::string_view text) {
  Said said;
  const size_t end = text.find(" Error: ");
  const auto in_kind = [](unsigned char c) { return std::isalpha(c) != 0 || c == ' '; };
  if (end != std::string_view::npos && std::ranges::all_of(text.substr(0, end), in_kind)) {
    said.kind = text.substr(0, end);
    text.remove_prefix(end + 8);
  }
  said.message = text;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto member = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json.is_object() || member("exception_message").empty()) return said;
  said.kind = member("exception_type");
  said.message = member("exception_message");
  const std::string position = member("position");
  size_t offset = 0;
  const auto [last, error] =
      std::from_chars(position.data(), position.data() + position.size(), offset);
  if (error == std::errc()) said.offset = offset;
  return said;
}

// An error that MarkError wrote. Its mark elsewhere than in front is part of a value.
std::optional<Status> OwnError(std::string_view message) {
  if (!message.starts_with(kOwnMark)) return std::nullopt;
  message.remove_prefix(kOwnMark.size());
  int32_t code = 0;
  const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), code);
  message.remove_prefix(static_cast<size_t>(end - message.data()));
  if (error != std::errc() || !message.starts_with(": ")) return std::nullopt;
  return MakeError(static_cast<ErrorCode>(code), std::string(message.substr(2)));
}

Status At(const Place* place, ErrorCode code, const std::string& words) {
  if (place == nullptr) return Error(code, words);
  const bool named = words.find(" column=") != std::string::npos || place->column.empty();
  return ErrorAt(code, place->at, words, named ? "" : " column=", named ? "" : place->column);
}

}  // namespace

std::string MarkError(const Status& status) {
  return std::string(kOwnMark) + std::to_string(static_cast<int32_t>(CodeOf(status))) + ": " +
         status.message();
}

Status EngineError(const char* message, const EngineText& text) {
  Said said = Understand(message == nullptr ? "query failed" : message);
  if (auto own = OwnError(said.message)) return *own;
  if (said.message.starts_with(kDepthText))
    return Error(ErrorCode::kInvalidTable, "expression is nested too deep for the query engine");
  CutHints(&said.message);
  const Place* place = said.offset ? PlaceAt(text, *said.offset) : nullptr;
  const auto kind = std::ranges::find(kKinds, said.kind, &KindOfError::kind);
  for (const Rewording& rewording : kRewordings) {
    const auto parts = MatchStars(rewording.text, said.message);
    if (!parts) continue;
    const bool refused = kind == std::end(kKinds) || kind->code != ErrorCode::kInvalidTable;
    if (refused && said.kind != "Binder" && said.kind != "Not implemented") break;
    if (place == nullptr) place = OnlyPlace(text, rewording.operations);
    return At(place, rewording.code, FillWords(rewording.words, said.message, *parts));
  }
  const std::string shown = Shown(said.message, kEngineWordsMax);
  if (kind != std::end(kKinds)) return At(place, kind->code, std::string(kind->words) + shown);
  // A translation of ours that the engine refuses, or a fault of the engine.
  return Error(ErrorCode::kUnknownServer, "query engine failed, reason=", shown);
}

}  // namespace duckdb

}  // namespace sluice::sql
