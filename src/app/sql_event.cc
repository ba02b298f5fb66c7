#include "app/sql_event.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "app/visible_text.h"

namespace sluice::app {
namespace {

using nlohmann::json;

// Printing goes down into values and types by recursion.
constexpr int kNestingMax = 100;
// Of a foreign answer in an error.
constexpr size_t kShownLineBytes = 200;

// The member's text, empty when it is none.
std::string TextOf(const json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

bool IsText(const json& object, const char* name) {
  return object.contains(name) && object[name].is_string();
}

// Brackets outside of text, before there is a tree that a deep line could overflow.
bool NestsTooDeep(std::string_view line) {
  bool in_text = false;
  int depth = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kNestingMax) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

bool IsColumn(const json& column) {
  if (!column.is_object() || !IsText(column, "name") || !IsText(column, "type")) return false;
  const auto& type = column["type"].get_ref<const std::string&>();
  return std::ranges::count(type, '<') <= kNestingMax;
}

// Zero or more, within 64 bits.
bool IsCount(const json& number) {
  return number.is_number_integer() &&
         number.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

bool IsRow(const json& row) { return row.is_array(); }

bool IsWhole(const json& event, const std::string& kind) {
  if (kind == "columns") {
    return event.contains("columns") && event["columns"].is_array() &&
           std::ranges::all_of(event["columns"], IsColumn);
  }
  if (kind == "rows") {
    return event.contains("rows") && event["rows"].is_array() &&
           std::ranges::all_of(event["rows"], IsRow);
  }
  if (kind == "end") return !event.contains("rows");
  return kind != "written" || (event.contains("rows") && IsCount(event["rows"]));
}

}  // namespace

Result<json> ParseSqlEvent(std::string_view line) {
  const auto odd = [line](std::string_view what) {
    return Error(ErrorCode::kNetwork, "the server answers with ", what,
                 " line=", VisibleText(line, kShownLineBytes));
  };
  if (NestsTooDeep(line)) return odd("values that nest too deep");
  json event = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object() || !IsText(event, "kind")) return odd("something else than events");
  if (!IsWhole(event, TextOf(event, "kind"))) return odd("an event that is not whole");
  return event;
}

Status EventOrder::Take(const json& event) {
  const std::string kind = TextOf(event, "kind");
  if (kind == "columns" && columns_)
    return Error(ErrorCode::kNetwork, "the server's answer has columns twice");
  if (kind == "rows" && !columns_)
    return Error(ErrorCode::kNetwork, "the server's answer has rows without columns");
  if (kind == "columns") columns_ = true;
  if (kind == "end") columns_ = false;
  return Status::OK();
}

Status ErrorOfEvent(const json& event) {
  const std::string code = TextOf(event, "code");
  std::string message = TextOf(event, "message");
  if (message.empty()) message = "the server gave no reason";
  for (int32_t number = -1;
       number <= static_cast<int32_t>(ErrorCode::kHistoricalPartitionThrottled); ++number) {
    if (NameOf(static_cast<ErrorCode>(number)) == code)
      return MakeError(static_cast<ErrorCode>(number), message);
  }
  return MakeError(ErrorCode::kUnknownServer, message);
}

}  // namespace sluice::app
