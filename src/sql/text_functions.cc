#include <algorithm>
#include <iterator>

#include "sql/json_path.h"
#include "sql/like.h"
#include "sql/scalar_register_internal.h"

namespace sluice::sql {

namespace {

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
Outcome<std::string_view> Left(std::string_view text, int32_t length) {
  return text.substr(0, CharacterStart(text, length));
}
Outcome<std::string_view> Right(std::string_view text, int32_t length) {
  const int64_t cut = CharacterCount(text) - std::max(length, 0);
  return text.substr(CharacterStart(text, cut));
}
// By code points; the engine's own keeps those of one letter together.
Outcome<std::string> Reverse(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  size_t end = text.size();
  for (size_t at = end; at-- > 0;) {
    if ((static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) continue;  // Inside a character.
    result += text.substr(at, end - at);
    end = at;
  }
  return result;
}
// The first byte, with Java's sign.
Outcome<int32_t> Ascii(std::string_view text) {
  return text.empty() ? 0 : static_cast<int8_t>(text.front());
}
// The character of the low byte; nothing for negative numbers.
Outcome<std::string> Chr(int64_t number) {
  if (number < 0) return std::string();
  const auto code = static_cast<uint8_t>(number);
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return std::string{static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}
Outcome<std::string> JsonPath(std::string_view path) {
  ASSIGN_OR_RAISE(std::string checked, EngineJsonPath(path));
  return checked;
}
Outcome<int32_t> Locate(std::string_view sought, std::string_view text, int32_t from) {
  if (sought.empty()) return 1;     // Wherever it is to start.
  if (from == INT32_MIN) return 0;  // One less is Java's greatest number.
  const size_t begin = CharacterStart(text, from - 1);
  const size_t found = text.find(sought, begin);
  return found == std::string_view::npos
             ? 0
             : static_cast<int32_t>(CharacterCount(text.substr(0, found)) + 1);
}
Outcome<std::string> Overlay(std::string_view text, std::string_view with, int32_t from,
                             int32_t length) {
  const int64_t count = CharacterCount(text);
  if (from < 1 || from > count) return std::string(text);
  const int64_t cut = length <= 0 ? count : length;  // Flink then keeps nothing behind it.
  const size_t begin = CharacterStart(text, from - 1);
  const size_t end = begin + CharacterStart(text.substr(begin), cut);
  return std::string(text.substr(0, begin)) + std::string(with) + std::string(text.substr(end));
}
// White space as Java's Character.isWhitespace has it: without the blanks that do not break.
bool IsJavaBlank(std::string_view character) {
  const auto last = static_cast<uint8_t>(character.back());
  if (character.size() == 1)
    return last == ' ' || (last >= '\t' && last <= '\r') || (last >= 0x1c && last <= 0x1f);
  if (character.starts_with("\xe2\x80"))  // U+2000 and on.
    return (last <= 0x8a && last != 0x87) || last == 0xa8 || last == 0xa9;
  return character == "\u1680" || character == "\u205f" || character == "\u3000";
}
// Where `text` has the next delimiter, and its bytes; each blank is one when `delimiter` is empty.
std::pair<size_t, size_t> NextDelimiter(std::string_view text, std::string_view delimiter) {
  if (!delimiter.empty()) return {text.find(delimiter), delimiter.size()};
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterStart(text.substr(at), 1);
    if (IsJavaBlank(text.substr(at, bytes))) return {at, bytes};
    at += bytes;
  }
  return {std::string_view::npos, 0};
}
Outcome<std::string_view> SplitIndex(std::string_view text, std::string_view delimiter,
                                     int32_t index) {
  if (index < 0 || text.empty()) return std::nullopt;
  while (true) {
    const auto [at, bytes] = NextDelimiter(text, delimiter);
    if (index == 0) return text.substr(0, at);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + bytes);
    --index;
  }
}
// Characters whose upper case is several, in the order of their bytes (Unicode, SpecialCasing).
struct LongUpper {
  std::string_view lower;
  std::string_view upper;
};
constexpr LongUpper kLongUppers[] = {
    {"ß", "SS"}, {"ŉ", "ʼN"}, {"ǰ", "J̌"},   {"ΐ", "Ϊ́"},   {"ΰ", "Ϋ́"},  {"և", "ԵՒ"}, {"ẖ", "H̱"},
    {"ẗ", "T̈"},  {"ẘ", "W̊"},  {"ẙ", "Y̊"},   {"ẚ", "Aʾ"},  {"ὐ", "Υ̓"},  {"ὒ", "Υ̓̀"},  {"ὔ", "Υ̓́"},
    {"ὖ", "Υ̓͂"},  {"ᾀ", "ἈΙ"}, {"ᾁ", "ἉΙ"},  {"ᾂ", "ἊΙ"},  {"ᾃ", "ἋΙ"}, {"ᾄ", "ἌΙ"}, {"ᾅ", "ἍΙ"},
    {"ᾆ", "ἎΙ"}, {"ᾇ", "ἏΙ"}, {"ᾈ", "ἈΙ"},  {"ᾉ", "ἉΙ"},  {"ᾊ", "ἊΙ"}, {"ᾋ", "ἋΙ"}, {"ᾌ", "ἌΙ"},
    {"ᾍ", "ἍΙ"}, {"ᾎ", "ἎΙ"}, {"ᾏ", "ἏΙ"},  {"ᾐ", "ἨΙ"},  {"ᾑ", "ἩΙ"}, {"ᾒ", "ἪΙ"}, {"ᾓ", "ἫΙ"},
    {"ᾔ", "ἬΙ"}, {"ᾕ", "ἭΙ"}, {"ᾖ", "ἮΙ"},  {"ᾗ", "ἯΙ"},  {"ᾘ", "ἨΙ"}, {"ᾙ", "ἩΙ"}, {"ᾚ", "ἪΙ"},
    {"ᾛ", "ἫΙ"}, {"ᾜ", "ἬΙ"}, {"ᾝ", "ἭΙ"},  {"ᾞ", "ἮΙ"},  {"ᾟ", "ἯΙ"}, {"ᾠ", "ὨΙ"}, {"ᾡ", "ὩΙ"},
    {"ᾢ", "ὪΙ"}, {"ᾣ", "ὫΙ"}, {"ᾤ", "ὬΙ"},  {"ᾥ", "ὭΙ"},  {"ᾦ", "ὮΙ"}, {"ᾧ", "ὯΙ"}, {"ᾨ", "ὨΙ"},
    {"ᾩ", "ὩΙ"}, {"ᾪ", "ὪΙ"}, {"ᾫ", "ὫΙ"},  {"ᾬ", "ὬΙ"},  {"ᾭ", "ὭΙ"}, {"ᾮ", "ὮΙ"}, {"ᾯ", "ὯΙ"},
    {"ᾲ", "ᾺΙ"}, {"ᾳ", "ΑΙ"}, {"ᾴ", "ΆΙ"},  {"ᾶ", "Α͂"},   {"ᾷ", "Α͂Ι"}, {"ᾼ", "ΑΙ"}, {"ῂ", "ῊΙ"},
    {"ῃ", "ΗΙ"}, {"ῄ", "ΉΙ"}, {"ῆ", "Η͂"},   {"ῇ", "Η͂Ι"},  {"ῌ", "ΗΙ"}, {"ῒ", "Ϊ̀"},  {"ΐ", "Ϊ́"},
    {"ῖ", "Ι͂"},  {"ῗ", "Ϊ͂"},  {"ῢ", "Ϋ̀"},   {"ΰ", "Ϋ́"},   {"ῤ", "Ρ̓"},  {"ῦ", "Υ͂"},  {"ῧ", "Ϋ͂"},
    {"ῲ", "ῺΙ"}, {"ῳ", "ΩΙ"}, {"ῴ", "ΏΙ"},  {"ῶ", "Ω͂"},   {"ῷ", "Ω͂Ι"}, {"ῼ", "ΩΙ"}, {"ﬀ", "FF"},
    {"ﬁ", "FI"}, {"ﬂ", "FL"}, {"ﬃ", "FFI"}, {"ﬄ", "FFL"}, {"ﬅ", "ST"}, {"ﬆ", "ST"}, {"ﬓ", "ՄՆ"},
    {"ﬔ", "ՄԵ"}, {"ﬕ", "ՄԻ"}, {"ﬖ", "ՎՆ"},  {"ﬗ", "ՄԽ"}};

// `text` with the characters whose upper case is several in upper case; the engine knows only those
// that stay one.
Outcome<std::string> SpecialUpper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = text.substr(0, CharacterStart(text, 1));
    const auto found = character.size() == 1 ? std::end(kLongUppers)
                                             : std::ranges::lower_bound(kLongUppers, character, {},
                                                                        &LongUpper::lower);
    const bool known = found != std::end(kLongUppers) && found->lower == character;
    result += known ? found->upper : character;
    text.remove_prefix(character.size());
  }
  return result;
}
Outcome<bool> LikeEscape(std::string_view text, std::string_view pattern, std::string_view escape) {
  ASSIGN_OR_RAISE(const bool matches, MatchesLike(text, pattern, escape));
  return matches;
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }
Outcome<std::string> InitCap(std::string_view text) {
  std::string result(text);
  bool inside = false;
  for (char& c : result) {
    if (IsLetter(c)) c = static_cast<char>(inside ? c | 0x20 : c & ~0x20);
    inside = IsLetter(c) || IsDecimalDigit(c);  // Others part words, also letters beyond ASCII.
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

Status RegisterTextFunctions(const Api& api, duckdb::Connection connection) {
  SLUICE_REGISTER("flink_substring", Substring);
  SLUICE_REGISTER("flink_left", Left);
  SLUICE_REGISTER("flink_right", Right);
  SLUICE_REGISTER("flink_reverse", Reverse);
  SLUICE_REGISTER("flink_ascii", Ascii);
  SLUICE_REGISTER("flink_chr", Chr);
  SLUICE_REGISTER("flink_json_path", JsonPath);
  SLUICE_REGISTER("flink_locate", Locate);
  SLUICE_REGISTER("flink_overlay", Overlay);
  SLUICE_REGISTER("flink_split_index", SplitIndex);
  SLUICE_REGISTER("flink_initcap", InitCap);
  SLUICE_REGISTER("flink_is_alpha", IsAlpha);
  SLUICE_REGISTER("flink_is_digit", IsDigits);
  SLUICE_REGISTER("flink_is_decimal", IsDecimalText);
  SLUICE_REGISTER("flink_parse_url", ParseUrl);
  SLUICE_REGISTER("flink_special_upper", SpecialUpper);
  SLUICE_REGISTER("flink_like_escape", LikeEscape);
  return RegisterGrowingFunctions(api, connection);
}

}  // namespace sluice::sql
