// Statements: whatever the bytes, they parse or are refused with a place and a short message.
#include "base/check.h"
#include "sql/parser.h"
#include "sql/session.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t bytes = 0;
  for (const sql::StatementText& statement : sql::SplitStatements(text)) {
    bytes += statement.text.size();
    const auto parsed = sql::ParseStatement(statement.text);
    if (parsed.ok()) continue;
    CHECK(parsed.status().message().find("line=") != std::string::npos);
    CHECK(parsed.status().message().size() < 1000);
  }
  CHECK(bytes <= size);
  return 0;
}
