#include "sql/engine.h"

#include <cstdlib>

#include "sql/engine_guard.h"
#include "sql/engine_internal.h"

namespace sluice::sql {

Engine::Engine(EngineOptions options)
    : options_(std::move(options)), state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

bool Engine::started() const {
  const std::lock_guard lock(state_->mutex);
  return state_->started;
}

Result<Engine::State*> Engine::Start() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->started) {
    RETURN_NOT_OK(duckdb::Guarded([this] { return state_->Open(options_); }));
    state_->started = true;
  }
  return state_.get();
}

namespace {

// The option, the environment, or the loader's own search (the program's run path is ../lib). Tests
// stand elsewhere than the program, so but for releases the build's copy comes last.
Result<const duckdb::Api*> FindApi(const std::string& library) {
  if (!library.empty()) return duckdb::LoadApi(library);
  const char* environment = std::getenv("SLUICE_DUCKDB_LIBRARY");
  if (environment != nullptr && *environment != '\0') return duckdb::LoadApi(environment);
  Result<const duckdb::Api*> by_name = duckdb::LoadApi("libduckdb.so");
#ifdef SLUICE_DUCKDB_LIBRARY
  if (!by_name.ok()) {
    Result<const duckdb::Api*> of_build = duckdb::LoadApi(SLUICE_DUCKDB_LIBRARY);
    if (of_build.ok()) return of_build;
  }
#endif
  return by_name;
}

}  // namespace

Status Engine::State::Open(const EngineOptions& options) {
  ASSIGN_OR_RAISE(const duckdb::Api* found, FindApi(options.library));
  api = *found;
  duckdb::Config raw_config = nullptr;
  if (api.create_config(&raw_config) != duckdb::State::kSuccess)
    return Status::OutOfMemory("query engine's settings");
  const duckdb::Owned<duckdb::Config> config(raw_config, api.destroy_config);
  const std::pair<const char*, std::string> settings[] = {
      {"threads", std::to_string(std::max(1, options.threads))},
      {"memory_limit", std::to_string(options.memory_bytes_max) + "B"},
      {"temp_directory", options.temp_folder},
      // What a query freed goes back to the system while nobody asks for it.
      {"allocator_background_threads", "true"},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"enable_external_access", "false"},
  };
  for (const auto& [name, value] : settings) {
    if (api.set_config(raw_config, name, value.c_str()) != duckdb::State::kSuccess) {
      return Status::Invalid("query engine refuses a setting, name=", name, " value=", value);
    }
  }
  duckdb::Database raw = nullptr;
  char* message = nullptr;
  if (api.open_ext(":memory:", &raw, raw_config, &message) != duckdb::State::kSuccess) {
    const Status failed =
        Status::IOError("query engine does not open, reason=", message == nullptr ? "" : message);
    api.free(message);
    return failed;
  }
  database = duckdb::Owned<duckdb::Database>(raw, api.close);
  ASSIGN_OR_RAISE(registrar, Connect());
  RETURN_NOT_OK(RegisterScalarFunctions(api, registrar.get()));
  return RegisterScan(api, registrar.get(), &scans);
}

Status Engine::State::Need(const std::set<DecimalFunction>& functions) {
  const std::lock_guard lock(mutex);
  for (const DecimalFunction& function : functions) {
    if (decimal_functions.contains(function)) continue;
    RETURN_NOT_OK(
        duckdb::Guarded([&] { return RegisterDecimalFunction(api, registrar.get(), function); }));
    decimal_functions.insert(function);
  }
  return Status::OK();
}

Result<duckdb::Owned<duckdb::Connection>> Engine::State::Connect() {
  duckdb::Connection raw = nullptr;
  const auto connected =
      duckdb::Guarded([&]() -> Result<duckdb::State> { return api.connect(database.get(), &raw); });
  RETURN_NOT_OK(connected.status());
  if (*connected != duckdb::State::kSuccess) {
    return Status::OutOfMemory("query engine gives no connection");
  }
  duckdb::Owned<duckdb::Connection> connection(raw, api.disconnect);
  RETURN_NOT_OK(duckdb::Run(api, raw, "SET TimeZone='UTC'"));
  RETURN_NOT_OK(duckdb::Run(api, raw, "SET errors_as_json=true"));  // With the place in the SQL.
  // The parser's own limit comes first: one level of ours is up to six of the engine's.
  RETURN_NOT_OK(duckdb::Run(api, raw, "SET max_expression_depth TO 2000"));
  return connection;
}

}  // namespace sluice::sql
