#include <algorithm>

#include "base/log.h"
#include "coordinator/ddl.h"

namespace sluice::coordinator {

io::Task<Status> Ddl::Settle(types::TablePath path) {
  const meta::CatalogStatePtr before = state();
  for (const meta::DdlIntent& intent : before->intents) {
    // Replicas that wait for deletion have ids of their own and hinder nobody.
    if (intent.path != path || intent.kind == DeleteIntent::kKind) continue;
    meta::DdlIntent half_done = intent;
    Status settled = co_await RecoverOne(std::move(half_done));
    CO_RETURN_NOT_OK(settled);
  }
  co_return Status::OK();
}

io::Task<Status> Ddl::Recover() {
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  const meta::CatalogStatePtr before = state();
  Status first;
  for (const meta::DdlIntent& intent : before->intents) {
    meta::DdlIntent half_done = intent;
    Status settled = co_await RecoverOne(std::move(half_done));
    if (settled.ok()) continue;
    LogWarn("a half-done change cannot be finished yet kind={} table={} cause={}", intent.kind,
            intent.path.ToString(), settled.ToString());
    if (first.ok()) first = settled;
  }
  co_return first;
}

io::Task<Status> Ddl::TellEverything() {
  Status recovered = co_await Recover();
  const shard::Turnstile::Turn turn = co_await turnstile_.Enter(*options_.loop);
  Status told = co_await options_.link->TellAll();
  co_return recovered.ok() ? told : recovered;
}

io::Task<Status> Ddl::RecoverOne(meta::DdlIntent intent) {
  if (intent.kind == CreateIntent::kKind) co_return co_await RecoverCreate(std::move(intent));
  if (intent.kind == AlterIntent::kKind) co_return co_await RecoverAlter(std::move(intent));
  if (intent.kind == DeleteIntent::kKind) co_return co_await RecoverDelete(std::move(intent));
  LogWarn("dropping an intent of an unknown kind={} table={}", intent.kind, intent.path.ToString());
  co_return options_.catalog->RemoveIntent(intent.id);
}

// Nobody was told that it exists, so it is undone.
io::Task<Status> Ddl::RecoverCreate(meta::DdlIntent intent) {
  const int64_t intent_id = intent.id;
  const types::TablePath path = intent.path;
  Status why = co_await UndoCreate(
      std::move(intent), Error(ErrorCode::kStorage, "CREATE TABLE is half done table=", path));
  const meta::CatalogStatePtr after = state();
  const bool undone =
      std::ranges::find(after->intents, intent_id, &meta::DdlIntent::id) == after->intents.end();
  if (!undone) co_return why;
  LogInfo("undid a half-done CREATE TABLE table={}", path.ToString());
  co_return Status::OK();
}

// As with CREATE.
io::Task<Status> Ddl::RecoverAlter(meta::DdlIntent intent) {
  const int64_t intent_id = intent.id;
  const types::TablePath path = intent.path;
  CO_ASSIGN_OR_RETURN(AlterIntent alter, AlterIntent::FromJson(intent.payload));
  const meta::TablePtr table = state()->FindTable(path);
  if (table != nullptr && table->info.table_id == alter.table_id) {
    Status taken_back = co_await TakeBackInLake(table, std::move(alter));
    CO_RETURN_NOT_OK(taken_back);
  }
  CO_RETURN_NOT_OK(options_.catalog->RemoveIntent(intent_id));
  LogInfo("undid a half-done ALTER TABLE table={}", path.ToString());
  co_return Status::OK();
}

}  // namespace sluice::coordinator
