#include "app/jaas.h"

#include <strings.h>

#include <algorithm>
#include <vector>

namespace sluice::app {
namespace {

// A word, a quoted text, or one other character.
struct JaasToken {
  enum class Kind { kWord, kQuoted, kSign };
  Kind kind;
  std::string text;

  bool IsSign(char sign) const { return kind == Kind::kSign && text[0] == sign; }
};

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

char Unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    default:
      return c;
  }
}

// Reads up to the closing quote; `*at` is behind the opening one.
Result<std::string> ReadQuoted(std::string_view text, size_t* at, char quote) {
  std::string value;
  for (; *at < text.size(); ++*at) {
    char c = text[*at];
    if (c == quote) {
      ++*at;
      return value;
    }
    if (c == '\\' && *at + 1 < text.size()) c = Unescaped(text[++*at]);
    value += c;
  }
  return Error(ErrorCode::kInvalidConfig, "JAAS text has a quote without its end");
}

// Behind a comment that begins here, else `at` itself.
size_t SkipComment(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (!text.substr(at).starts_with("/*")) return at;
  const size_t end = text.find("*/", at + 2);
  return end == std::string_view::npos ? text.size() : end + 2;
}

Result<std::vector<JaasToken>> SplitJaas(std::string_view text) {
  std::vector<JaasToken> tokens;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const size_t behind = SkipComment(text, at);
    if (behind > at || static_cast<unsigned char>(c) <= ' ') {
      at = std::max(behind, at + 1);
    } else if (c == '"' || c == '\'') {
      ++at;
      ASSIGN_OR_RAISE(std::string value, ReadQuoted(text, &at, c));
      tokens.push_back({JaasToken::Kind::kQuoted, std::move(value)});
    } else if (IsWordCharacter(c)) {
      const auto* end = std::find_if_not(text.begin() + at, text.end(), IsWordCharacter);
      tokens.push_back({JaasToken::Kind::kWord, std::string(text.begin() + at, end)});
      at = static_cast<size_t>(end - text.begin());
    } else {
      tokens.push_back({JaasToken::Kind::kSign, std::string(1, c)});
      ++at;
    }
  }
  return tokens;
}

bool IsFlag(const std::string& word) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"required", "requisite", "sufficient", "optional"},
      [&](const char* flag) { return strcasecmp(flag, word.c_str()) == 0; });
}

bool IsPlainModule(std::string_view name) {
  constexpr std::string_view kModule = "PlainLoginModule";
  return name == kModule ||
         (name.ends_with(kModule) && name[name.size() - kModule.size() - 1] == '.');
}

}  // namespace

Result<std::map<std::string, std::string>> ParseJaas(std::string_view text) {
  ASSIGN_OR_RAISE(const auto tokens, SplitJaas(text));
  using Kind = JaasToken::Kind;
  if (tokens.size() < 3 || tokens[0].kind != Kind::kWord || !IsPlainModule(tokens[0].text)) {
    return Error(ErrorCode::kInvalidConfig, "JAAS text does not begin with PlainLoginModule");
  }
  if (tokens[1].kind != Kind::kWord || !IsFlag(tokens[1].text)) {
    return Error(ErrorCode::kInvalidConfig,
                 "JAAS text has no flag, as required, behind its module");
  }
  std::map<std::string, std::string> options;
  size_t at = 2;
  for (; at < tokens.size() && !tokens[at].IsSign(';'); at += 3) {
    const bool whole = at + 2 < tokens.size() && tokens[at].kind == Kind::kWord &&
                       tokens[at + 1].IsSign('=') && tokens[at + 2].kind != Kind::kSign;
    if (!whole) {
      // What stands in a wrong place may be a password, so only a name in front of `=` is told.
      const bool named =
          at + 1 < tokens.size() && tokens[at].kind == Kind::kWord && tokens[at + 1].IsSign('=');
      return Error(ErrorCode::kInvalidConfig, "JAAS text has something else than name=\"value\"",
                   named ? " name=" + tokens[at].text : "");
    }
    options[tokens[at].text] = tokens[at + 2].text;
  }
  if (at + 1 != tokens.size())
    return Error(ErrorCode::kInvalidConfig, "JAAS text does not end with its first semicolon");
  return options;
}

}  // namespace sluice::app
