#include "base/log.h"
#include "coordinator/assignment.h"
#include "coordinator/ddl.h"
#include "coordinator/table_options.h"
#include "coordinator/table_rules.h"
#include "io/crash_point.h"
#include "types/table_options.h"

namespace sluice::coordinator {

Result<types::TableDescriptor> Ddl::CompleteDescriptor(const std::string& json) const {
  auto parsed = types::TableDescriptor::FromJson(json);
  if (!parsed.ok()) {
    return Error(ErrorCode::kInvalidTable,
                 "table descriptor is broken: ", parsed.status().message());
  }
  types::TableDescriptor descriptor = *std::move(parsed);
  RETURN_NOT_OK(FillTableDefaults(*options_.settings, &descriptor));
  RETURN_NOT_OK(ValidateTable(*options_.settings, descriptor));
  if (options_.lake != nullptr && LakeEnabled(descriptor))
    RETURN_NOT_OK(options_.lake->Validate(descriptor));
  return descriptor;
}

Result<std::vector<meta::BucketState>> Ddl::Assign(const types::TableDescriptor& descriptor) const {
  ASSIGN_OR_RAISE(const int64_t replicas,
                  types::ParseInteger(descriptor.Property("table.replication.factor", "1")));
  return AssignBuckets(*descriptor.bucket_count, static_cast<int32_t>(replicas),
                       options_.link->server_ids(), state()->coordinator_epoch, *options_.random);
}

Status Ddl::CheckRoom(const types::TableDescriptor& descriptor) const {
  if (!options_.settings->check_room) return Status::OK();
  return options_.settings->check_room(*descriptor.bucket_count);
}

io::Task<Status> Ddl::CreateTable(types::TablePath path, std::string json, bool ignore_if_exists) {
  if (const std::string problem = types::NameProblem(path.table, /*creating=*/true);
      !problem.empty()) {
    co_return Error(ErrorCode::kInvalidTable, "invalid table name, ", problem, " table=", path);
  }
  CO_ASSIGN_OR_RETURN(types::TableDescriptor descriptor, CompleteDescriptor(json));
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  CO_RETURN_NOT_OK(Assign(descriptor));
  CO_RETURN_NOT_OK(state()->Database(path.database));
  Status settled = co_await Settle(path);
  CO_RETURN_NOT_OK(settled);
  if (state()->FindTable(path) != nullptr && ignore_if_exists) co_return Status::OK();
  if (state()->FindTable(path) != nullptr || state()->FindView(path) != nullptr) {
    co_return Error(ErrorCode::kTableAlreadyExist, "table or view exists already table=", path);
  }
  if (!descriptor.partitioned()) CO_RETURN_NOT_OK(CheckRoom(descriptor));
  if (!LakeEnabled(descriptor))
    co_return co_await Register(path, std::move(descriptor), std::nullopt);

  const CreateIntent create{.descriptor = std::move(descriptor),
                            .lake_made_ms = options_.clock->NowMs()};
  meta::DdlIntent intent{.kind = CreateIntent::kKind, .path = path, .payload = create.ToJson()};
  CO_ASSIGN_OR_RETURN(intent.id, options_.catalog->AddIntent(intent));
  CRASH_POINT("ddl.create.after-intent");
  Status created = co_await FinishCreate(intent);
  if (created.ok() || state()->FindTable(path) != nullptr) co_return created;
  co_return co_await UndoCreate(std::move(intent), std::move(created));
}

io::Task<Status> Ddl::CreateInLake(types::TablePath path, CreateIntent create) {
  lake::LakeCatalog* lake = options_.lake;
  if (lake == nullptr)
    co_return Error(ErrorCode::kLakeStorageNotConfigured, "the cluster has no lake table=", path);
  auto make = [lake, path, create = std::move(create)] {
    return lake->CreateTable(path, create.descriptor, /*must_be_empty=*/true, create.lake_made_ms);
  };
  auto taken = co_await options_.pool->Run(*options_.loop, std::move(make));
  co_return taken.status();
}

// From the intent on.
io::Task<Status> Ddl::FinishCreate(meta::DdlIntent intent) {
  CO_ASSIGN_OR_RETURN(CreateIntent create, CreateIntent::FromJson(intent.payload));
  types::TableDescriptor descriptor = create.descriptor;
  Status made = co_await CreateInLake(intent.path, std::move(create));
  CO_RETURN_NOT_OK(made);
  CRASH_POINT("ddl.create.after-lake");
  co_return co_await Register(intent.path, std::move(descriptor), intent.id);
}

// Take back what the lake got, then the intent; `why` is handed on. A table that the lake had
// already, or that another engine made meanwhile, is not what it got.
io::Task<Status> Ddl::UndoCreate(meta::DdlIntent intent, Status why) {
  auto create = CreateIntent::FromJson(intent.payload);
  lake::LakeCatalog* lake = options_.lake;
  if (create.ok() && create->lake_made_ms.has_value() && lake != nullptr) {
    auto remove = [lake, path = intent.path, create = *std::move(create)] {
      return lake->RemoveMade(path, create.descriptor, *create.lake_made_ms);
    };
    auto removed = co_await options_.pool->Run(*options_.loop, std::move(remove));
    if (!removed.ok()) {
      LogWarn("cannot undo a failed CREATE TABLE in the lake yet table={} cause={}",
              intent.path.ToString(), removed.status().ToString());
      options_.tell_again();
      co_return why;  // The intent stays, and with it the next try.
    }
  }
  LogIfError(options_.catalog->RemoveIntent(intent.id), "undo of a failed CREATE TABLE");
  co_return why;
}

// The step that makes the table exist, and what follows from it.
io::Task<Status> Ddl::Register(types::TablePath path, types::TableDescriptor descriptor,
                               std::optional<int64_t> intent) {
  meta::Catalog::NewTable table{
      .path = path, .remote_data_dir = options_.settings->remote_data_dir, .intent = intent};
  if (!descriptor.partitioned()) {
    CO_ASSIGN_OR_RETURN(table.buckets, Assign(descriptor));
  }
  table.descriptor = std::move(descriptor);
  CO_ASSIGN_OR_RETURN(const meta::TablePtr created,
                      options_.catalog->CreateTable(std::move(table)));
  CRASH_POINT("ddl.create.after-commit");
  LogInfo("created table={} table_id={} buckets={}", path.ToString(), created->info.table_id,
          created->bucket_count());
  options_.table_changed(created->info.table_id);
  Status told = co_await options_.link->TellCreated(created, nullptr);
  LogUntold(told, path);
  co_return Status::OK();
}

void Ddl::LogUntold(const Status& status, const types::TablePath& path) {
  if (status.ok()) return;
  LogWarn("a tablet server was not told of a change, trying again table={} cause={}",
          path.ToString(), status.ToString());
  options_.tell_again();
}

}  // namespace sluice::coordinator
