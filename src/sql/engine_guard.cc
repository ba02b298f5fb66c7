#include "sql/engine_guard.h"

#include <exception>
#include <new>

namespace sluice::sql::duckdb {

Status ErrorUnderWay() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kStorageBackpressure, "statement needs more memory than there is");
  } catch (const std::exception& exception) {
    return EngineError(exception.what());
  } catch (...) {
    return Error(ErrorCode::kUnknownServer, "query engine failed, reason=unknown exception");
  }
}

}  // namespace sluice::sql::duckdb
