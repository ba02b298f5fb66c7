#pragma once
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "types/data_type.h"

namespace sluice::sql {

class Engine;
class TableCatalog;

struct ResultColumn {
  std::string name;
  types::DataTypePtr type;  ///< How the batches store the column; VARCHAR(n) is STRING, an INTERVAL
                            ///< is BIGINT or INT. TIMESTAMP_LTZ comes as the reading of its
                            ///< instant in the session's time zone.
  std::string type_text;    ///< As Flink prints it: "VARCHAR(10) NOT NULL".
};

/// The answer of one statement: rows that come batch by batch, or only the news that it is done.
///
/// Threads: one at a time. Lifetime: outlives neither its Session nor the Session's next statement.
class ResultStream {
 public:
  virtual ~ResultStream() = default;

  /// Empty for a statement without rows (DDL, INSERT, SET).
  const std::vector<ResultColumn>& columns() const { return columns_; }
  bool has_rows() const { return !columns_.empty(); }
  /// Rows that INSERT, UPDATE or DELETE wrote, all of them acknowledged; -1 for other statements.
  int64_t rows_written() const { return rows_written_; }

  /// The next batch (never an empty one), null at the end. Shape: one column per columns(), of
  /// type->ToArrow().
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;

 protected:
  std::vector<ResultColumn> columns_;
  int64_t rows_written_ = -1;
};

struct SessionOptions {
  std::string catalog = "fluss_catalog";
  std::string database = "fluss";
  std::string time_zone = "UTC";
};

/// One user's conversation in SQL: the current catalog and database, its settings, its statements
/// one after another.
///
/// Errors: text of the user that is wrong gives kInvalidTable, kTableNotExist and the like, or no
/// code, and always "line=…, column=…" of the place when the fault has one. Threads: one at a time,
/// never a loop's own; a statement waits for servers and files.
class Session {
 public:
  /// `catalog` serves this session alone. `engine` and `clock` must outlive the session.
  Session(Engine& engine, std::shared_ptr<TableCatalog> catalog, io::Clock& clock,
          SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Run one statement; a semicolon at its end is fine. Text without a statement gives a result
  /// without rows.
  Result<std::unique_ptr<ResultStream>> Execute(std::string_view sql);

  /// Stop the running statement from another thread, wherever it is, and refuse new ones until
  /// Resume: Execute and Next fail soon with `why`. When the engine was just starting the query it
  /// may not hear; say it again then, until the statement has ended.
  void Interrupt(Status why = Status::Cancelled("the statement was cancelled"));
  void Resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A statement inside a text of several.
struct StatementText {
  std::string_view text;  ///< Without its semicolon. Views the text that was split.
  int line = 1;           ///< Where it starts.
  bool complete = false;  ///< A semicolon ends it; only the last may lack one.
};

/// Cut a script at the semicolons outside quotes and comments; pieces without a token are left out.
std::vector<StatementText> SplitStatements(std::string_view script);

}  // namespace sluice::sql
