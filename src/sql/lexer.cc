#include "sql/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sql/session.h"

namespace sluice::sql {

namespace {

bool StartsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsNumeral(char c) { return c >= '0' && c <= '9'; }
bool ContinuesWord(char c) { return StartsWord(c) || IsNumeral(c) || c == '$'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
int HexValue(char c) {
  if (IsNumeral(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendUtf8(std::string* out, uint32_t code) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

// The character at the start of `text`, its bytes in `size`; nullopt when they are not UTF-8.
std::optional<uint32_t> FirstCharacter(std::string_view text, size_t* size) {
  const auto lead = static_cast<unsigned char>(text[0]);
  *size = lead < 0x80   ? 1
          : lead < 0xc2 ? 0
          : lead < 0xe0 ? 2
          : lead < 0xf0 ? 3
          : lead < 0xf5 ? 4
                        : 0;
  if (*size == 0 || text.size() < *size) return std::nullopt;
  if (*size == 1) return lead;
  uint32_t code = lead & (0xffu >> (*size + 1));
  for (size_t i = 1; i < *size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (next & 0x3f);
  }
  const bool overlong = (*size == 3 && code < 0x800) || (*size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return std::nullopt;
  return code;
}

// Spaces and punctuation beyond ASCII: typed by mistake, and no part of a name without backticks.
bool IsPunctuation(uint32_t code) {
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  static constexpr Range kRanges[] = {
      {0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},     {0x2000, 0x206f},
      {0x3000, 0x3004}, {0x3008, 0x3020}, {0xfeff, 0xfeff}, {0xff01, 0xff0f}, {0xff1a, 0xff20},
      {0xff3b, 0xff40}, {0xff5b, 0xff65}, {0xfff0, 0xffff}};
  return std::ranges::any_of(
      kRanges, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string CodePoint(uint32_t code) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "U+";
  for (int shift = code > 0xffff ? 20 : 12; shift >= 0; shift -= 4)
    text += kDigits[code >> shift & 15];
  return text;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    RETURN_NOT_OK(CheckCharacters());
    if (text_.starts_with(kByteOrderMark)) next_ = kByteOrderMark.size();
    while (true) {
      RETURN_NOT_OK(SkipBlanks());
      Token token;
      token.at = at_;
      token.begin = next_;
      RETURN_NOT_OK(Take(&token));
      token.end = next_;
      const bool last = token.kind == TokenKind::kEnd;
      tokens.push_back(std::move(token));
      if (last) return tokens;
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return next_ + ahead < text_.size() ? text_[next_ + ahead] : '\0';
  }
  bool AtPunctuation() const {
    size_t size = 0;
    return IsPunctuation(FirstCharacter(text_.substr(next_), &size).value_or(0));
  }
  bool AtEnd() const { return next_ >= text_.size(); }
  char Step() {
    const char c = text_[next_++];
    if (c == '\n') {
      ++at_.line;
      at_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++at_.column;  // Continuation bytes of UTF-8 belong to the character before.
    }
    return c;
  }
  void Steps(size_t count) {
    while (count-- > 0) Step();
  }

  Status CheckCharacters() const {
    Position at;
    for (size_t i = 0; i < text_.size();) {
      size_t size = 0;
      if (!FirstCharacter(text_.substr(i), &size))
        return InvalidAt(at, "text is not UTF-8, byte=", int{static_cast<unsigned char>(text_[i])});
      at = text_[i] == '\n' ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
      i += size;
    }
    return Status::OK();
  }

  Status SkipBlanks() {
    while (!AtEnd()) {
      if (IsSpace(Peek())) {
        Step();
      } else if (Peek() == '-' && Peek(1) == '-') {
        while (!AtEnd() && Peek() != '\n') Step();
      } else if (Peek() == '/' && Peek(1) == '*' && (Peek(2) != '+' || in_hint_)) {
        const Position start = at_;
        Steps(2);
        while (!AtEnd() && !(Peek() == '*' && Peek(1) == '/')) Step();
        if (AtEnd()) return InvalidAt(start, "comment has no end");
        Steps(2);
      } else {
        return Status::OK();
      }
    }
    return Status::OK();
  }

  Status Take(Token* token) {
    if (AtEnd()) return in_hint_ ? InvalidAt(at_, "hint has no end") : Status::OK();
    const char c = Peek();
    if ((c == 'U' || c == 'u') && Peek(1) == '&' && Peek(2) == '\'') return TakeUnicode(token);
    if ((c == 'X' || c == 'x') && Peek(1) == '\'') return TakeHex(token);
    if (StartsWord(c)) return TakeWord(token);
    if (IsNumeral(c) || (c == '.' && IsNumeral(Peek(1)))) return TakeNumber(token);
    if (c == '\'') {
      token->kind = TokenKind::kString;
      return TakeQuoted('\'', &token->text);
    }
    if (c == '`') {
      token->kind = TokenKind::kQuoted;
      RETURN_NOT_OK(TakeQuoted('`', &token->text));
      if (token->text.find('\0') != std::string::npos)
        return InvalidAt(token->at, "identifier holds a NUL character");
      return token->text.empty() ? InvalidAt(token->at, "identifier is empty") : Status::OK();
    }
    if (c == '"') {
      return InvalidAt(
          at_,
          "double quotes do not quote here: use `name` for identifiers and 'text' for strings");
    }
    return TakeSymbol(token);
  }

  Status TakeWord(Token* token) {
    token->kind = TokenKind::kWord;
    while (!AtEnd() && ContinuesWord(Peek())) {
      size_t size = 0;
      const uint32_t code = FirstCharacter(text_.substr(next_), &size).value_or(0);
      if (IsPunctuation(code))
        return InvalidAt(at_, "unexpected character, character=", CodePoint(code));
      for (; size > 0; --size) token->text.push_back(Step());
    }
    token->upper = token->text;
    for (char& c : token->upper) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return Status::OK();
  }

  Status TakeNumber(Token* token) {
    token->kind = TokenKind::kInteger;
    while (IsNumeral(Peek())) token->text.push_back(Step());
    if (Peek() == '.' && !StartsWord(Peek(1))) {
      token->kind = TokenKind::kDecimal;
      token->text.push_back(Step());
      while (IsNumeral(Peek())) token->text.push_back(Step());
    }
    const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if ((Peek() == 'e' || Peek() == 'E') && IsNumeral(Peek(1 + sign))) {
      token->kind = TokenKind::kDouble;
      for (size_t i = 0; i < 1 + sign; ++i) token->text.push_back(Step());
      while (IsNumeral(Peek())) token->text.push_back(Step());
    }
    if (StartsWord(Peek()) && !AtPunctuation())
      return InvalidAt(at_, "number runs into a word, number=", Shown(token->text));
    return Status::OK();
  }

  // From the opening quote to the closing one; a doubled quote stands for itself.
  Status TakeQuoted(char quote, std::string* out) {
    const Position start = at_;
    Step();
    while (!AtEnd()) {
      const char c = Step();
      if (c != quote) {
        out->push_back(c);
      } else if (Peek() == quote) {
        out->push_back(Step());
      } else {
        return Status::OK();
      }
    }
    return InvalidAt(
        start, quote == '`' ? "identifier has no closing backtick" : "string has no closing quote");
  }

  Status TakeHex(Token* token) {
    token->kind = TokenKind::kHex;
    Step();
    std::string digits;
    RETURN_NOT_OK(TakeQuoted('\'', &digits));
    if (digits.size() % 2 != 0)
      return InvalidAt(token->at, "binary literal has an odd number of digits");
    for (size_t i = 0; i < digits.size(); i += 2) {
      const int high = HexValue(digits[i]);
      const int low = HexValue(digits[i + 1]);
      if (high < 0 || low < 0)
        return InvalidAt(token->at, "binary literal has a digit that is not hexadecimal");
      token->text.push_back(static_cast<char>(high << 4 | low));
    }
    return Status::OK();
  }

  // The value of \XXXX at `at`.
  static std::optional<uint32_t> Escape(std::string_view raw, size_t at) {
    if (at + 5 > raw.size() || raw[at] != '\\') return std::nullopt;
    uint32_t code = 0;
    for (size_t i = at + 1; i <= at + 4; ++i) {
      const int digit = HexValue(raw[i]);
      if (digit < 0) return std::nullopt;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    return code;
  }

  Status TakeUnicode(Token* token) {
    token->kind = TokenKind::kUnicode;
    Steps(2);
    std::string raw;
    RETURN_NOT_OK(TakeQuoted('\'', &raw));
    for (size_t i = 0; i < raw.size();) {
      if (raw[i] != '\\') {
        token->text.push_back(raw[i++]);
      } else if (i + 1 < raw.size() && raw[i + 1] == '\\') {
        token->text.push_back('\\');
        i += 2;
      } else {
        std::optional<uint32_t> code = Escape(raw, i);
        if (!code) return InvalidAt(token->at, "unicode escape needs four hexadecimal digits");
        i += 5;
        if (*code >= 0xd800 && *code < 0xdc00) {  // The first half of a pair, as Java writes them.
          const std::optional<uint32_t> low = Escape(raw, i);
          if (!low || *low < 0xdc00 || *low > 0xdfff)
            return InvalidAt(token->at,
                             "unicode escape is half of a pair, escape=", CodePoint(*code));
          code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
          i += 5;
        } else if (*code >= 0xdc00 && *code <= 0xdfff) {
          return InvalidAt(token->at,
                           "unicode escape is half of a pair, escape=", CodePoint(*code));
        }
        AppendUtf8(&token->text, *code);
      }
    }
    return Status::OK();
  }

  Status TakeSymbol(Token* token) {
    static constexpr std::array<std::string_view, 8> kLong = {
        "<>", "!=", "<=", ">=", "||", "==", "=>", "::"};
    static constexpr std::string_view kShort = "(),.;+-*/%=<>[]?:{}";
    token->kind = TokenKind::kSymbol;
    const std::string_view edge = in_hint_ ? "*/" : "/*+";
    if (text_.substr(next_).starts_with(edge)) {
      in_hint_ = !in_hint_;
      token->text = edge;
      Steps(edge.size());
      return Status::OK();
    }
    for (const std::string_view symbol : kLong) {
      if (text_.substr(next_).starts_with(symbol)) {
        token->text = symbol;
        Steps(symbol.size());
        return Status::OK();
      }
    }
    if (kShort.find(Peek()) == std::string_view::npos) {
      return InvalidAt(at_, "unexpected character, character='", Shown(std::string(1, Peek())),
                       "'");
    }
    token->text = std::string(1, Step());
    return Status::OK();
  }

  std::string_view text_;
  size_t next_ = 0;
  Position at_;
  bool in_hint_ = false;
};

}  // namespace

std::string Shown(std::string_view text, size_t most) {
  std::string shown;
  for (const char c : text) {
    const bool boundary = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (boundary && shown.size() >= most) return shown + "…";
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      shown += CodePoint(static_cast<unsigned char>(c));
    } else {
      shown.push_back(c);
    }
  }
  return shown;
}

Result<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

std::vector<StatementText> SplitStatements(std::string_view script) {
  std::vector<StatementText> statements;
  const auto line_of = [script](size_t offset) {
    return 1 + static_cast<int>(std::count(script.begin(),
                                           script.begin() + static_cast<ptrdiff_t>(offset), '\n'));
  };
  size_t start = 0;                       // Where the current piece begins.
  size_t first = std::string_view::npos;  // Its first byte outside blanks and comments.
  const auto close = [&](size_t end, bool complete) {
    if (first != std::string_view::npos) {
      statements.push_back({script.substr(first, end - first), line_of(first), complete});
    }
    start = end + 1;
    first = std::string_view::npos;
  };
  size_t i = 0;
  while (i < script.size()) {
    const char c = script[i];
    if (c == '-' && script.substr(i).starts_with("--")) {
      i = std::min(script.find('\n', i), script.size());
    } else if (c == '/' && script.substr(i).starts_with("/*")) {
      const size_t end = script.find("*/", i + 2);
      i = end == std::string_view::npos ? script.size() : end + 2;
    } else if (c == ';') {
      close(i++, true);
    } else {
      if (!IsSpace(c) && first == std::string_view::npos) first = i;
      ++i;
      if (c == '\'' || c == '`') {
        i = script.find(c, i);
        i = i == std::string_view::npos ? script.size() : i + 1;
      }
    }
  }
  close(script.size(), false);
  return statements;
}

}  // namespace sluice::sql
