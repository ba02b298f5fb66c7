#include "app/sql_shell.h"

#include <editline/readline.h>
#include <sys/select.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/command_line.h"
#include "app/local_sql.h"
#include "app/sql_client.h"
#include "app/sql_printer.h"
#include "app/visible_text.h"
#include "io/file.h"
#include "sql/session.h"

namespace sluice::app {
namespace {

constexpr int kHistoryMax = 2000;
constexpr int kInterruptLookUs = 100'000;
std::atomic<bool> interrupted{false};  // A signal handler sets it, other threads look.
static_assert(std::atomic<bool>::is_always_lock_free);

struct ShellOptions {
  std::string url = "http://127.0.0.1:9180";
  std::string bootstrap_servers;
  ClientOptions client;
  std::string format = "table";
  std::string statement;
  std::string file;
};

// Runs one statement and prints its answer; the error, if any, is returned.
Status RunStatement(SqlRunner& client, const std::string& format, std::string_view sql) {
  ASSIGN_OR_RAISE(auto printer, SqlPrinter::Make(format, std::cout));
  int64_t written = -1;
  Status printed;
  const Status run = client.Run(std::string(sql), [&](const nlohmann::json& event) {
    const nlohmann::json& kind = event["kind"];
    if (kind == "columns") printer->Columns(event["columns"]);
    if (kind == "rows") printed = printer->Rows(event["rows"]);
    if (kind == "written") written = event["rows"].get<int64_t>();
    return printed.ok() && !interrupted;
  });
  RETURN_NOT_OK(printed);
  RETURN_NOT_OK(run);
  printer->End(written);
  std::cout.flush();
  return Status::OK();
}

// The words may be those of a foreign server, or hold values of a table.
constexpr size_t kErrorBytesMax = 16 << 10;

void PrintError(const Status& status) {
  std::cerr << "error: " << VisibleText(status.message(), kErrorBytesMax) << "\n";
}

bool IsQuit(std::string_view statement) {
  return statement == "quit" || statement == "exit" || statement == "QUIT" || statement == "EXIT";
}

bool IsHelp(std::string_view statement) { return statement == "help" || statement == "HELP"; }

constexpr const char* kHelp =
    "Statements end with a semicolon and may take several lines; arrows recall earlier ones.\n"
    "  SHOW TABLES;  SHOW CREATE TABLE t;  DESCRIBE t;   what there is\n"
    "  SELECT ... FROM t;  FROM t$lake;                  log and lake as one; the lake alone\n"
    "  SET 'key' = 'value';  SET;                        settings of this session\n"
    "  quit;                                             leave, as Ctrl-D does\n"
    "Ctrl-C gives up the statement that runs, or the lines typed so far.\n";

// Stops at the first statement that fails, and at one that leaves.
int RunScript(SqlRunner& client, const std::string& format, const std::string& script) {
  for (const sql::StatementText& statement : sql::SplitStatements(script)) {
    if (IsQuit(statement.text)) return 0;
    if (IsHelp(statement.text)) {
      std::cout << kHelp;
      continue;
    }
    const Status status = RunStatement(client, format, statement.text);
    if (status.ok()) continue;
    if (statement.line > 1) std::cerr << "in the statement at line " << statement.line << ": ";
    PrintError(status);
    return 1;
  }
  return 0;
}

std::string HistoryPath() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.sluice_history";
}

// Runs the complete statements at the front of `pending` and leaves the rest; false when the person
// wants to go.
bool RunComplete(SqlRunner& client, const std::string& format, std::string* pending) {
  size_t used = 0;
  for (const sql::StatementText& statement : sql::SplitStatements(*pending)) {
    if (!statement.complete) break;
    used = static_cast<size_t>(statement.text.data() - pending->data()) + statement.text.size() + 1;
    if (IsQuit(statement.text)) return false;
    if (IsHelp(statement.text)) {
      std::cout << kHelp;
      continue;
    }
    const Status status = RunStatement(client, format, statement.text);
    if (!status.ok()) PrintError(status);
    if (interrupted) {  // What was typed behind it is given up with it.
      used = pending->size();
      break;
    }
  }
  pending->erase(0, used);
  if (sql::SplitStatements(*pending).empty())
    pending->clear();  // Blanks and comments are no start.
  return true;
}

// The next byte that is typed; the end when Ctrl-C comes first, also just before this waits.
int NextByte(FILE* /*terminal*/) {
  while (!interrupted) {
    fd_set typed;
    FD_ZERO(&typed);
    FD_SET(STDIN_FILENO, &typed);
    timeval patience{.tv_sec = 0, .tv_usec = kInterruptLookUs};
    if (select(STDIN_FILENO + 1, &typed, nullptr, nullptr, &patience) <= 0) continue;
    unsigned char byte = 0;
    const ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count == 1) return byte;
    if (count == 0 || errno != EINTR) return EOF;
  }
  return EOF;
}

int Interact(SqlRunner& client, const ShellOptions& options) {
  std::signal(SIGINT, [](int) { interrupted = true; });
  rl_getc_function = &NextByte;
  using_history();
  stifle_history(kHistoryMax);
  const std::string history = HistoryPath();
  if (!history.empty()) read_history(history.c_str());
  std::cout << "Connected to "
            << (options.bootstrap_servers.empty() ? options.url : options.bootstrap_servers)
            << ". Statements end with a semicolon; help; says more, quit; leaves.\n";
  std::string pending;
  while (true) {
    interrupted = false;
    char* line = readline(pending.empty() ? "sluice> " : "     -> ");
    if (line == nullptr && interrupted) {
      std::cout << "^C\n";
      pending.clear();
      continue;
    }
    if (line == nullptr) break;
    if (pending.empty() && IsQuit(line)) {
      free(line);
      break;
    }
    pending += pending.empty() ? "" : "\n";
    pending += line;
    free(line);
    if (sql::SplitStatements(pending).empty()) {
      pending.clear();
      continue;
    }
    const std::string whole = pending;
    const bool stay = RunComplete(client, options.format, &pending);
    if (pending.empty() || !stay) {
      add_history(whole.c_str());
      if (!history.empty()) write_history(history.c_str());
    }
    if (!stay) break;
  }
  return 0;
}

// To the server's engine over HTTP, or to the cluster with an engine in this process.
Result<std::unique_ptr<SqlRunner>> Connect(const ShellOptions& options) {
  const auto is_interrupted = [] { return interrupted.load(); };
  if (options.bootstrap_servers.empty()) return SqlClient::Connect(options.url, is_interrupted);
  ASSIGN_OR_RAISE(auto local, LocalSql::Connect({.bootstrap_servers = options.bootstrap_servers,
                                                 .client = options.client,
                                                 .interrupted = is_interrupted}));
  if (!local->lake_status().ok()) {
    std::cerr
        << "warning: the lake of the cluster cannot be read from here, nor tables that are in it: "
        << VisibleText(local->lake_status().message(), kErrorBytesMax) << "\n";
  }
  return local;
}

int Run(const ShellOptions& options) {
  auto checked = SqlPrinter::Make(options.format, std::cout);
  if (!checked.ok()) {
    PrintError(checked.status());
    return 2;
  }
  std::string script = options.statement;
  if (!options.file.empty()) {
    auto text = io::LocalFileSystem().ReadFile(options.file);
    if (!text.ok()) {
      PrintError(text.status());
      return 2;
    }
    script = *text;
  }
  auto client = Connect(options);
  if (!client.ok()) {
    PrintError(client.status());
    return 2;
  }
  if (!options.statement.empty() || !options.file.empty())
    return RunScript(**client, options.format, script);
  if (isatty(STDIN_FILENO)) return Interact(**client, options);
  return RunScript(**client, options.format,
                   std::string(std::istreambuf_iterator<char>(std::cin), {}));
}

}  // namespace

int SqlMain(const std::vector<std::string>& args) {
  ShellOptions options;
  CLI::App app("Run SQL on a server.", "sluice sql");
  app.add_option("--url", options.url, "The server's HTTP address")->capture_default_str();
  app.add_option("--bootstrap-servers", options.bootstrap_servers,
                 "Run the engine in this process, on the cluster at HOST:PORT,...; views last as "
                 "long as the shell")
      ->excludes("--url");
  AddClientOptions(&options.client, &app);
  app.add_option("--format", options.format, "table, csv or json (one object a row)")
      ->capture_default_str();
  app.add_option("-e", options.statement, "Run these statements and leave");
  app.add_option("-f", options.file, "Run the statements of this file and leave")->excludes("-e");
  if (const auto answered = ParseCommandLine(args, &app)) return *answered;
  return Run(options);
}

}  // namespace sluice::app
