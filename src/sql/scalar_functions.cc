#include "sql/scalar_functions.h"

#include <cmath>
#include <optional>

#include "sql/duckdb_handles.h"
#include "sql/java_text.h"

namespace sluice::sql {

namespace {

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

/// What a function of ours gives: a value, NULL, or an error of the whole query.
template <typename T>
using Outcome = Result<std::optional<T>>;

// The engine's callback for a plain function; NULL in any argument gives NULL.
template <auto function, typename R, typename... Args, size_t... I>
void CallOver(duckdb::FunctionInfo info, duckdb::DataChunk chunk, duckdb::Vector output,
              Outcome<R> (*)(Args...), std::index_sequence<I...>) {
  const Api& api = duckdb::Loaded();
  const std::tuple<Input<Args>...> inputs{Input<Args>(api.data_chunk_get_vector(chunk, I))...};
  const Index rows = api.data_chunk_get_size(chunk);
  uint64_t* mask = nullptr;
  for (Index row = 0; row < rows; ++row) {
    std::optional<R> value;
    if (!(std::get<I>(inputs).IsNull(row) || ...)) {
      Outcome<R> outcome = function(std::get<I>(inputs).Get(row)...);
      if (!outcome.ok()) {
        api.scalar_function_set_error(info, outcome.status().message().c_str());
        return;
      }
      value = std::move(outcome).ValueUnsafe();
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
  api.scalar_function_set_function(
      made.get(),
      [](duckdb::FunctionInfo info, duckdb::DataChunk chunk, duckdb::Vector output) noexcept {
        CallOver<function>(info, chunk, output, static_cast<Outcome<R> (*)(Args...)>(function),
                           std::index_sequence_for<Args...>());
      });
  if (api.register_scalar_function(connection, made.get()) == duckdb::State::kSuccess)
    return Status::OK();
  return Status::Invalid("query engine does not take a function, name=", name);
}

// --- numbers ---

Outcome<int64_t> IntegerDivide(int64_t a, int64_t b) {
  if (b == 0) return Status::ExecutionError("division by zero");
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
Outcome<int64_t> IntegerModulo(int64_t a, int64_t b) {
  if (b == 0) return Status::ExecutionError("division by zero");
  return b == -1 ? 0 : a % b;
}
Outcome<std::string> DoubleText(double value) { return JavaText(value); }
Outcome<std::string> SingleText(float value) { return JavaText(value); }
Outcome<int64_t> TextToInteger(std::string_view text) {
  const auto value = ParseInteger(text);
  if (!value) return Status::ExecutionError("text is not a whole number, text='", text, "'");
  return value;
}
Outcome<int64_t> TryTextToInteger(std::string_view text) { return ParseInteger(text); }

// --- times ---

int64_t FloorQuotient(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

Instant Split(Micros at) {
  const int64_t seconds = FloorQuotient(at.value, 1000000);
  return {seconds, static_cast<int32_t>((at.value - seconds * 1000000) * 1000)};
}
Instant Split(Nanos at) {
  const int64_t seconds = FloorQuotient(at.value, 1000000000);
  return {seconds, static_cast<int32_t>(at.value - seconds * 1000000000)};
}
Micros ToMicros(const Instant& at) { return {at.seconds * 1000000 + at.nanos / 1000}; }

// Nullopt outside the years that 64 bits of nanoseconds hold (1677 to 2262).
std::optional<Nanos> ToNanos(const Instant& at) {
  Nanos result{};
  if (__builtin_mul_overflow(at.seconds, int64_t{1000000000}, &result.value) ||
      __builtin_add_overflow(result.value, int64_t{at.nanos}, &result.value)) {
    return std::nullopt;
  }
  return result;
}

int64_t Power(int32_t exponent) {
  int64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

template <typename Time>
Outcome<std::string> TimeToText(Time at, int32_t digits) {
  const Instant instant = Split(at);
  return TimestampText(instant.seconds, instant.nanos, digits);
}
Outcome<Micros> CutMicros(Micros at, int32_t digits) {
  const int64_t step = digits >= 6 ? 1 : Power(6 - digits);
  return Micros{FloorQuotient(at.value, step) * step};
}
Outcome<Nanos> CutNanos(Nanos at, int32_t digits) {
  const int64_t step = Power(9 - digits);
  return Nanos{FloorQuotient(at.value, step) * step};
}
Outcome<Micros> NanosToMicros(Nanos at) { return Micros{FloorQuotient(at.value, 1000)}; }
Outcome<Nanos> MicrosToNanos(Micros at) { return ToNanos(Split(at)); }

Status BadTimestamp(std::string_view text) {
  return Status::ExecutionError("text is not a timestamp, text='", text,
                                "' form='yyyy-MM-dd HH:mm:ss[.f]'");
}
Outcome<Micros> TextToMicros(std::string_view text) {
  const auto at = ParseTimestamp(text);
  if (!at) return BadTimestamp(text);
  return ToMicros(*at);
}
Outcome<Micros> TryTextToMicros(std::string_view text) {
  const auto at = ParseTimestamp(text);
  return at ? std::optional(ToMicros(*at)) : std::nullopt;
}
Outcome<Nanos> TextToNanos(std::string_view text) {
  const auto at = ParseTimestamp(text);
  const auto nanos = at ? ToNanos(*at) : std::nullopt;
  if (!nanos) return BadTimestamp(text);
  return nanos;
}
Outcome<Nanos> TryTextToNanos(std::string_view text) {
  const auto at = ParseTimestamp(text);
  return at ? ToNanos(*at) : std::nullopt;
}
Outcome<std::string> FormatTime(Micros at, std::string_view pattern) {
  const auto text = FormatPattern(pattern, Split(at));
  if (!text)
    return Status::ExecutionError("time pattern is not supported, pattern='", pattern, "'");
  return text;
}
Outcome<Micros> ParseTimePattern(std::string_view text, std::string_view pattern) {
  const auto at = ParsePattern(pattern, text);
  return at ? std::optional(ToMicros(*at)) : std::nullopt;
}

// --- text ---

// Start of character `index` (from 0) of UTF-8 text, or its end.
size_t CharacterStart(std::string_view text, int64_t index) {
  size_t at = 0;
  while (at < text.size() && index > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
    --index;
  }
  return at;
}
int64_t CharacterCount(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// Position 0 acts as 1, a negative one counts from the end; a negative length gives NULL.
Outcome<std::string_view> Substring(std::string_view text, int32_t from, int32_t length) {
  if (length < 0) return std::nullopt;
  const int64_t count = CharacterCount(text);
  int64_t start = from > 0 ? from - 1 : from == 0 ? 0 : count + from;
  if (start < 0 || start >= count) return std::string_view();
  const int64_t end = std::min(count, start + length);
  const size_t begin = CharacterStart(text, start);
  return text.substr(begin, CharacterStart(text.substr(begin), end - start));
}
Outcome<int32_t> Locate(std::string_view sought, std::string_view text, int32_t from) {
  if (from < 1) return 0;
  const size_t begin = CharacterStart(text, from - 1);
  if (begin == text.size() && from > 1 && !sought.empty()) return 0;
  const size_t found = text.find(sought, begin);
  return found == std::string_view::npos
             ? 0
             : static_cast<int32_t>(CharacterCount(text.substr(0, found)) + 1);
}
Outcome<std::string> Overlay(std::string_view text, std::string_view with, int32_t from,
                             int32_t length) {
  const int64_t count = CharacterCount(text);
  if (from < 1 || from > count) return std::string(text);
  const int64_t cut = length < 0 ? count : length;
  const size_t begin = CharacterStart(text, from - 1);
  const size_t end = begin + CharacterStart(text.substr(begin), cut);
  return std::string(text.substr(0, begin)) + std::string(with) + std::string(text.substr(end));
}
Outcome<std::string_view> SplitIndex(std::string_view text, std::string_view delimiter,
                                     int32_t index) {
  if (index < 0 || delimiter.empty()) return std::nullopt;
  while (true) {
    const size_t at = text.find(delimiter);
    if (index == 0) return text.substr(0, at);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + delimiter.size());
    --index;
  }
}
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }
Outcome<std::string> InitCap(std::string_view text) {
  std::string result(text);
  bool inside = false;
  for (char& c : result) {
    if (IsLetter(c)) c = static_cast<char>(inside ? c | 0x20 : c & ~0x20);
    inside = IsLetter(c) || IsDecimalDigit(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
  }
  return result;
}
Outcome<bool> IsAlpha(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsLetter);
}
Outcome<bool> IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsDecimalDigit);
}
Outcome<bool> IsDecimalText(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const size_t point = text.find('.');
  const std::string_view rest = point == std::string_view::npos ? "" : text.substr(point + 1);
  text = text.substr(0, point);
  return text.size() + rest.size() > 0 && std::ranges::all_of(text, IsDecimalDigit) &&
         std::ranges::all_of(rest, IsDecimalDigit);
}
Outcome<std::string_view> ParseUrl(std::string_view url, std::string_view part) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  std::string_view rest = url.substr(scheme + 3);
  const size_t fragment = rest.find('#');
  const std::string_view reference =
      fragment == std::string_view::npos ? "" : rest.substr(fragment + 1);
  rest = rest.substr(0, fragment);
  const size_t mark = rest.find('?');
  const std::string_view query = mark == std::string_view::npos ? "" : rest.substr(mark + 1);
  rest = rest.substr(0, mark);
  const size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  const std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  const size_t at = authority.find('@');
  const std::string_view host_port =
      at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (part == "PROTOCOL") return url.substr(0, scheme);
  if (part == "HOST") return host_port.substr(0, host_port.find(':'));
  if (part == "AUTHORITY") return authority;
  if (part == "PATH") return path;
  if (part == "QUERY") return mark == std::string_view::npos ? std::nullopt : std::optional(query);
  if (part == "REF")
    return fragment == std::string_view::npos ? std::nullopt : std::optional(reference);
  return std::nullopt;
}

}  // namespace

Status RegisterScalarFunctions(const Api& api, duckdb::Connection connection) {
#define SLUICE_REGISTER(name, function) \
  RETURN_NOT_OK((Register<function>(api, connection, name, function)))
  SLUICE_REGISTER("flink_integer_divide", IntegerDivide);
  SLUICE_REGISTER("flink_integer_modulo", IntegerModulo);
  SLUICE_REGISTER("flink_double_text", DoubleText);
  SLUICE_REGISTER("flink_float_text", SingleText);
  SLUICE_REGISTER("flink_text_to_integer", TextToInteger);
  SLUICE_REGISTER("flink_try_text_to_integer", TryTextToInteger);
  SLUICE_REGISTER("flink_timestamp_text", TimeToText<Micros>);
  SLUICE_REGISTER("flink_timestamp_ns_text", TimeToText<Nanos>);
  SLUICE_REGISTER("flink_cut", CutMicros);
  SLUICE_REGISTER("flink_cut_ns", CutNanos);
  SLUICE_REGISTER("flink_ns_to_us", NanosToMicros);
  SLUICE_REGISTER("flink_us_to_ns", MicrosToNanos);
  SLUICE_REGISTER("flink_text_to_timestamp", TextToMicros);
  SLUICE_REGISTER("flink_try_text_to_timestamp", TryTextToMicros);
  SLUICE_REGISTER("flink_text_to_timestamp_ns", TextToNanos);
  SLUICE_REGISTER("flink_try_text_to_timestamp_ns", TryTextToNanos);
  SLUICE_REGISTER("flink_date_format", FormatTime);
  SLUICE_REGISTER("flink_parse_pattern", ParseTimePattern);
  SLUICE_REGISTER("flink_substring", Substring);
  SLUICE_REGISTER("flink_locate", Locate);
  SLUICE_REGISTER("flink_overlay", Overlay);
  SLUICE_REGISTER("flink_split_index", SplitIndex);
  SLUICE_REGISTER("flink_initcap", InitCap);
  SLUICE_REGISTER("flink_is_alpha", IsAlpha);
  SLUICE_REGISTER("flink_is_digit", IsDigits);
  SLUICE_REGISTER("flink_is_decimal", IsDecimalText);
  SLUICE_REGISTER("flink_parse_url", ParseUrl);
#undef SLUICE_REGISTER
  return Status::OK();
}

}  // namespace sluice::sql
