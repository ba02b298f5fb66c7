#include <algorithm>
#include <utility>
#include <vector>

#include "sql/scalar_register_internal.h"

// Functions whose result may be far larger than what goes in: the engine's own ones have no bound,
// and texts in its vectors count against its memory limit only in part.
namespace sluice::sql {

namespace {

size_t BytesOfLead(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// Bytes of the first `count` characters, or of all; `count` becomes how many there are.
size_t Prefix(std::string_view text, int64_t* count) {
  size_t at = 0;
  int64_t characters = 0;
  for (; characters < *count && at < text.size(); ++characters)
    at = std::min(text.size(), at + BytesOfLead(text[at]));
  *count = characters;
  return at;
}

Status CheckTextBytes(uint64_t bytes) {
  return bytes <= kTextBytesMax
             ? Status::OK()
             : Status::ExecutionError("a function makes too long a text, bytes=", bytes,
                                      " bytes_max=", kTextBytesMax);
}

std::string Repeated(std::string_view text, uint64_t times) {
  std::string result;
  const size_t bytes = text.size() * times;
  result.reserve(bytes);
  if (bytes > 0) result = text;
  while (result.size() < bytes) result.append(result, 0, bytes - result.size());
  return result;
}

Outcome<std::string> Repeat(std::string_view text, int32_t times) {
  const uint64_t count = times < 0 ? 0 : static_cast<uint64_t>(times);
  RETURN_NOT_OK(CheckTextBytes(text.size() * count));
  return Repeated(text, count);
}

// The padding, over and over, of as many characters as are wanting. NULL for a negative length or
// no padding.
struct Padding {
  std::string_view kept;
  std::string pad;
};
Outcome<Padding> Pad(std::string_view text, int32_t length, std::string_view pad) {
  if (length < 0 || pad.empty()) return std::nullopt;
  int64_t have = length;
  Padding result{.kept = text.substr(0, Prefix(text, &have)), .pad = {}};
  const int64_t wanting = length - have;
  int64_t characters = wanting;
  const std::string_view unit = pad.substr(0, Prefix(pad, &characters));
  if (wanting == 0) return result;
  const auto times = static_cast<uint64_t>(wanting / characters);
  int64_t rest = wanting % characters;
  RETURN_NOT_OK(CheckTextBytes(result.kept.size() + unit.size() * (times + (rest > 0 ? 1 : 0))));
  result.pad = Repeated(unit, times);
  result.pad += unit.substr(0, Prefix(unit, &rest));
  return result;
}
Outcome<std::string> PadLeft(std::string_view text, int32_t length, std::string_view pad) {
  ASSIGN_OR_RAISE(auto padding, Pad(text, length, pad));
  if (!padding) return std::nullopt;
  return std::move(padding->pad) + std::string(padding->kept);
}
Outcome<std::string> PadRight(std::string_view text, int32_t length, std::string_view pad) {
  ASSIGN_OR_RAISE(const auto padding, Pad(text, length, pad));
  if (!padding) return std::nullopt;
  return std::string(padding->kept) + padding->pad;
}

Outcome<std::string> Replace(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (true) {
    const size_t at = from.empty() ? std::string_view::npos : text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) break;
    result += to;
    text.remove_prefix(at + from.size());
    RETURN_NOT_OK(CheckTextBytes(result.size() + text.size()));
  }
  return result;
}

// The text itself, when a replacement at every character of it would have room: each \n of a
// replacement stands for no more than the whole text, over all matches.
Outcome<std::string_view> RoomToReplace(std::string_view text, std::string_view replacement) {
  const uint64_t bytes = (text.size() + 1) * replacement.size() + text.size();
  if (bytes <= kVectorTextBytesMax) return text;
  return Status::ExecutionError("REGEXP_REPLACE may make too long a text, text_bytes=", text.size(),
                                " replacement_bytes=", replacement.size(),
                                " bytes_max=", kVectorTextBytesMax);
}

/// The result of a function of any number of texts.
struct ManyTexts {
  duckdb::Vector output;
  std::vector<Input<std::string_view>> inputs;
  uint64_t bytes = 0;

  ManyTexts(duckdb::DataChunk chunk, duckdb::Vector o) : output(o) {
    const Api& api = duckdb::Loaded();
    for (Index column = 0; column < api.data_chunk_get_column_count(chunk); ++column)
      inputs.emplace_back(api.data_chunk_get_vector(chunk, column));
  }
  void PutNull(Index row) {
    const Api& api = duckdb::Loaded();
    api.vector_ensure_validity_writable(output);
    api.vector_get_validity(output)[row / 64] &= ~(uint64_t{1} << row % 64);
  }
  Status PutText(Index row, const std::string& text) {
    bytes += text.size();
    RETURN_NOT_OK(CheckVectorBytes(bytes));
    Put(output, row, text);
    return Status::OK();
  }
};

// NULL when one of them is.
Status ConcatenateTexts(duckdb::FunctionInfo, duckdb::DataChunk chunk, duckdb::Vector output) {
  ManyTexts rows(chunk, output);
  std::string text;
  for (Index row = 0; row < duckdb::Loaded().data_chunk_get_size(chunk); ++row) {
    if (std::ranges::any_of(rows.inputs, [row](const auto& in) { return in.IsNull(row); })) {
      rows.PutNull(row);
      continue;
    }
    uint64_t bytes = 0;
    for (const auto& input : rows.inputs) bytes += input.Get(row).size();
    RETURN_NOT_OK(CheckTextBytes(bytes));
    text.clear();
    for (const auto& input : rows.inputs) text += input.Get(row);
    RETURN_NOT_OK(rows.PutText(row, text));
  }
  return Status::OK();
}

// The first one between the others that are not NULL.
Status ConcatenateTextsWith(duckdb::FunctionInfo, duckdb::DataChunk chunk, duckdb::Vector output) {
  ManyTexts rows(chunk, output);
  std::string text;
  for (Index row = 0; row < duckdb::Loaded().data_chunk_get_size(chunk); ++row) {
    if (rows.inputs[0].IsNull(row)) {
      rows.PutNull(row);
      continue;
    }
    const std::string_view separator = rows.inputs[0].Get(row);
    bool first = true;
    text.clear();
    for (size_t i = 1; i < rows.inputs.size(); ++i) {
      if (rows.inputs[i].IsNull(row)) continue;
      const std::string_view part = rows.inputs[i].Get(row);
      RETURN_NOT_OK(CheckTextBytes(text.size() + separator.size() + part.size()));
      if (!std::exchange(first, false)) text += separator;
      text += part;
    }
    RETURN_NOT_OK(rows.PutText(row, text));
  }
  return Status::OK();
}

// The second one between the values of a list that are not NULL; NULL when there are only NULLs.
Status JoinList(duckdb::FunctionInfo, duckdb::DataChunk chunk, duckdb::Vector output) {
  const Api& api = duckdb::Loaded();
  const duckdb::Vector list = api.data_chunk_get_vector(chunk, 0);
  const Input<duckdb::ListEntry> entries(list);
  const Input<std::string_view> values(api.list_vector_get_child(list));
  const Input<std::string_view> separators(api.data_chunk_get_vector(chunk, 1));
  ManyTexts rows(chunk, output);
  std::string text;
  for (Index row = 0; row < api.data_chunk_get_size(chunk); ++row) {
    if (entries.IsNull(row) || separators.IsNull(row)) {
      rows.PutNull(row);
      continue;
    }
    const duckdb::ListEntry entry = entries.Get(row);
    const std::string_view separator = separators.Get(row);
    bool any = entry.length == 0;
    text.clear();
    for (Index i = entry.offset; i < entry.offset + entry.length; ++i) {
      if (values.IsNull(i)) continue;
      RETURN_NOT_OK(CheckTextBytes(text.size() + separator.size() + values.Get(i).size()));
      if (std::exchange(any, true)) text += separator;
      text += values.Get(i);
    }
    if (!any) {
      rows.PutNull(row);
    } else {
      RETURN_NOT_OK(rows.PutText(row, text));
    }
  }
  return Status::OK();
}

Status RegisterOfMany(const Api& api, duckdb::Connection connection, const char* name,
                      const SqlType& type, duckdb::ScalarCallback function) {
  duckdb::Owned<duckdb::ScalarFunction> made(api.create_scalar_function(),
                                             api.destroy_scalar_function);
  const duckdb::Owned<duckdb::LogicalType> text = duckdb::MakeType(api, type);
  api.scalar_function_set_name(made.get(), name);
  api.scalar_function_set_varargs(made.get(), text.get());
  api.scalar_function_set_special_handling(made.get());  // NULL is for the function to judge.
  api.scalar_function_set_return_type(made.get(), text.get());
  api.scalar_function_set_function(made.get(), function);
  if (api.register_scalar_function(connection, made.get()) == duckdb::State::kSuccess)
    return Status::OK();
  return Status::Invalid("query engine does not take a function, name=", name);
}

Status RegisterJoin(const Api& api, duckdb::Connection connection) {
  duckdb::Owned<duckdb::ScalarFunction> made(api.create_scalar_function(),
                                             api.destroy_scalar_function);
  const duckdb::Owned<duckdb::LogicalType> text = duckdb::MakeType(api, SqlType::String());
  const duckdb::Owned<duckdb::LogicalType> list =
      duckdb::MakeType(api, SqlType::Array(SqlType::String()));
  api.scalar_function_set_name(made.get(), "flink_array_join");
  api.scalar_function_add_parameter(made.get(), list.get());
  api.scalar_function_add_parameter(made.get(), text.get());
  api.scalar_function_set_return_type(made.get(), text.get());
  api.scalar_function_set_function(made.get(), duckdb::Callback<JoinList>);
  if (api.register_scalar_function(connection, made.get()) == duckdb::State::kSuccess)
    return Status::OK();
  return Status::Invalid("query engine does not take a function, name=flink_array_join");
}

}  // namespace

Status RegisterGrowingFunctions(const Api& api, duckdb::Connection connection) {
  SLUICE_REGISTER("flink_repeat", Repeat);
  SLUICE_REGISTER("flink_lpad", PadLeft);
  SLUICE_REGISTER("flink_rpad", PadRight);
  SLUICE_REGISTER("flink_replace", Replace);
  SLUICE_REGISTER("flink_room_to_replace", RoomToReplace);
  RETURN_NOT_OK(RegisterOfMany(api, connection, "flink_concat", SqlType::String(),
                               duckdb::Callback<ConcatenateTexts>));
  RETURN_NOT_OK(RegisterOfMany(api, connection, "flink_concat_bytes", SqlType::Bytes(),
                               duckdb::Callback<ConcatenateTexts>));
  RETURN_NOT_OK(RegisterOfMany(api, connection, "flink_concat_ws", SqlType::String(),
                               duckdb::Callback<ConcatenateTextsWith>));
  return RegisterJoin(api, connection);
}

}  // namespace sluice::sql
