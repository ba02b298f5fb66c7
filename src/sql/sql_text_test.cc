#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sql/session_testing_internal.h"

namespace sluice::sql {

namespace {

// Text tests: blocks apart by blank lines; '#' starts a comment line. A block is a statement, then
// optionally "----" and what it gives: "types: …" (as Flink prints them), "error: …" (part of the
// message), "written: n", "ordered", rows with cells joined by " | ". Without "ordered" rows are
// compared as sets.
struct Block {
  int line = 0;
  std::string sql;
  std::optional<std::string> types;
  std::optional<std::string> error;
  std::optional<std::string> written;
  bool ordered = false;
  bool expects_rows = false;
  std::vector<std::string> rows;
};

std::vector<Block> ReadBlocks(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<Block> blocks;
  Block block;
  bool answer = false;
  int number = 0;
  std::string line;
  const auto close = [&] {
    if (!block.sql.empty()) blocks.push_back(block);
    block = {};
    answer = false;
  };
  while (std::getline(file, line)) {
    ++number;
    if (line.starts_with("#")) continue;
    if (line.empty()) {
      close();
    } else if (line == "----") {
      answer = true;
      block.expects_rows = true;
    } else if (!answer) {
      if (block.sql.empty()) block.line = number;
      block.sql += line + "\n";
    } else if (line.starts_with("types: ")) {
      block.types = line.substr(7);
    } else if (line.starts_with("error: ")) {
      block.error = line.substr(7);
    } else if (line.starts_with("written: ")) {
      block.written = line.substr(9);
    } else if (line == "ordered") {
      block.ordered = true;
    } else {
      block.rows.push_back(line);
    }
  }
  close();
  return blocks;
}

std::vector<std::string> RowTexts(const Answer& answer) {
  std::vector<std::string> rows;
  for (const auto& row : answer.rows) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) text += (i > 0 ? " | " : "") + row[i].value_or("NULL");
    std::ranges::replace(text, '\n', ' ');
    rows.push_back(std::move(text));
  }
  return rows;
}

void Check(const Block& block, const Result<Answer>& answer) {
  if (block.error) {
    ASSERT_FALSE(answer.ok()) << "no error, expected " << *block.error;
    EXPECT_NE(answer.status().message().find(*block.error), std::string::npos)
        << answer.status().message();
    return;
  }
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(std::to_string(answer->written),
            block.written.value_or(std::to_string(answer->written)));
  if (block.types) {
    std::string types;
    for (const ResultColumn& column : answer->columns)
      types += (types.empty() ? "" : ", ") + column.type_text;
    EXPECT_EQ(types, *block.types);
  }
  if (!block.expects_rows) return;
  std::vector<std::string> rows = RowTexts(*answer);
  std::vector<std::string> expected = block.rows;
  if (!block.ordered) {
    std::ranges::sort(rows);
    std::ranges::sort(expected);
  }
  EXPECT_EQ(rows, expected);
}

class SqlTextTest : public testing::TestWithParam<std::string> {};

TEST_P(SqlTextTest, GivesTheRowsWritten) {
  MemorySession session;
  const std::vector<Block> blocks = ReadBlocks("sql/testdata/" + GetParam());
  ASSERT_FALSE(blocks.empty());
  for (const Block& block : blocks) {
    SCOPED_TRACE(GetParam() + ":" + std::to_string(block.line) + " " + block.sql);
    Check(block, session.Run(block.sql));
  }
}

std::vector<std::string> TestFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("sql/testdata")) {
    if (entry.path().extension() == ".test") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, SqlTextTest, testing::ValuesIn(TestFiles()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace

}  // namespace sluice::sql
