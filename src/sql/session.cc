#include "sql/session.h"

#include <algorithm>

#include "sql/parser.h"
#include "sql/session_internal.h"

namespace sluice::sql {

namespace {

constexpr std::string_view kTimeZone = "table.local-time-zone";
constexpr std::string_view kRuntimeMode = "execution.runtime-mode";
/// Settings of Flink that scripts bring along and that change nothing here.
constexpr std::string_view kToleratedSettings[] = {
    "sql-client.", "execution.", "table.", "parallelism.", "pipeline.", "client.", "state."};

}  // namespace

Session::Session(Engine& engine, std::shared_ptr<TableCatalog> catalog, io::Clock& clock,
                 SessionOptions options)
    : state_(std::make_unique<State>(engine, std::move(catalog), clock, std::move(options))) {}
Session::~Session() = default;

Result<std::unique_ptr<ResultStream>> Session::Execute(std::string_view sql) {
  RETURN_NOT_OK(state_->interruption.status());
  ASSIGN_OR_RAISE(const ast::Statement statement, ParseStatement(sql));
  auto stream = state_->Run(statement, sql);
  // The engine knows only that it was stopped, not why.
  if (!stream.ok()) RETURN_NOT_OK(state_->interruption.status());
  return stream;
}

void Session::Interrupt(Status why) {
  state_->interruption.Raise(std::move(why));
  const duckdb::Connection connection = state_->running.load();
  if (connection != nullptr) duckdb::Loaded().interrupt(connection);
}

void Session::Resume() { state_->interruption.Clear(); }

Session::State::State(Engine& engine, std::shared_ptr<TableCatalog> owned_tables, io::Clock& clock,
                      SessionOptions options)
    : engine(engine),
      catalog_owner(std::move(owned_tables)),
      tables(*catalog_owner),
      interruption(*tables.interruption()),
      clock(clock),
      catalog(options.catalog),
      database(std::move(options.database)),
      default_catalog(options.catalog) {
  catalogs.emplace(catalog, ast::Options{});
  settings.emplace(kTimeZone, options.time_zone);
  settings.emplace(kRuntimeMode, "batch");
}

BindContext Session::State::Context() {
  BindContext context;
  context.tables = &tables;
  context.catalog = catalog;
  context.database = database;
  for (const auto& [name, options] : catalogs) context.catalogs.insert(name);
  context.temporary_views = temporary_views;
  context.time_zone = settings.at(std::string(kTimeZone));
  context.now_ms = clock.NowMs();
  context.next_scan = &ScanRegistry::NextId;
  context.evaluate_time = [this](const std::string& sql) { return EvaluateTime(sql); };
  return context;
}

Result<ResultStreamPtr> Session::State::Run(const ast::Statement& statement,
                                            std::string_view text) {
  const auto done = [] { return ResultStreamPtr(std::make_unique<FixedStream>()); };
  const auto& node = statement.node;
  if (const auto* query = std::get_if<ast::QueryPtr>(&node)) return RunQuery(**query);
  if (const auto* insert = std::get_if<ast::Insert>(&node)) return RunInsert(*insert);
  if (const auto* remove = std::get_if<ast::Delete>(&node)) return RunDelete(*remove);
  if (const auto* update = std::get_if<ast::Update>(&node)) return RunUpdate(*update);
  if (const auto* explain = std::get_if<ast::Explain>(&node)) return RunExplain(*explain);
  if (const auto* create = std::get_if<ast::CreateTable>(&node)) return RunCreateTable(*create);
  if (const auto* create = std::get_if<ast::CreateDatabase>(&node))
    return RunCreateDatabase(*create);
  if (const auto* create = std::get_if<ast::CreateCatalog>(&node)) return RunCreateCatalog(*create);
  if (const auto* create = std::get_if<ast::CreateView>(&node)) return RunCreateView(*create, text);
  if (const auto* drop = std::get_if<ast::Drop>(&node)) return RunDrop(*drop);
  if (const auto* use = std::get_if<ast::Use>(&node)) return RunUse(*use);
  if (const auto* alter = std::get_if<ast::AlterTable>(&node)) return RunAlter(*alter);
  if (const auto* show = std::get_if<ast::Show>(&node)) return RunShow(*show);
  if (const auto* describe = std::get_if<ast::Describe>(&node))
    return RunDescribe(describe->name, {});
  if (const auto* set = std::get_if<ast::Set>(&node)) return RunSet(*set);
  return done();
}

// --- settings ---

Status Session::State::CheckTimeZone(const std::string& zone, Position at) {
  if (zone == "UTC") return Status::OK();
  ASSIGN_OR_RAISE(Engine::State * engine_state, Connected());
  const Status known =
      duckdb::Run(engine_state->api, connection.get(),
                  "SELECT timezone(" + QuoteString(zone) + ", TIMESTAMP '2000-01-01 00:00:00')");
  return known.ok() ? known : InvalidAt(at, "time zone is not known, name=", zone);
}

Result<ResultStreamPtr> Session::State::RunSet(const ast::Set& set) {
  if (set.key.empty() && !set.reset) {
    std::vector<std::vector<std::optional<std::string>>> rows;
    for (const auto& [key, value] : settings) rows.push_back({key, value});
    return FixedStream::OfText({"key", "value"}, rows);
  }
  const bool known =
      set.key.empty() || std::ranges::any_of(kToleratedSettings, [&](std::string_view prefix) {
        return set.key.starts_with(prefix);
      });
  if (!known) return InvalidAt(set.at, "setting is not known, key=", set.key);
  if (set.reset) {
    if (set.key.empty()) settings.clear();
    settings.erase(set.key);
    settings.emplace(kTimeZone, "UTC");
    settings.emplace(kRuntimeMode, "batch");
    return std::make_unique<FixedStream>();
  }
  if (set.key == kTimeZone) RETURN_NOT_OK(CheckTimeZone(set.value, set.at));
  if (set.key == kRuntimeMode && set.value != "batch" && set.value != "BATCH") {
    return ErrorAt(ErrorCode::kUnsupportedVersion, set.at, "runtime mode ", set.value,
                   " is not supported yet");
  }
  settings[set.key] = set.value;
  return std::make_unique<FixedStream>();
}

// --- catalogs ---

Result<ResultStreamPtr> Session::State::RunUse(const ast::Use& use) {
  std::string to_catalog = catalog;
  std::string to_database = database;
  if (use.catalog) {
    if (use.name.parts.size() != 1) return InvalidAt(use.name.at, "a catalog has one name");
    to_catalog = use.name.parts[0];
    to_database = "fluss";
  } else {
    if (use.name.parts.size() > 2)
      return InvalidAt(use.name.at, "a database has at most two names");
    if (use.name.parts.size() == 2) to_catalog = use.name.parts[0];
    to_database = use.name.parts.back();
  }
  if (!catalogs.contains(to_catalog))
    return ErrorAt(ErrorCode::kDatabaseNotExist, use.name.at,
                   "catalog does not exist, name=", to_catalog);
  if (!use.catalog) {
    ASSIGN_OR_RAISE(const bool exists, tables.DatabaseExists(to_database));
    if (!exists)
      return ErrorAt(ErrorCode::kDatabaseNotExist, use.name.at,
                     "database does not exist, name=", to_database);
  }
  catalog = std::move(to_catalog);
  database = std::move(to_database);
  return std::make_unique<FixedStream>();
}

// Another name for the same cluster: the only kind of catalog that there is to create.
Result<ResultStreamPtr> Session::State::RunCreateCatalog(const ast::CreateCatalog& create) {
  if (catalogs.contains(create.name)) {
    if (create.if_not_exists) return std::make_unique<FixedStream>();
    return ErrorAt(ErrorCode::kDatabaseAlreadyExist, create.at,
                   "catalog exists already, name=", create.name);
  }
  const auto type =
      std::ranges::find(create.options, "type", &std::pair<std::string, std::string>::first);
  if (type == create.options.end() || type->second != "fluss") {
    return InvalidAt(create.at, "catalog needs 'type' = 'fluss', name=", create.name);
  }
  catalogs.emplace(create.name, create.options);
  return std::make_unique<FixedStream>();
}

}  // namespace sluice::sql
