#include "sql/duckdb_handles.h"

#include <vector>

#include "sql/engine_guard.h"

namespace sluice::sql::duckdb {

Result<Owned<DataChunk>> QueryResult::Fetch(const EngineText& text) {
  return Guarded([&]() -> Result<Owned<DataChunk>> {
    const DataChunk chunk = api_->fetch_chunk(handle_);
    if (chunk == nullptr) {
      const char* error = api_->result_error(&handle_);
      if (error != nullptr && *error != '\0') return EngineError(error, text);
    }
    return Owned<DataChunk>(chunk, api_->destroy_data_chunk);
  });
}

Status Run(const Api& api, Connection connection, const std::string& sql) {
  return Guarded([&]() -> Status {
    QueryResult result(api);
    if (api.query(connection, sql.c_str(), result.handle()) == State::kSuccess) return Status::OK();
    return EngineError(api.result_error(result.handle()));
  });
}

namespace {

Result<QueryResult> Begin(const Api& api, Connection connection, const std::string& sql,
                          const EngineText& text) {
  PreparedStatement raw = nullptr;
  const State prepared = api.prepare(connection, sql.c_str(), &raw);
  const Owned<PreparedStatement> statement(raw, api.destroy_prepare);
  if (prepared != State::kSuccess) return EngineError(api.prepare_error(raw), text);
  PendingResult raw_pending = nullptr;
  const State started = api.pending_prepared_streaming(raw, &raw_pending);
  const Owned<PendingResult> pending(raw_pending, api.destroy_pending);
  if (started != State::kSuccess) return EngineError(api.pending_error(raw_pending), text);
  QueryResult result(api);
  if (api.execute_pending(raw_pending, result.handle()) != State::kSuccess) {
    return EngineError(api.result_error(result.handle()), text);
  }
  return result;
}

}  // namespace

Result<QueryResult> Stream(const Api& api, Connection connection, const std::string& sql,
                           const std::vector<Place>& places) {
  return Guarded([&] { return Begin(api, connection, sql, {sql, &places}); });
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
