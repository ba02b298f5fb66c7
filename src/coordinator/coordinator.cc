#include "coordinator/coordinator.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "coordinator/coordinator_internal.h"

namespace sluice::coordinator {

namespace {

constexpr int64_t kWriterIdBlock =
    1000;  // Ids taken from the store at once; a restart loses the rest.
constexpr std::chrono::milliseconds kTellFirst = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kTellMost = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kSweepInterval = std::chrono::minutes(10);
constexpr std::chrono::milliseconds kSweepMore = std::chrono::seconds(1);

io::RemoteFolder RemoteFolderIn(const ClusterSettings& settings) {
  return io::RemoteFolder(types::RemotePath(settings.remote_data_dir));
}

TabletLink::Options LinkOptions(const Coordinator::Options& options) {
  return {.catalog = options.catalog,
          .loop = options.loop,
          .address = options.address,
          .servers = options.tablet_servers};
}

}  // namespace

CoordinatorCore::CoordinatorCore(Coordinator::Options given)
    : options(std::move(given)),
      link(LinkOptions(options)),
      ddl({.catalog = options.catalog,
           .lake = options.lake,
           .loop = options.loop,
           .pool = options.pool,
           .files = options.files,
           .random = options.random,
           .clock = options.clock,
           .settings = &options.settings,
           .remote_folder = RemoteFolderIn(options.settings),
           .link = &link,
           .table_changed = [this](int64_t table_id) { desk->TableChanged(table_id); },
           .round_of = [this](int64_t table_id) { return desk->RoundOf(table_id); },
           .tell_again = [this] { TellAgain(); }}),
      lake_snapshots({.catalog = options.catalog,
                      .loop = options.loop,
                      .pool = options.pool,
                      .files = options.files,
                      .random = options.random,
                      .link = &link,
                      .remote_folder = RemoteFolderIn(options.settings)}),
      producers(*options.catalog, *options.clock, options.settings.producer_offsets_ttl_ms),
      kv_snapshots(std::make_shared<KvSnapshots>(
          KvSnapshots::Options{.catalog = options.catalog,
                               .loop = options.loop,
                               .pool = options.pool,
                               .files = options.files,
                               .clock = options.clock,
                               .settings = &options.settings,
                               .remote_folder = RemoteFolderIn(options.settings)})),
      desk(std::make_shared<TieringDesk>(TieringDesk::Options{.catalog = options.catalog,
                                                              .loop = options.loop,
                                                              .clock = options.clock,
                                                              .link = &link})),
      keeper(std::make_shared<PartitionKeeper>(
          PartitionKeeper::Options{.catalog = options.catalog,
                                   .loop = options.loop,
                                   .clock = options.clock,
                                   .ddl = &ddl,
                                   .settings = &options.settings,
                                   .may_create = [this] { return CheckWrite(); }})),
      tell_delay(kTellFirst) {}

io::Task<Status> CoordinatorCore::Start() {
  CHECK(!in_office && !calls.closed());
  CO_ASSIGN_OR_RETURN(const int32_t epoch, options.catalog->RaiseCoordinatorEpoch());
  CO_RETURN_NOT_OK(kv_snapshots->Start());
  CO_RETURN_NOT_OK(producers.Load());
  Status told = co_await ddl.TellEverything();
  in_office = true;
  desk->Start();
  keeper->Start();
  SweepProducers();
  if (!told.ok()) {
    LogWarn("the tablet servers do not know everything yet, trying again cause={}",
            told.ToString());
    TellAgain();
  }
  LogInfo("coordinator is in office epoch={} tables={}", epoch,
          options.catalog->state()->tables_by_id.size());
  co_return Status::OK();
}

io::Task<void> CoordinatorCore::Stop() {
  in_office = false;
  co_await keeper->Stop();
  co_await desk->Stop();
  co_await kv_snapshots->Stop();
  if (tell_timer.has_value()) options.loop->Cancel(*tell_timer);
  tell_timer.reset();
  if (sweep_timer.has_value()) options.loop->Cancel(*sweep_timer);
  sweep_timer.reset();
  co_await calls.CloseAndWait(*options.loop);
}

void CoordinatorCore::SweepProducers() {
  const Result<bool> more = producers.Sweep();
  LogIfError(more.status(), "sweeping producer offsets");
  sweep_timer = options.loop->After(more.ValueOr(false) ? kSweepMore : kSweepInterval,
                                    [self = shared_from_this()] {
                                      self->sweep_timer.reset();
                                      if (self->in_office) self->SweepProducers();
                                    });
}

void CoordinatorCore::TellAgain() {
  if (!in_office || tell_timer.has_value()) return;
  tell_timer = options.loop->After(tell_delay, [self = shared_from_this()] {
    self->tell_timer.reset();
    if (self->in_office) io::Spawn(TellNow(self));
  });
  tell_delay = std::min(tell_delay * 2, kTellMost);
}

io::Task<void> CoordinatorCore::TellNow(std::shared_ptr<CoordinatorCore> self) {
  const auto pass = self->calls.Enter();
  if (!pass.has_value()) co_return;
  Status told = co_await self->ddl.TellEverything();
  if (told.ok()) {
    self->tell_delay = kTellFirst;
    LogInfo("the tablet servers know everything again");
    co_return;
  }
  LogWarn("the tablet servers do not know everything yet, trying again cause={}", told.ToString());
  self->TellAgain();
}

io::Task<Result<io::Payload>> CoordinatorCore::Serve(io::Call call) {
  if (!in_office) co_return Error(ErrorCode::kNetwork, "the coordinator is not in office");
  const CallHandler handler = FindHandler(call.api_key);
  if (handler == nullptr) {
    co_return Error(ErrorCode::kUnsupportedVersion,
                    "the coordinator has no such call api_key=", call.api_key);
  }
  if (AddsMetadata(call.api_key)) CO_RETURN_NOT_OK(CheckWrite());
  const size_t most = BodyBytesMax(call.api_key);
  if (call.body.size() > most) {
    co_return Error(ErrorCode::kRecordTooLarge,
                    "a call that changes metadata is too large size_bytes=", call.body.size(),
                    " most=", most);
  }
  const auto pass = calls.Enter();
  co_return co_await handler(*this, std::move(call.body));
}

Result<int64_t> CoordinatorCore::NewWriterId() {
  if (writer_ids_left == 0) {
    ASSIGN_OR_RAISE(next_writer_id, options.catalog->NextWriterIds(kWriterIdBlock));
    writer_ids_left = kWriterIdBlock;
  }
  --writer_ids_left;
  return next_writer_id++;
}

Coordinator::Coordinator(Options options)
    : core_(std::make_shared<CoordinatorCore>(std::move(options))) {}

Coordinator::~Coordinator() = default;

io::Task<Status> Coordinator::Start(io::Loop& loop) {
  const std::shared_ptr<CoordinatorCore> core = core_;
  co_await io::SwitchTo(*core->options.loop);
  Status started = co_await core->Start();
  co_await io::SwitchTo(loop);
  co_return started;
}

io::Task<void> Coordinator::Stop(io::Loop& loop) {
  const std::shared_ptr<CoordinatorCore> core = core_;
  co_await io::SwitchTo(*core->options.loop);
  co_await core->Stop();
  co_await io::SwitchTo(loop);
}

io::Task<Result<io::Payload>> Coordinator::Handle(io::Loop& loop,
                                                  std::shared_ptr<const io::Principal>,
                                                  io::Call call) {
  const std::shared_ptr<CoordinatorCore> core = core_;
  co_await io::SwitchTo(*core->options.loop);
  auto reply = co_await core->Serve(std::move(call));
  co_await io::SwitchTo(loop);
  co_return reply;
}

namespace {

// Run `work` on the coordinator's loop and come back.
template <typename R>
io::Task<R> OnCoordinator(std::shared_ptr<CoordinatorCore> core, io::Loop& loop,
                          std::function<R(CoordinatorCore&)> work) {
  co_await io::SwitchTo(*core->options.loop);
  R result = work(*core);
  co_await io::SwitchTo(loop);
  co_return result;
}

}  // namespace

io::Task<Result<int64_t>> Coordinator::NewWriterId(io::Loop& loop) {
  return OnCoordinator<Result<int64_t>>(core_, loop,
                                        [](CoordinatorCore& core) { return core.NewWriterId(); });
}

io::Task<Result<int64_t>> Coordinator::NewColumnIds(io::Loop& loop, int64_t table_id,
                                                    int64_t count) {
  return OnCoordinator<Result<int64_t>>(core_, loop, [=](CoordinatorCore& core) {
    return core.options.catalog->NextColumnIds(table_id, count);
  });
}

io::Task<std::map<int64_t, std::chrono::milliseconds>> Coordinator::NextTries(io::Loop& loop) {
  return OnCoordinator<std::map<int64_t, std::chrono::milliseconds>>(
      core_, loop, [](CoordinatorCore& core) { return core.desk->NextTries(); });
}

io::Task<Status> Coordinator::CreateView(io::Loop& loop, meta::ViewInfo view, bool replace) {
  return OnCoordinator<Status>(core_, loop,
                               [view = std::move(view), replace](CoordinatorCore& core) -> Status {
                                 RETURN_NOT_OK(core.CheckWrite());
                                 return core.options.catalog->CreateView(view, replace);
                               });
}

io::Task<Status> Coordinator::DropView(io::Loop& loop, types::TablePath path) {
  return OnCoordinator<Status>(core_, loop, [path = std::move(path)](CoordinatorCore& core) {
    return core.options.catalog->DropView(path);
  });
}

}  // namespace sluice::coordinator
