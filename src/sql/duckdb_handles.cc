#include "sql/duckdb_handles.h"

#include <cctype>
#include <charconv>
#include <vector>

namespace sluice::sql::duckdb {

namespace {

// What the engine's kinds of exception mean to whoever sent the statement.
struct KindOfError {
  std::string_view prefix;
  ErrorCode code;
  std::string_view words;  // Said in front of the engine's own text.
};
constexpr KindOfError kKinds[] = {
    // The rows hold a value that the statement cannot compute with.
    {"Invalid Input Error: ", ErrorCode::kInvalidTable, ""},
    {"Conversion Error: ", ErrorCode::kInvalidTable, ""},
    {"Out of Range Error: ", ErrorCode::kInvalidTable, ""},
    {"Mismatch Type Error: ", ErrorCode::kInvalidTable, ""},
    {"Constraint Error: ", ErrorCode::kInvalidTable, ""},
    {"Not implemented Error: ", ErrorCode::kUnsupportedVersion, ""},
    // The statement needs more than there is; it may succeed later or with less.
    {"Out of Memory Error: ", ErrorCode::kStorageBackpressure,
     "statement needs more memory than the query engine may use, reason="},
    {"IO Error: ", ErrorCode::kStorage, "query engine cannot use its disk, reason="},
    {"INTERRUPT Error: ", ErrorCode::kOperationNotAttempted, "statement was stopped, reason="},
    {"Interrupted Error: ", ErrorCode::kOperationNotAttempted, "statement was stopped, reason="},
};
constexpr std::string_view kDepthText = "Max expression depth limit";
constexpr std::string_view kOwnMark = "sluice error ";  // An error of ours on its way through.

struct TypeName {
  std::string_view engine;
  std::string_view ours;
};
constexpr TypeName kTypeNames[] = {
    {"INT128", "DECIMAL(38, 0)"}, {"INT64", "BIGINT"}, {"INT32", "INT"},
    {"INT16", "SMALLINT"},        {"INT8", "TINYINT"}, {"VARCHAR", "STRING"}};

// Is `at` inside 'a value'? The apostrophe of a word ("can't") opens nothing.
bool IsQuoted(std::string_view text, size_t at) {
  bool quoted = false;
  for (size_t i = 0; i < at; ++i) {
    const bool in_word = i > 0 && i + 1 < text.size() &&
                         std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 &&
                         std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == '\'' && !in_word) quoted = !quoted;
  }
  return quoted;
}

// Without the engine's hints, places in its own SQL and names of its own types.
std::string Readable(std::string_view text) {
  for (const std::string_view tail : {"\n\nLINE ", " when casting from source column",
                                      "\nPossible solutions", "\nDatabase is launched"}) {
    text = text.substr(0, text.find(tail));
  }
  std::string readable(text);
  for (const TypeName& name : kTypeNames) {
    for (size_t at = 0; (at = readable.find(name.engine, at)) != std::string::npos;) {
      const bool inside = IsQuoted(readable, at);
      const bool part =
          inside || (at > 0 && std::isalnum(static_cast<unsigned char>(readable[at - 1])) != 0);
      if (!part) readable.replace(at, name.engine.size(), name.ours);
      at += part ? name.engine.size() : name.ours.size();
    }
  }
  return readable;
}

}  // namespace

std::string MarkError(const Status& status) {
  return std::string(kOwnMark) + std::to_string(static_cast<int32_t>(CodeOf(status))) + ": " +
         status.message();
}

Status EngineError(const char* message) {
  const std::string_view text = message == nullptr ? "query failed" : message;
  if (const size_t mark = text.find(kOwnMark); mark != std::string_view::npos) {
    const std::string_view own = text.substr(mark + kOwnMark.size());
    int32_t code = 0;
    const auto [end, error] = std::from_chars(own.data(), own.data() + own.size(), code);
    if (error == std::errc() && own.substr(static_cast<size_t>(end - own.data())).starts_with(": "))
      return MakeError(static_cast<ErrorCode>(code),
                       std::string(own.substr(static_cast<size_t>(end - own.data()) + 2)));
  }
  if (text.find(kDepthText) != std::string_view::npos)
    return Error(ErrorCode::kInvalidTable, "expression is nested too deep for the query engine");
  for (const KindOfError& kind : kKinds) {
    if (text.starts_with(kind.prefix))
      return Error(kind.code, kind.words, Readable(text.substr(kind.prefix.size())));
  }
  // A translation of ours that the engine refuses, or a fault of the engine.
  return Error(ErrorCode::kUnknownServer, "query engine failed, reason=", Readable(text));
}

Result<Owned<DataChunk>> QueryResult::Fetch() {
  const DataChunk chunk = api_->fetch_chunk(handle_);
  if (chunk == nullptr) {
    const char* error = api_->result_error(&handle_);
    if (error != nullptr && *error != '\0') return EngineError(error);
  }
  return Owned<DataChunk>(chunk, api_->destroy_data_chunk);
}

Status Run(const Api& api, Connection connection, const std::string& sql) {
  QueryResult result(api);
  if (api.query(connection, sql.c_str(), result.handle()) == State::kSuccess) return Status::OK();
  return EngineError(api.result_error(result.handle()));
}

Result<QueryResult> Stream(const Api& api, Connection connection, const std::string& sql) {
  PreparedStatement raw = nullptr;
  const State prepared = api.prepare(connection, sql.c_str(), &raw);
  const Owned<PreparedStatement> statement(raw, api.destroy_prepare);
  if (prepared != State::kSuccess) return EngineError(api.prepare_error(raw));
  PendingResult raw_pending = nullptr;
  const State started = api.pending_prepared_streaming(raw, &raw_pending);
  const Owned<PendingResult> pending(raw_pending, api.destroy_pending);
  if (started != State::kSuccess) return EngineError(api.pending_error(raw_pending));
  QueryResult result(api);
  if (api.execute_pending(raw_pending, result.handle()) != State::kSuccess) {
    return EngineError(api.result_error(result.handle()));
  }
  return result;
}

namespace {

TypeId PlainId(SqlKind kind, bool nanos) {
  switch (kind) {
    case SqlKind::kNull:
    case SqlKind::kBoolean:
      return TypeId::kBoolean;
    case SqlKind::kTinyInt:
      return TypeId::kTinyInt;
    case SqlKind::kSmallInt:
      return TypeId::kSmallInt;
    case SqlKind::kIntervalMonth:
    case SqlKind::kInteger:
      return TypeId::kInteger;
    case SqlKind::kIntervalSecond:
    case SqlKind::kBigInt:
      return TypeId::kBigInt;
    case SqlKind::kFloat:
      return TypeId::kFloat;
    case SqlKind::kDouble:
      return TypeId::kDouble;
    case SqlKind::kBinary:
    case SqlKind::kVarbinary:
      return TypeId::kBlob;
    case SqlKind::kDate:
      return TypeId::kDate;
    case SqlKind::kTime:
      return TypeId::kTime;
    case SqlKind::kTimestamp:
    case SqlKind::kTimestampLtz:
      return nanos ? TypeId::kTimestampNanos : TypeId::kTimestamp;
    default:
      return TypeId::kVarchar;
  }
}

}  // namespace

Owned<LogicalType> MakeType(const Api& api, const SqlType& type) {
  const auto own = [&api](LogicalType made) {
    return Owned<LogicalType>(made, api.destroy_logical_type);
  };
  switch (type.kind) {
    case SqlKind::kDecimal:
      return own(api.create_decimal_type(static_cast<uint8_t>(type.precision),
                                         static_cast<uint8_t>(type.scale)));
    case SqlKind::kArray: {
      const Owned<LogicalType> element = MakeType(api, type.children[0]);
      return own(api.create_list_type(element.get()));
    }
    case SqlKind::kMap: {
      const Owned<LogicalType> key = MakeType(api, type.children[0]);
      const Owned<LogicalType> value = MakeType(api, type.children[1]);
      return own(api.create_map_type(key.get(), value.get()));
    }
    case SqlKind::kRow: {
      std::vector<Owned<LogicalType>> owned;
      std::vector<LogicalType> members;
      std::vector<const char*> names;
      for (size_t i = 0; i < type.children.size(); ++i) {
        owned.push_back(MakeType(api, type.children[i]));
        members.push_back(owned.back().get());
        names.push_back(type.names[i].c_str());
      }
      return own(api.create_struct_type(members.data(), names.data(), members.size()));
    }
    default:
      return own(api.create_logical_type(PlainId(type.kind, type.is_nanos())));
  }
}

}  // namespace sluice::sql::duckdb
