#pragma once
#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/testing.h"
#include "sql/engine.h"
#include "sql/format.h"
#include "sql/memory_catalog_testing.h"
#include "sql/session.h"

namespace sluice::sql {

/// The engine of all tests of the program: it is loaded once.
inline Engine& TestEngine() {
  // Never ended: DuckDB keeps what it would need for that in thread-local objects, which go before.
  static Engine& engine = *new Engine({.threads = 1, .memory_bytes_max = 512u << 20});
  return engine;
}

/// A clock that tests set.
class SetClock : public io::Clock {
 public:
  int64_t NowMs() const override { return now_ms; }
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::milliseconds(now_ms); }
  int64_t now_ms = 1762000000000;  // 2025-11-01T12:26:40Z
};

/// What a statement gave, as text.
struct Answer {
  std::vector<ResultColumn> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::vector<std::string> json;
  int64_t written = -1;
};

/// A session over tables in memory.
struct MemorySession {
  explicit MemorySession(Engine& on = TestEngine()) : engine(on) {}

  Engine& engine;
  SetClock clock;
  MemoryCatalog catalog{clock};
  // The catalog is a member here, so nobody owns it.
  Session session{engine, std::shared_ptr<TableCatalog>(std::shared_ptr<void>(), &catalog), clock};

  Result<Answer> Run(std::string_view sql) {
    ASSIGN_OR_RAISE(const auto stream, session.Execute(sql));
    Answer answer{.columns = stream->columns(), .written = stream->rows_written()};
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return answer;
      RETURN_NOT_OK(batch->ValidateFull());
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::vector<std::optional<std::string>> cells;
        for (int i = 0; i < batch->num_columns(); ++i) {
          if (batch->column(i)->IsNull(row)) {
            cells.emplace_back();
            continue;
          }
          ASSIGN_OR_RAISE(std::string text,
                          CellText(answer.columns[static_cast<size_t>(i)], *batch, i, row));
          cells.emplace_back(std::move(text));
        }
        answer.rows.push_back(std::move(cells));
        std::string line;
        RETURN_NOT_OK(AppendJsonLine(answer.columns, *batch, row, &line));
        line.pop_back();
        answer.json.push_back(std::move(line));
      }
    }
  }
};

}  // namespace sluice::sql
