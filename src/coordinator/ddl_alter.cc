#include "base/log.h"
#include "coordinator/ddl.h"
#include "coordinator/table_options.h"
#include "coordinator/table_rules.h"
#include "io/crash_point.h"
#include "types/table_options.h"

namespace sluice::coordinator {

namespace {

constexpr char kLakeEnabledKey[] = "table.datalake.enabled";
constexpr std::string_view kLakePrefix = "table.datalake.";

// What one SET or RESET does to a table's properties.
Status ApplyConfig(const Ddl::ConfigChange& change, types::TableDescriptor* descriptor) {
  if (!change.key.starts_with("table.")) return change.Apply(&descriptor->custom_properties);
  RETURN_NOT_OK(change.Apply(&descriptor->properties));
  const TableOption* option = FindTableOption(change.key);
  if (option == nullptr) {
    return Error(ErrorCode::kInvalidAlterTable, "table option is not known option=", change.key);
  }
  if (!option->alterable) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "table option cannot be altered option=", change.key);
  }
  // Readers that know no statistics get batches without them by this option.
  if (change.key == types::kStatisticsColumnsKey && !descriptor->properties.contains(change.key)) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "table option can be altered, but not reset option=", change.key);
  }
  if (change.key == "table.kv.standby-replica.enabled" && !descriptor->has_primary_key()) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "table option needs a primary key option=", change.key);
  }
  return Status::OK();
}

// Options of the lake need the lake format that decides keys and buckets, recorded when the table
// was created.
Status CheckLakeFormat(const ClusterSettings& settings, const Ddl::ConfigChange& change,
                       types::TableDescriptor* descriptor) {
  if (!change.key.starts_with(kLakePrefix) ||
      !descriptor->Property("table.datalake.format").empty()) {
    return Status::OK();
  }
  const bool keyless = !descriptor->has_primary_key() && descriptor->bucket_keys.empty();
  if (change.key != kLakeEnabledKey || !keyless) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "table was created without a lake format option=", change.key);
  }
  if (!settings.lake_format.empty())
    descriptor->properties["table.datalake.format"] = settings.lake_format;
  return Status::OK();
}

Status AddColumn(const types::Column& added, types::TableDescriptor* descriptor) {
  types::Schema& schema = descriptor->schema;
  RETURN_NOT_OK(ValidateColumn(added));
  if (schema.IndexOf(added.name) >= 0) {
    return Error(ErrorCode::kInvalidAlterTable, "column exists already column=", added.name);
  }
  if (!added.type->nullable()) {
    return Error(ErrorCode::kUnknownServer, "an added column must be nullable column=", added.name);
  }
  RETURN_NOT_OK(ValidateAggFunction(*descriptor, added));
  types::Column column = added;
  column.id = schema.highest_field_id + 1;
  schema.columns.push_back(std::move(column));
  return schema.AssignIds();  // Numbers the fields of a nested type.
}

}  // namespace

Result<types::TableDescriptor> Ddl::ChangedDescriptor(const meta::TableState& table,
                                                      const TableChange& change) const {
  const types::TablePath& path = table.info.path;
  if (change.bucket_count) {
    return Error(ErrorCode::kInvalidAlterTable, "the bucket count cannot be altered table=", path);
  }
  if (change.other_schema_change) {
    return Error(ErrorCode::kUnknownServer, "columns can only be added table=", path);
  }
  if (change.misplaced_column) {
    return Error(ErrorCode::kUnknownServer, "columns can only be added at the end table=", path);
  }
  if (!change.configs.empty() && !change.add_columns.empty()) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "options and columns cannot be altered at once table=", path);
  }
  types::TableDescriptor descriptor = table.info.descriptor;
  for (const ConfigChange& config : change.configs) {
    RETURN_NOT_OK(CheckLakeFormat(*options_.settings, config, &descriptor));
    RETURN_NOT_OK(ApplyConfig(config, &descriptor));
  }
  RETURN_NOT_OK(CheckColumnCount(descriptor.schema.columns.size() + change.add_columns.size()));
  for (const types::Column& column : change.add_columns)
    RETURN_NOT_OK(AddColumn(column, &descriptor));
  const bool enables = LakeEnabled(descriptor) && !LakeEnabled(table.info.descriptor);
  if (enables && (!options_.settings->lake_enabled || options_.lake == nullptr)) {
    return Error(ErrorCode::kInvalidAlterTable, "the cluster has no lake table=", path);
  }
  RETURN_NOT_OK(ValidateProperties(*options_.settings, descriptor));
  if (LakeEnabled(descriptor) && options_.lake != nullptr)
    RETURN_NOT_OK(options_.lake->Validate(descriptor));
  return descriptor;
}

// Whether the lake has, or with this change gets, a table that must follow.
io::Task<Result<bool>> Ddl::LakeKnows(meta::TablePtr table, types::TableDescriptor descriptor) {
  lake::LakeCatalog* lake = options_.lake;
  if (lake == nullptr) co_return false;
  if (LakeEnabled(descriptor) || LakeEnabled(table->info.descriptor)) co_return true;
  if (!table->info.descriptor.properties.contains(kLakeEnabledKey))
    co_return false;  // Never switched on.
  const types::TablePath path = table->info.path;
  auto look = [lake, path] { return lake->TableExists(path); };
  co_return co_await options_.pool->Run(*options_.loop, std::move(look));
}

io::Task<Status> Ddl::AlterTable(types::TablePath path, TableChange change,
                                 bool ignore_if_not_exists) {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  Status settled = co_await Settle(path);
  CO_RETURN_NOT_OK(settled);
  const auto found = state()->Table(path);
  if (!found.ok()) co_return ignore_if_not_exists ? Status::OK() : found.status();
  const meta::TablePtr table = *found;
  CO_ASSIGN_OR_RETURN(types::TableDescriptor descriptor, ChangedDescriptor(*table, change));
  if (descriptor.ToJson() == table->info.descriptor.ToJson()) co_return Status::OK();
  auto in_lake = co_await LakeKnows(table, descriptor);
  CO_RETURN_NOT_OK(in_lake);
  if (!*in_lake) co_return co_await CommitAlter(path, std::move(descriptor), std::nullopt);

  AlterIntent alter{.table_id = table->info.table_id, .descriptor = descriptor};
  if (LakeEnabled(descriptor) && !LakeEnabled(table->info.descriptor))
    alter.lake_made_ms = options_.clock->NowMs();
  meta::DdlIntent intent{.kind = AlterIntent::kKind, .path = path, .payload = alter.ToJson()};
  CO_ASSIGN_OR_RETURN(intent.id, options_.catalog->AddIntent(intent));
  CRASH_POINT("ddl.alter.after-intent");
  Status altered = co_await AlterInLake(table, std::move(alter));
  if (altered.ok()) {
    CRASH_POINT("ddl.alter.after-lake");
    altered = co_await CommitAlter(path, std::move(descriptor), intent.id);
  }
  if (altered.ok()) co_return altered;
  co_return co_await UndoAlter(std::move(intent), std::move(altered));
}

io::Task<Status> Ddl::AlterInLake(meta::TablePtr table, AlterIntent alter) {
  lake::LakeCatalog* lake = options_.lake;
  const types::TablePath path = table->info.path;
  if (lake == nullptr)
    co_return Error(ErrorCode::kLakeStorageNotConfigured, "the cluster has no lake table=", path);
  auto change = [lake, table, alter = std::move(alter)]() -> Status {
    const types::TableDescriptor& before = table->info.descriptor;
    const types::TableDescriptor& after = alter.descriptor;
    if (LakeEnabled(after) && !LakeEnabled(before)) {
      // Switched on for the first time: rows that are in the lake already are not this table's.
      const bool must_be_empty = !before.properties.contains(kLakeEnabledKey);
      RETURN_NOT_OK(lake->CreateTable(table->info.path, after, must_be_empty, alter.lake_made_ms));
    }
    return lake->AlterTable(table->info.path, LakeChanges(before, after));
  };
  co_return co_await options_.pool->Run(*options_.loop, std::move(change));
}

// Let the lake be as it was before the change.
io::Task<Status> Ddl::TakeBackInLake(meta::TablePtr table, AlterIntent alter) {
  lake::LakeCatalog* lake = options_.lake;
  if (lake == nullptr) co_return Status::OK();
  auto take_back = [lake, table, alter = std::move(alter)]() -> Status {
    const types::TableDescriptor& before = table->info.descriptor;
    const types::TablePath& path = table->info.path;
    if (alter.lake_made_ms.has_value())
      RETURN_NOT_OK(lake->RemoveMade(path, alter.descriptor, *alter.lake_made_ms));
    return lake->TakeBackAlter(path, LakeChanges(before, alter.descriptor));
  };
  co_return co_await options_.pool->Run(*options_.loop, std::move(take_back));
}

// Take back what the lake got, then the intent; `why` is handed on.
io::Task<Status> Ddl::UndoAlter(meta::DdlIntent intent, Status why) {
  const types::TablePath path = intent.path;
  Status settled = co_await RecoverAlter(std::move(intent));
  if (!settled.ok()) {
    LogWarn("cannot undo a failed ALTER TABLE yet table={} cause={}", path.ToString(),
            settled.ToString());
    options_.tell_again();  // The intent stays, and with it the next try.
  }
  co_return why;
}

io::Task<Status> Ddl::CommitAlter(types::TablePath path, types::TableDescriptor descriptor,
                                  std::optional<int64_t> intent) {
  CO_RETURN_NOT_OK(options_.catalog->AlterTable(path, descriptor, intent));
  CRASH_POINT("ddl.alter.after-commit");
  const meta::TablePtr table = state()->FindTable(path);
  LogInfo("altered table={} schema_id={}", path.ToString(), table->info.schema_id);
  options_.table_changed(table->info.table_id);
  Status told = co_await options_.link->TellChanged(table);
  LogUntold(told, path);
  co_return Status::OK();
}

}  // namespace sluice::coordinator
