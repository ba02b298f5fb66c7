#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/duckdb_api.h"
#include "sql/engine_error.h"
#include "sql/sql_type.h"

namespace sluice::sql::duckdb {

/// Owner of one handle; `destroy` is the interface's function that takes the handle's address.
template <typename Handle>
class Owned {
 public:
  using Destroy = void (*)(Handle*);
  Owned() = default;
  Owned(Handle handle, Destroy destroy) : handle_(handle), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy_(&handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Destroy destroy_ = nullptr;
};

/// A query's result: an error, or chunks to fetch one after another.
class QueryResult {
 public:
  explicit QueryResult(const Api& api) : api_(&api) {}
  QueryResult(QueryResult&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, ResultHandle{})) {}
  QueryResult& operator=(QueryResult&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~QueryResult() { api_->destroy_result(&handle_); }

  ResultHandle* handle() { return &handle_; }
  /// The next chunk, empty at the end. Errors: those of the query while it runs.
  /// `text`: what was run.
  Result<Owned<DataChunk>> Fetch(const EngineText& text);

 private:
  const Api* api_;
  ResultHandle handle_;
};

/// Run text whose result is of no interest.
Status Run(const Api& api, Connection connection, const std::string& sql);

/// Start a query whose rows are produced as they are fetched. `places`: those of its marks.
Result<QueryResult> Stream(const Api& api, Connection connection, const std::string& sql,
                           const std::vector<Place>& places);

/// The engine's type that holds an SQL type (SqlType says which).
Owned<LogicalType> MakeType(const Api& api, const SqlType& type);

}  // namespace sluice::sql::duckdb
