#include "sql/session_testing_internal.h"

namespace sluice::sql {

namespace {

using namespace std::string_view_literals;

// Text that no one means to send. `error` is part of the message; empty = the text is taken, and
// `cell` is the first cell of its answer ("" = no rows).
struct OddCase {
  std::string_view name;
  std::string_view text;
  std::string_view error;
  std::string_view cell = "";
};

constexpr OddCase kOddCases[] = {
    {"Empty", "", ""},
    {"Blanks", " \t\r\n ", ""},
    {"Semicolon", ";", ""},
    {"Semicolons", " ; ; ", ""},
    {"LineComment", "-- nothing", ""},
    {"BlockComment", "/* nothing */", ""},
    {"CommentBefore", "/* a */ -- b\nSELECT 7", "", "7"},
    {"CommentInside", "SELECT/**/7--", "", "7"},
    {"CommentWithQuote", "SELECT 7 -- it's\n", "", "7"},
    {"CommentDoesNotNest", "SELECT 7 /* a /* b */ c */",
     "unexpected *, expected the end of the statement line=1, column=25"},
    {"Hint", "SELECT /*+ BROADCAST(t) */ 7", "", "7"},
    {"OpenComment", "SELECT 1\n  /* no end", "comment has no end line=2, column=3"},
    {"OpenString", "SELECT\n 'no end", "string has no closing quote line=2, column=2"},
    {"OpenIdentifier", "SELECT `no end", "identifier has no closing backtick line=1, column=8"},
    {"OpenParenthesis", "SELECT (1", "unexpected the end, expected ) line=1, column=10"},
    {"EmptyIdentifier", "SELECT ``", "identifier is empty line=1, column=8"},
    {"DoubledBackticks", "SELECT `a``b` FROM (SELECT 7 AS `a``b`) AS t", "", "7"},
    {"DoubledQuotes", "SELECT 'it''s'", "", "it's"},
    {"DoubleQuotes", "SELECT \"a\"",
     "double quotes do not quote here: use `name` for identifiers and 'text' for strings line=1, "
     "column=8"},
    {"KeywordsAsNames",
     "SELECT `select`, `from` AS `table` FROM (SELECT 7 AS `select`, 8 AS `from`) AS `where`", "",
     "7"},
    {"ReservedName", "SELECT 1 AS from",
     "unexpected from, expected a column name line=1, column=13"},
    {"TrailingSemicolons", "SELECT 7;; ;", "", "7"},
    {"TwoStatements", "SELECT 7; SELECT 8",
     "one statement at a time: another one starts after the semicolon line=1, column=11"},
    {"Word", "hello", "unexpected hello, expected a statement line=1, column=1"},
    {"Number", "42", "unexpected 42, expected a statement line=1, column=1"},
    {"Nul", "SELECT 1\0"sv, "unexpected character, character='U+0000' line=1, column=9"},
    {"NulFirst", "\0"sv, "unexpected character, character='U+0000' line=1, column=1"},
    {"NulInString", "SELECT CHAR_LENGTH('a\0b')"sv, "", "3"},
    {"NulInComment", "SELECT 7 -- \0"sv, "", "7"},
    {"NulInIdentifier", "SELECT 1 AS `a\0b`"sv,
     "identifier holds a NUL character line=1, column=13"},
    {"Control", "SELECT \x01", "unexpected character, character='U+0001' line=1, column=8"},
    {"NotUtf8", "SELECT '\xff'", "text is not UTF-8, byte=255 line=1, column=9"},
    {"NotUtf8InComment", "SELECT 1 -- \x80", "text is not UTF-8, byte=128 line=1, column=13"},
    {"CutUtf8", "SELECT 'é\xe6\xb9", "text is not UTF-8, byte=230 line=1, column=10"},
    {"OverlongUtf8", "SELECT '\xc0\xaf'", "text is not UTF-8, byte=192 line=1, column=9"},
    {"SurrogateUtf8", "SELECT '\xed\xa0\x80'", "text is not UTF-8, byte=237 line=1, column=9"},
    {"ByteOrderMark", "\xef\xbb\xbfSELECT 7", "", "7"},
    {"ByteOrderMarkAlone", "\xef\xbb\xbf", ""},
    {"ByteOrderMarkInside",
     "SELECT \xef\xbb\xbf"
     "7",
     "unexpected character, character=U+FEFF line=1, column=8"},
    {"NoBreakSpace",
     "SELECT\xc2\xa0"
     "7",
     "unexpected character, character=U+00A0 line=1, column=7"},
    {"IdeographicSpace", "SELECT　7", "unexpected character, character=U+3000 line=1, column=7"},
    {"WideComma", "SELECT 7，8", "unexpected character, character=U+FF0C line=1, column=9"},
    {"WideParenthesis", "SELECT （7）", "unexpected character, character=U+FF08 line=1, column=8"},
    {"CurlyQuote", "SELECT ‘a’", "unexpected character, character=U+2018 line=1, column=8"},
    {"ChineseNames", "SELECT 湖 FROM (SELECT 7 AS 湖) AS 表", "", "7"},
    {"AccentedNames", "SELECT é FROM (SELECT 7 AS `é`) AS t", "", "7"},
    {"ColumnsCountCharacters", "SELECT '湖湖湖' FROM",
     "unexpected the end, expected a table line=1, column=18"},
    {"Emoji", "SELECT '😀'", "", "😀"},
    {"UnicodeEscape", "SELECT U&'\\6E56'", "", "湖"},
    {"UnicodePair", "SELECT U&'\\D83D\\DE00'", "", "😀"},
    {"UnicodeHalf", "SELECT U&'\\D83D'",
     "unicode escape is half of a pair, escape=U+D83D line=1, column=8"},
    {"UnicodeOtherHalf", "SELECT U&'\\DE00'",
     "unicode escape is half of a pair, escape=U+DE00 line=1, column=8"},
    {"UnicodeShort", "SELECT U&'\\6E5'",
     "unicode escape needs four hexadecimal digits line=1, column=8"},
    {"OddHex", "SELECT X'ABC'", "binary literal has an odd number of digits line=1, column=8"},
    {"WrongHex", "SELECT X'GG'",
     "binary literal has a digit that is not hexadecimal line=1, column=8"},
    {"NumberIntoWord", "SELECT 1abc", "number runs into a word, number=1 line=1, column=9"},
    {"LongNumber", "SELECT 123456789012345678901234567890123456789",
     "number has more than 38 digits"},
    {"HugeLimit", "SELECT 1 LIMIT 99999999999999999999",
     "LIMIT is too large, number=99999999999999999999 line=1, column=16"},
    {"DollarName", "SELECT a$b FROM (SELECT 7 AS a$b) AS t", "", "7"},
    {"DollarsInString", "SELECT 'a$1$$' || '$2'", "", "a$1$$$2"},
    {"At", "SELECT @a", "unexpected character, character='@' line=1, column=8"},
    {"Backslash", "SELECT \\", "unexpected character, character='\\' line=1, column=8"},
    {"DoubleEquals", "SELECT 1 == 1", "== is not an operator, write = line=1, column=10"},
    {"ColonCast", "SELECT 1::INT", ":: is not an operator, write CAST(x AS type) line=1, column=9"},
    {"WindowsLines", "SELECT\r\n  1,\r\n  oops", "column not found, name=oops line=3, column=3"},
    {"ExplainNothing", "EXPLAIN", "EXPLAIN takes a query or an INSERT line=1"},
};

class OddTextTest : public testing::TestWithParam<OddCase> {};

TEST_P(OddTextTest, IsAnsweredOrRefusedAtItsPlace) {
  MemorySession session;
  const OddCase& odd = GetParam();
  const Result<Answer> answer = session.Run(odd.text);
  if (!odd.error.empty()) {
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.status().message().find(odd.error), std::string::npos)
        << answer.status().message();
    return;
  }
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const bool rows = !answer->rows.empty();
  EXPECT_EQ(rows ? answer->rows[0][0].value_or("NULL") : "", odd.cell);
}

INSTANTIATE_TEST_SUITE_P(Texts, OddTextTest, testing::ValuesIn(kOddCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OddTextTest, MessagesShowTheStartOfLongText) {
  MemorySession session;
  const std::string megabyte(1 << 20, 'x');
  const Result<Answer> taken = session.Run("SELECT CHAR_LENGTH('" + megabyte + "')");
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->rows[0][0], "1048576");
  for (const std::string& text : {megabyte, "SELECT " + megabyte, "SELECT 1 '" + megabyte + "'",
                                  "SELECT DATE '" + megabyte + "'", "SELECT " + megabyte + "(1)",
                                  "SELECT CAST(1 AS " + megabyte + ")"}) {
    const Result<Answer> refused = session.Run(text);
    ASSERT_FALSE(refused.ok());
    EXPECT_LT(refused.status().message().size(), 300u);
    EXPECT_NE(refused.status().message().find("line=1, column="), std::string::npos);
  }
}

}  // namespace

}  // namespace sluice::sql
