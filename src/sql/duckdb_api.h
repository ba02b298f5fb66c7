#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"

/// The part of DuckDB's C interface (version 1, stable since 1.2) that we call, resolved from the
/// shared library when the first statement needs it. Names without the `duckdb_` in front are the
/// functions' names.
namespace sluice::sql::duckdb {

// Handles are pointers to opaque things; each has its own type so that mixing them up does not
// compile.
using Database = struct DatabaseTag*;
using Config = struct ConfigTag*;
using Connection = struct ConnectionTag*;
using PreparedStatement = struct PreparedStatementTag*;
using PendingResult = struct PendingResultTag*;
using DataChunk = struct DataChunkTag*;
using Vector = struct VectorTag*;
using LogicalType = struct LogicalTypeTag*;
using Value = struct ValueTag*;
using TableFunction = struct TableFunctionTag*;
using ScalarFunction = struct ScalarFunctionTag*;
using BindInfo = struct BindInfoTag*;
using InitInfo = struct InitInfoTag*;
using FunctionInfo = struct FunctionInfoTag*;
using Index = uint64_t;

enum class State : int { kSuccess = 0, kError = 1 };

/// Physical and logical type numbers of the interface.
enum class TypeId : int {
  kBoolean = 1,
  kTinyInt = 2,
  kSmallInt = 3,
  kInteger = 4,
  kBigInt = 5,
  kFloat = 10,
  kDouble = 11,
  kTimestamp = 12,
  kDate = 13,
  kTime = 14,
  kHugeInt = 16,
  kVarchar = 17,
  kBlob = 18,
  kDecimal = 19,
  kTimestampNanos = 22,
  kList = 24,
  kStruct = 25,
  kMap = 26,
};

/// The result of a query as the interface lays it out; only its last member means anything today.
struct ResultHandle {
  Index column_count = 0;
  Index row_count = 0;
  Index rows_changed = 0;
  void* columns = nullptr;
  char* error_message = nullptr;
  void* internal_data = nullptr;
};
static_assert(sizeof(ResultHandle) == 48);

/// A string inside a vector: up to 12 bytes in place, else the first four and a pointer.
struct StringValue {
  static constexpr uint32_t kInlineMax = 12;
  uint32_t length;
  char prefix[4];
  union {
    char rest[8];
    const char* data;
  };
  std::string_view view() const { return {length <= kInlineMax ? prefix : data, length}; }
};
static_assert(sizeof(StringValue) == 16);

struct ListEntry {
  uint64_t offset;
  uint64_t length;
};
static_assert(sizeof(ListEntry) == 16);

using DestroyCallback = void (*)(void*);
using BindCallback = void (*)(BindInfo);
using InitCallback = void (*)(InitInfo);
using TableCallback = void (*)(FunctionInfo, DataChunk);
using ScalarCallback = void (*)(FunctionInfo, DataChunk, Vector);

// Return type, name, arguments.
#define SLUICE_DUCKDB_FUNCTIONS(X)                                                  \
  X(const char*, library_version, (void))                                           \
  X(void, free, (void*))                                                            \
  X(State, create_config, (Config*))                                                \
  X(State, set_config, (Config, const char*, const char*))                          \
  X(void, destroy_config, (Config*))                                                \
  X(State, open_ext, (const char*, Database*, Config, char**))                      \
  X(void, close, (Database*))                                                       \
  X(State, connect, (Database, Connection*))                                        \
  X(void, disconnect, (Connection*))                                                \
  X(void, interrupt, (Connection))                                                  \
  X(State, query, (Connection, const char*, ResultHandle*))                         \
  X(State, prepare, (Connection, const char*, PreparedStatement*))                  \
  X(const char*, prepare_error, (PreparedStatement))                                \
  X(void, destroy_prepare, (PreparedStatement*))                                    \
  X(State, pending_prepared_streaming, (PreparedStatement, PendingResult*))         \
  X(State, execute_pending, (PendingResult, ResultHandle*))                         \
  X(const char*, pending_error, (PendingResult))                                    \
  X(void, destroy_pending, (PendingResult*))                                        \
  X(const char*, result_error, (ResultHandle*))                                     \
  X(void, destroy_result, (ResultHandle*))                                          \
  X(DataChunk, fetch_chunk, (ResultHandle))                                         \
  X(Index, column_count, (ResultHandle*))                                           \
  X(void, destroy_data_chunk, (DataChunk*))                                         \
  X(Index, data_chunk_get_size, (DataChunk))                                        \
  X(Index, data_chunk_get_column_count, (DataChunk))                                \
  X(Vector, data_chunk_get_vector, (DataChunk, Index))                              \
  X(void, data_chunk_set_size, (DataChunk, Index))                                  \
  X(Index, vector_size, (void))                                                     \
  X(void*, vector_get_data, (Vector))                                               \
  X(uint64_t*, vector_get_validity, (Vector))                                       \
  X(void, vector_ensure_validity_writable, (Vector))                                \
  X(void, vector_assign_string_element_len, (Vector, Index, const char*, Index))    \
  X(Vector, list_vector_get_child, (Vector))                                        \
  X(Index, list_vector_get_size, (Vector))                                          \
  X(State, list_vector_set_size, (Vector, Index))                                   \
  X(State, list_vector_reserve, (Vector, Index))                                    \
  X(Vector, struct_vector_get_child, (Vector, Index))                               \
  X(LogicalType, create_logical_type, (TypeId))                                     \
  X(LogicalType, create_decimal_type, (uint8_t, uint8_t))                           \
  X(LogicalType, create_list_type, (LogicalType))                                   \
  X(LogicalType, create_map_type, (LogicalType, LogicalType))                       \
  X(LogicalType, create_struct_type, (LogicalType*, const char**, Index))           \
  X(void, destroy_logical_type, (LogicalType*))                                     \
  X(int64_t, get_int64, (Value))                                                    \
  X(void, destroy_value, (Value*))                                                  \
  X(TableFunction, create_table_function, (void))                                   \
  X(void, destroy_table_function, (TableFunction*))                                 \
  X(void, table_function_set_name, (TableFunction, const char*))                    \
  X(void, table_function_add_parameter, (TableFunction, LogicalType))               \
  X(void, table_function_set_extra_info, (TableFunction, void*, DestroyCallback))   \
  X(void, table_function_set_bind, (TableFunction, BindCallback))                   \
  X(void, table_function_set_init, (TableFunction, InitCallback))                   \
  X(void, table_function_set_local_init, (TableFunction, InitCallback))             \
  X(void, table_function_set_function, (TableFunction, TableCallback))              \
  X(void, table_function_supports_projection_pushdown, (TableFunction, bool))       \
  X(State, register_table_function, (Connection, TableFunction))                    \
  X(void*, bind_get_extra_info, (BindInfo))                                         \
  X(Value, bind_get_parameter, (BindInfo, Index))                                   \
  X(void, bind_add_result_column, (BindInfo, const char*, LogicalType))             \
  X(void, bind_set_bind_data, (BindInfo, void*, DestroyCallback))                   \
  X(void, bind_set_cardinality, (BindInfo, Index, bool))                            \
  X(void, bind_set_error, (BindInfo, const char*))                                  \
  X(void*, init_get_bind_data, (InitInfo))                                          \
  X(void, init_set_init_data, (InitInfo, void*, DestroyCallback))                   \
  X(Index, init_get_column_count, (InitInfo))                                       \
  X(Index, init_get_column_index, (InitInfo, Index))                                \
  X(void, init_set_max_threads, (InitInfo, Index))                                  \
  X(void, init_set_error, (InitInfo, const char*))                                  \
  X(void*, function_get_init_data, (FunctionInfo))                                  \
  X(void*, function_get_local_init_data, (FunctionInfo))                            \
  X(void, function_set_error, (FunctionInfo, const char*))                          \
  X(ScalarFunction, create_scalar_function, (void))                                 \
  X(void, destroy_scalar_function, (ScalarFunction*))                               \
  X(void, scalar_function_set_name, (ScalarFunction, const char*))                  \
  X(void, scalar_function_add_parameter, (ScalarFunction, LogicalType))             \
  X(void, scalar_function_set_varargs, (ScalarFunction, LogicalType))               \
  X(void, scalar_function_set_special_handling, (ScalarFunction))                   \
  X(void, scalar_function_set_return_type, (ScalarFunction, LogicalType))           \
  X(void, scalar_function_set_extra_info, (ScalarFunction, void*, DestroyCallback)) \
  X(void*, scalar_function_get_extra_info, (FunctionInfo))                          \
  X(void, scalar_function_set_function, (ScalarFunction, ScalarCallback))           \
  X(void, scalar_function_set_error, (FunctionInfo, const char*))                   \
  X(State, register_scalar_function, (Connection, ScalarFunction))

/// The resolved functions. Filled once, then read by any thread.
struct Api {
#define SLUICE_DUCKDB_POINTER(result, name, arguments) result(*name) arguments = nullptr;
  SLUICE_DUCKDB_FUNCTIONS(SLUICE_DUCKDB_POINTER)
#undef SLUICE_DUCKDB_POINTER
};

/// The major and minor version that the declarations above were checked with.
inline constexpr std::string_view kLibraryVersion = "v1.5.";

/// Load the library, which then stays until the process ends; a later call gives what the first one
/// loaded. Errors: the file cannot be loaded, a function is missing, another version; each names
/// the path. Threads: any.
Result<const Api*> LoadApi(const std::string& path);

/// What LoadApi loaded. The library's callbacks into us start here, since C gives them no other way
/// to the functions.
const Api& Loaded();

}  // namespace sluice::sql::duckdb
