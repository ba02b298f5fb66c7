#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::sql {

/// A place in the text of a statement, counted from 1; columns count characters, not bytes.
struct Position {
  int line = 1;
  int column = 1;
  bool operator==(const Position&) const = default;
};

/// Text of the user as messages show it: cut behind `most` bytes, without control characters.
std::string Shown(std::string_view text, size_t most = 60);

/// An error of the user's text with its place: "words line=…, column=…".
template <typename... Args>
Status ErrorAt(ErrorCode code, Position at, Args&&... args) {
  return Error(code, std::forward<Args>(args)..., " line=", at.line, ", column=", at.column);
}
/// Text that breaks the grammar or the typing rules.
template <typename... Args>
Status InvalidAt(Position at, Args&&... args) {
  return ErrorAt(ErrorCode::kInvalidTable, at, std::forward<Args>(args)...);
}

enum class TokenKind : uint8_t {
  kEnd,
  kWord,     ///< Unquoted identifier or keyword; `text` as written.
  kQuoted,   ///< `identifier`; `text` without the backticks.
  kString,   ///< 'text'; `text` with quotes undoubled.
  kUnicode,  ///< U&'\6E56'; `text` decoded.
  kHex,      ///< X'4142'; `text` holds the bytes.
  kInteger,  ///< 12
  kDecimal,  ///< 1.50
  kDouble,   ///< 1e3
  kSymbol,   ///< ( ) , . ; + - * / % = <> != < > <= >= || [ ] => ? : and the edges
             ///< of a hint: /*+ and */
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::string upper;  ///< kWord: upper case, for keywords.
  Position at;
  size_t begin = 0;  ///< Byte range in the statement's text.
  size_t end = 0;
};

/// Cut a statement into tokens; the last is kEnd. Comments are left out.
///
/// Errors: bytes that are not UTF-8, a quote or comment without an end, a character that starts
/// nothing, a malformed literal; with its place. A byte order mark at the start is skipped.
Result<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace sluice::sql
