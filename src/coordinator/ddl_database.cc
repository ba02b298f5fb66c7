#include "base/log.h"
#include "coordinator/ddl.h"
#include "io/crash_point.h"

namespace sluice::coordinator {

Status Ddl::ConfigChange::Apply(std::map<std::string, std::string>* properties) const {
  constexpr int32_t kSet = 0;
  constexpr int32_t kDelete = 1;
  if (op == kSet && value.has_value()) {
    (*properties)[key] = *value;
  } else if (op == kDelete) {
    properties->erase(key);
  } else {
    return Error(ErrorCode::kInvalidConfig, "only set and delete change a property key=", key,
                 " op=", op);
  }
  return Status::OK();
}

io::Task<Status> Ddl::CreateDatabase(std::string name, std::optional<std::string> json,
                                     bool ignore_if_exists) {
  if (const std::string problem = types::NameProblem(name, /*creating=*/true); !problem.empty()) {
    co_return Error(ErrorCode::kInvalidDatabase, "invalid database name, ", problem,
                    " database=", name);
  }
  types::DatabaseDescriptor descriptor;
  if (json.has_value() && !json->empty()) {
    auto parsed = types::DatabaseDescriptor::FromJson(*json);
    if (!parsed.ok()) {
      co_return Error(ErrorCode::kInvalidDatabase,
                      "database descriptor is broken: ", parsed.status().message());
    }
    descriptor = *std::move(parsed);
  }
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  const bool exists = state()->FindDatabase(name) != nullptr;
  if (exists && ignore_if_exists) co_return Status::OK();
  CO_RETURN_NOT_OK(options_.catalog->CreateDatabase(name, descriptor));
  LogInfo("created database={}", name);
  co_return Status::OK();
}

io::Task<Status> Ddl::AlterDatabase(std::string name, std::vector<ConfigChange> changes,
                                    std::optional<std::string> comment, bool ignore_if_not_exists) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  const auto database = state()->Database(name);
  if (!database.ok()) co_return ignore_if_not_exists ? Status::OK() : database.status();
  types::DatabaseDescriptor descriptor = (*database)->descriptor;
  for (const ConfigChange& change : changes)
    CO_RETURN_NOT_OK(change.Apply(&descriptor.custom_properties));
  if (comment.has_value()) descriptor.comment = *comment;
  co_return options_.catalog->AlterDatabase(name, descriptor);
}

io::Task<Status> Ddl::DropDatabase(std::string name, bool ignore_if_not_exists, bool cascade) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  const auto database = state()->Database(name);
  if (!database.ok()) co_return ignore_if_not_exists ? Status::OK() : database.status();
  if (name == meta::kDefaultDatabase) {
    co_return Error(ErrorCode::kUnknownServer,
                    "the default database cannot be dropped database=", name);
  }
  DeleteIntent deletion;
  for (const auto& [table_name, table] : (*database)->tables)
    AddDeletion(*table, nullptr, &deletion);
  std::optional<meta::DdlIntent> left;
  if (!(*database)->tables.empty()) left = DeletionOf({name, ""}, deletion);
  CO_ASSIGN_OR_RETURN(const int64_t intent, options_.catalog->DropDatabase(name, cascade, left));
  CRASH_POINT("ddl.drop-database.after-commit");
  LogInfo("dropped database={} tables={}", name, (*database)->tables.size());
  for (const auto& [table_name, table] : (*database)->tables) {
    dropped_.erase(table->info.table_id);
    options_.table_changed(table->info.table_id);
  }
  if (intent != 0) co_await DeleteLeft(intent);
  co_return Status::OK();
}

}  // namespace sluice::coordinator
