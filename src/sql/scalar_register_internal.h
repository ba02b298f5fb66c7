#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sql/engine_guard.h"
#include "sql/scalar_functions.h"

// How a plain C++ function becomes a function of the engine.
namespace sluice::sql {

using duckdb::Api;
using duckdb::Index;

/// Values of a TIMESTAMP and a TIMESTAMP_NS column.
struct Micros {
  int64_t value;
};
struct Nanos {
  int64_t value;
};

template <typename T>
constexpr SqlKind kKindOf = SqlKind::kNull;
template <>
constexpr SqlKind kKindOf<bool> = SqlKind::kBoolean;
template <>
constexpr SqlKind kKindOf<int32_t> = SqlKind::kInteger;
template <>
constexpr SqlKind kKindOf<int64_t> = SqlKind::kBigInt;
template <>
constexpr SqlKind kKindOf<float> = SqlKind::kFloat;
template <>
constexpr SqlKind kKindOf<double> = SqlKind::kDouble;
template <>
constexpr SqlKind kKindOf<std::string_view> = SqlKind::kVarchar;
template <>
constexpr SqlKind kKindOf<std::string> = SqlKind::kVarchar;
template <>
constexpr SqlKind kKindOf<Micros> = SqlKind::kTimestamp;
template <>
constexpr SqlKind kKindOf<Nanos> = SqlKind::kTimestamp;

template <typename T>
SqlType TypeOf() {
  SqlType type = SqlType::Of(kKindOf<T>);
  if (std::is_same_v<T, Nanos>) type.precision = 9;
  return type;
}

/// Reads one argument.
template <typename T>
class Input {
 public:
  explicit Input(duckdb::Vector vector)
      : data_(duckdb::Loaded().vector_get_data(vector)),
        mask_(duckdb::Loaded().vector_get_validity(vector)) {}
  bool IsNull(Index row) const {
    return mask_ != nullptr && (mask_[row / 64] >> row % 64 & 1) == 0;
  }
  T Get(Index row) const {
    if constexpr (std::is_same_v<T, std::string_view>) {
      return static_cast<const duckdb::StringValue*>(data_)[row].view();
    } else {
      return static_cast<const T*>(data_)[row];
    }
  }

 private:
  const void* data_;
  const uint64_t* mask_;
};

template <typename T>
void Put(duckdb::Vector output, Index row, const T& value) {
  const Api& api = duckdb::Loaded();
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    api.vector_assign_string_element_len(output, row, value.data(), value.size());
  } else {
    static_cast<T*>(api.vector_get_data(output))[row] = value;
  }
}

/// Bytes of one text that a function makes, and of all that it makes in one step (up to the
/// engine's vector_size() rows). The engine counts them against its memory limit only in part.
inline constexpr uint64_t kTextBytesMax = 16 << 20;
inline constexpr uint64_t kVectorTextBytesMax = 256 << 20;

inline Status CheckVectorBytes(uint64_t bytes) {
  return bytes <= kVectorTextBytesMax
             ? Status::OK()
             : Status::ExecutionError("a function makes too much text in one step, bytes=", bytes,
                                      " bytes_max=", kVectorTextBytesMax);
}

/// What a function of ours gives: a value, NULL, or an error of the whole query.
template <typename T>
using Outcome = Result<std::optional<T>>;

// The engine's callback for a plain function; NULL in any argument gives NULL.
template <auto function, typename R, typename... Args, size_t... I>
Status CallOver(duckdb::DataChunk chunk, duckdb::Vector output, Outcome<R> (*)(Args...),
                std::index_sequence<I...>) {
  const Api& api = duckdb::Loaded();
  const std::tuple<Input<Args>...> inputs{Input<Args>(api.data_chunk_get_vector(chunk, I))...};
  const Index rows = api.data_chunk_get_size(chunk);
  uint64_t* mask = nullptr;
  uint64_t bytes = 0;
  for (Index row = 0; row < rows; ++row) {
    std::optional<R> value;
    if (!(std::get<I>(inputs).IsNull(row) || ...)) {
      ASSIGN_OR_RAISE(value, function(std::get<I>(inputs).Get(row)...));
    }
    if constexpr (kKindOf<R> == SqlKind::kVarchar) {
      if (value) bytes += value->size();
      RETURN_NOT_OK(CheckVectorBytes(bytes));
    }
    if (value) {
      Put(output, row, *value);
      continue;
    }
    if (mask == nullptr) {
      api.vector_ensure_validity_writable(output);
      mask = api.vector_get_validity(output);
    }
    mask[row / 64] &= ~(uint64_t{1} << row % 64);
  }
  return Status::OK();
}

template <auto function>
Status CallPlain(duckdb::FunctionInfo, duckdb::DataChunk chunk, duckdb::Vector output) {
  const auto over = [&]<typename R, typename... Args>(Outcome<R> (*plain)(Args...)) {
    return CallOver<function>(chunk, output, plain, std::index_sequence_for<Args...>());
  };
  return over(function);
}

template <auto function, typename R, typename... Args>
Status Register(const Api& api, duckdb::Connection connection, const char* name,
                Outcome<R> (*)(Args...)) {
  duckdb::Owned<duckdb::ScalarFunction> made(api.create_scalar_function(),
                                             api.destroy_scalar_function);
  api.scalar_function_set_name(made.get(), name);
  for (const SqlType& type : {TypeOf<Args>()...}) {
    const duckdb::Owned<duckdb::LogicalType> parameter = duckdb::MakeType(api, type);
    api.scalar_function_add_parameter(made.get(), parameter.get());
  }
  const duckdb::Owned<duckdb::LogicalType> result = duckdb::MakeType(api, TypeOf<R>());
  api.scalar_function_set_return_type(made.get(), result.get());
  api.scalar_function_set_function(made.get(), duckdb::Callback<CallPlain<function>>);
  if (api.register_scalar_function(connection, made.get()) == duckdb::State::kSuccess)
    return Status::OK();
  return Status::Invalid("query engine does not take a function, name=", name);
}

/// Those whose result may be far larger than what goes in, with a bound.
Status RegisterGrowingFunctions(const Api& api, duckdb::Connection connection);
/// The functions on text; the rest are in scalar_functions.cc.
Status RegisterTextFunctions(const Api& api, duckdb::Connection connection);

#define SLUICE_REGISTER(name, function) \
  RETURN_NOT_OK((Register<function>(api, connection, name, function)))

}  // namespace sluice::sql
