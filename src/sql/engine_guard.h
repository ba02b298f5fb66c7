#pragma once
#include "sql/duckdb_handles.h"

/// Where the engine's exceptions end. It throws out of any function of its C interface that
/// allocates, through our frames: most of all when a query has used up its memory. Its callbacks
/// into us are registered as `Callback<function>` alone, and what our own threads call that may
/// allocate stands in `Guarded`; so no function between the two is noexcept.
namespace sluice::sql::duckdb {

/// The exception under way as an error: the engine's own with the code that EngineError gives it,
/// one of the standard library for want of memory as kStorageBackpressure. In a catch block alone.
Status ErrorUnderWay();

/// What `function` gives, a Status or a Result; an exception becomes its error.
template <typename Function>
auto Guarded(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return ErrorUnderWay();
  }
}

/// The engine's callback for a function of ours; its error fails the statement.
template <Status (*function)(BindInfo)>
void Callback(BindInfo info) {
  const Status status = Guarded([info] { return function(info); });
  if (!status.ok()) Loaded().bind_set_error(info, MarkError(status).c_str());
}
template <Status (*function)(InitInfo)>
void Callback(InitInfo info) {
  const Status status = Guarded([info] { return function(info); });
  if (!status.ok()) Loaded().init_set_error(info, MarkError(status).c_str());
}
template <Status (*function)(FunctionInfo, DataChunk)>
void Callback(FunctionInfo info, DataChunk output) {
  const Status status = Guarded([&] { return function(info, output); });
  if (!status.ok()) Loaded().function_set_error(info, MarkError(status).c_str());
}
/// A function on values says its errors in words, by which EngineError finds the place in the
/// statement: their code is not kept, but that of an exception is.
template <Status (*function)(FunctionInfo, DataChunk, Vector)>
void Callback(FunctionInfo info, DataChunk input, Vector output) {
  bool thrown = true;
  const Status status = Guarded([&] {
    Status own = function(info, input, output);
    thrown = false;
    return own;
  });
  if (status.ok()) return;
  const std::string text = thrown ? MarkError(status) : status.message();
  Loaded().scalar_function_set_error(info, text.c_str());
}

}  // namespace sluice::sql::duckdb
