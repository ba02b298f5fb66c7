#include "sim/keys_workload.h"

#include "kv/tablet_fixture.h"
#include "log/file_cache.h"
#include "tablet/replica.h"

namespace sluice::sim {
namespace {

using kv::TestPut;
using kv::TestRow;
using tablet::Replica;
using Keys = std::map<int32_t, TestRow>;

constexpr int32_t kKeysMax = 20;
constexpr uint64_t kLeastSavedBytes = 1500;

// Stores that the machine may stop right before or right after each write.
class SimKeyStores : public kv::KeyStores {
 public:
  explicit SimKeyStores(Machine& machine) : machine_(machine) {}
  Result<std::shared_ptr<kv::KeyStore>> Open(const std::string& folder) override {
    ASSIGN_OR_RAISE(auto store, stores_.Open(folder));
    return std::make_shared<Store>(machine_, std::move(store));
  }
  // Only a store that is ahead of its log is removed.
  Status Remove(const std::string&) override { return Broken("the store was ahead of its log"); }
  void Cool(bool cold) { stores_.Cool(cold); }

 private:
  class Store : public kv::KeyStore {
   public:
    Store(Machine& machine, std::shared_ptr<KeyStore> inner)
        : machine_(machine), inner_(std::move(inner)) {}
    Result<kv::Applied> applied() override { return inner_->applied(); }
    Result<std::vector<std::optional<std::string>>> Get(
        std::span<const std::string_view> keys) override {
      return inner_->Get(keys);
    }
    Result<std::optional<std::vector<std::optional<std::string>>>> GetCached(
        std::span<const std::string_view> keys) override {
      return inner_->GetCached(keys);
    }
    Result<std::unique_ptr<Cursor>> NewCursor(CursorUse use) override {
      return inner_->NewCursor(use);
    }
    Status Write(std::span<const Change> changes, kv::Applied applied) override {
      RETURN_NOT_OK(machine_.Operation("store-write"));
      RETURN_NOT_OK(inner_->Write(changes, applied));
      return machine_.Operation("store-written");
    }
    Result<std::optional<Checkpoint>> MakeCheckpoint(const std::string& folder) override {
      return inner_->MakeCheckpoint(folder);
    }
    Status Close() override { return inner_->Close(); }

   private:
    Machine& machine_;
    const std::shared_ptr<KeyStore> inner_;
  };

  Machine& machine_;
  kv::MemoryKeyStores stores_;
};

class OneTable : public tablet::TableSource {
 public:
  OneTable() {
    types::TableInfo table =
        kv::TestTable({{"table.log.ttl", "2 s"}, {"table.log.arrow.compression.type", "none"}});
    schema_ = std::make_shared<const types::Schema>(table.descriptor.schema);
    table_ = std::make_shared<const types::TableInfo>(std::move(table));
  }
  Result<std::shared_ptr<const types::TableInfo>> ById(int64_t) const override { return table_; }
  Result<std::shared_ptr<const types::Schema>> SchemaOf(int64_t, int32_t) const override {
    return schema_;
  }
  bool InLake(int64_t) const override { return false; }

 private:
  std::shared_ptr<const types::TableInfo> table_;
  std::shared_ptr<const types::Schema> schema_;
};

class KeysWorkload : public Workload {
 public:
  explicit KeysWorkload(Machine& machine)
      : machine_(machine),
        loop_(machine.world.NewLoop()),
        pool_(machine.world.NewPool({.name = "keys", .threads = 2})),
        stores_(machine),
        codec_(stores_, "codec", *tables_.ById(0).ValueOrDie(), pool_.get()) {
    server_.tables = &tables_;
    server_.files = &machine.files;
    server_.clock = &machine.clock;
    server_.random = &machine.random;
    server_.read_pool = server_.sync_pool = server_.flush_pool = pool_.get();
    server_.key_stores = &stores_;
    server_.log.segment_bytes = 500 + machine.random.Below(2000);
    server_.log.index_interval_bytes = 200;
    for (const char* name : {"keys.replayed", "keys.moved", "keys.checkpointed",
                             "keys.deleted-segments", "keys.tail-lost", "keys.unanswered-put-found",
                             "keys.undone-append", "keys.clean-close", "keys.held-up"}) {
      ExpectProbe(name);
    }
  }
  ~KeysWorkload() override { Drop(); }

  Status Open(Machine& machine) override;
  Status Step(Machine& machine) override;
  void Drop() override;
  int steps_max() const override { return 40; }
  Status Check(Machine& machine, Stop stop) override;

 private:
  // A put that was answered, or one that was sent last.
  struct Sent {
    std::vector<TestPut> puts;
    int64_t end_offset = 0;  // Of the log behind it.
  };
  std::vector<TestPut> RandomPuts();
  Result<int64_t> Send(const std::vector<TestPut>& puts);
  Status Put();
  Status Look();
  Status CheckKeys();
  Status CloseAndOpen();
  void LetGo();
  void Remember();
  Keys Folded() const;
  int64_t end() const { return sent_.empty() ? 0 : sent_.back().end_offset; }

  Machine& machine_;
  io::Loop& loop_;
  std::unique_ptr<io::Pool> pool_;
  SimKeyStores stores_;
  OneTable tables_;
  kv::TestBucket codec_;  // Rows and keys as bytes; never opened.
  tablet::TabletOptions server_;
  std::unique_ptr<log::FileCache> log_files_;
  std::unique_ptr<tablet::Saver> saver_;
  std::shared_ptr<Replica> replica_;
  std::vector<Sent> sent_;                          // Acknowledged.
  std::optional<std::vector<TestPut>> unanswered_;  // May be there.
  int64_t saved_ = 0;                               // Below it nothing may be lost.
  int64_t rows_ = 0;
};

Status KeysWorkload::Open(Machine& machine) {
  log_files_ = std::make_unique<log::FileCache>(machine.files, 12);
  saver_ = std::make_unique<tablet::Saver>(tablet::Saver::Options{
      .log_bytes_max = 2 * kLeastSavedBytes,
      .replay_bytes_max = 2 * kLeastSavedBytes,
      .key_bytes_max = 4 * kLeastSavedBytes,
      .soon_bytes_min = 500,
      .loop = &loop_,
      .replicas = [this] { return std::vector<std::shared_ptr<Replica>>{replica_}; }});
  ASSIGN_OR_RAISE(const auto info, tables_.ById(0));
  ASSIGN_OR_RAISE(auto table, tablet::TableContext::Make(info, tables_));
  Replica::Options options{.server = &server_,
                           .loop = &loop_,
                           .log_files = log_files_.get(),
                           .saver = saver_.get(),
                           .id = {info->table_id, std::nullopt, 0},
                           .folders = {},
                           .table = std::move(table)};
  options.folders = tablet::BucketFolders::Of("/data", info->path, "", options.id);
  ASSIGN_OR_RAISE(replica_, Replica::Open(std::move(options)));
  tablet::Leadership leadership{.leader = server_.server_id, .isr = {server_.server_id}};
  RETURN_NOT_OK(io::SyncWait(loop_, Replica::Take(replica_, std::move(leadership))));
  if (replica_->status().opened_replay_bytes > 0) Probe("keys.replayed");
  saver_->SaveSoon(replica_);
  return Status::OK();
}

// What still runs ends before the machine starts again, and changes nothing any more.
void KeysWorkload::Drop() {
  if (saver_ == nullptr) return;
  machine_.StopAt(0);
  LetGo();
}

void KeysWorkload::LetGo() {
  saver_->Stop();
  machine_.world.RunUntilIdle();
  replica_.reset();
  saver_.reset();
  log_files_.reset();
}

Status KeysWorkload::Step(Machine& machine) {
  machine.clock.Advance(std::chrono::milliseconds(machine.random.Below(200)));
  stores_.Cool(machine.OneIn(3));
  for (uint64_t turns = machine.random.Below(4); turns > 0; --turns) machine.world.RunOne();
  Remember();
  const uint64_t choice = machine.random.Below(100);
  if (choice < 70) return Put();
  if (choice < 85) return Look();
  if (choice < 90) {
    const int64_t start = replica_->log().start_offset();
    io::SyncWait(loop_, Replica::Retain(replica_));
    if (replica_->log().start_offset() > start) Probe("keys.deleted-segments");
    return Status::OK();
  }
  const bool saved = choice < 95 ? io::SyncWait(loop_, Replica::MoveKeys(replica_))
                                 : io::SyncWait(loop_, Replica::Checkpoint(replica_));
  Remember();
  // It is no error when it has only to be tried again.
  return saved || !machine.Faulted() ? Status::OK() : Status::IOError("the machine failed a save");
}

void KeysWorkload::Remember() {
  const tablet::BucketStatus status = replica_->status();
  const int64_t applied = replica_->Keys().ok() ? (*replica_->Keys())->applied_offset() : 0;
  if (applied > saved_) Probe("keys.moved");
  if (status.recovery_point > saved_) Probe("keys.checkpointed");
  saved_ = std::max({saved_, applied, status.recovery_point});
}

std::vector<TestPut> KeysWorkload::RandomPuts() {
  std::vector<TestPut> puts;
  for (uint64_t count = 1 + machine_.random.Below(4); count > 0; --count) {
    const auto id = static_cast<int32_t>(machine_.random.Below(kKeysMax));
    const std::string text(machine_.random.Below(machine_.OneIn(10) ? 600 : 60), 'x');
    puts.push_back(machine_.OneIn(5) ? kv::Del(id) : kv::Up({id, text, ++rows_, {}}));
  }
  return puts;
}

// The log's end behind the put. Errors: those of the bucket, once it has answered.
Result<int64_t> KeysWorkload::Send(const std::vector<TestPut>& puts) {
  auto answer = std::make_shared<std::optional<Result<int64_t>>>();
  auto bytes = std::make_shared<const std::string>(codec_.KvBatch(puts));
  loop_.Post([this, answer, bytes] {
    Replica::Put put;
    put.owner = bytes;
    put.records = *bytes;
    put.done = [answer](Result<int64_t> end_offset) { answer->emplace(std::move(end_offset)); };
    replica_->StartPut(std::move(put));
  });
  machine_.world.RunUntil([answer] { return answer->has_value(); });
  return **answer;
}

Status KeysWorkload::Put() {
  const std::vector<TestPut> puts = RandomPuts();
  unanswered_ = puts;
  Result<int64_t> end_offset = Send(puts);
  // Held up by memory that is not moved yet: only for a while.
  for (int tries = 0; CodeOf(end_offset.status()) == ErrorCode::kStorageBackpressure; ++tries) {
    Probe("keys.held-up");
    if (machine_.Faulted()) return end_offset.status();
    if (tries == 5) return Broken("puts are refused for good: ", end_offset.status().ToString());
    machine_.clock.Advance(std::chrono::seconds(2));
    machine_.world.RunUntilIdle();
    end_offset = Send(puts);
  }
  if (!end_offset.ok() && CodeOf(end_offset.status()) == ErrorCode::kLogStorage) {
    // The fault may be over and the append undone: then nothing of it may be there.
    const std::vector<TestPut> next = RandomPuts();
    const auto again = Send(next);
    if (!again.ok()) return end_offset.status();
    Probe("keys.undone-append");
    unanswered_.reset();
    sent_.push_back({next, *again});
    return Look();
  }
  RETURN_NOT_OK(end_offset.status());
  unanswered_.reset();
  if (*end_offset < end()) return Broken("a put ended at ", *end_offset, " behind ", end());
  sent_.push_back({puts, *end_offset});
  return Status::OK();
}

Keys KeysWorkload::Folded() const {
  Keys keys;
  for (const Sent& sent : sent_) {
    for (const TestPut& put : sent.puts) {
      if (put.is_delete)
        keys.erase(put.row.id);
      else
        keys[put.row.id] = put.row;
    }
  }
  return keys;
}

// Some keys, as lookups see them.
Status KeysWorkload::Look() {
  ASSIGN_OR_RAISE(kv::KvTablet * tablet, replica_->Keys());
  const Keys expected = Folded();
  for (int i = 0; i < 3; ++i) {
    const auto id = static_cast<int32_t>(machine_.random.Below(kKeysMax));
    const std::string key = codec_.Key(id);
    const std::vector<std::string_view> keys{key};
    ASSIGN_OR_RAISE(const auto values, tablet->Lookup(keys));
    const auto at = expected.find(id);
    if (values[0].has_value() != (at != expected.end()))
      return Broken("key ", id, values[0].has_value() ? " is there" : " is not there");
    if (values[0].has_value() && codec_.DecodeValues({*values[0]}).front() != at->second)
      return Broken("key ", id, " has another value");
  }
  return Status::OK();
}

Status KeysWorkload::CheckKeys() {
  ASSIGN_OR_RAISE(kv::KvTablet * tablet, replica_->Keys());
  const Keys expected = Folded();
  ASSIGN_OR_RAISE(const auto scan, tablet->OpenScan());
  Keys found;
  while (!scan->done()) {
    for (const TestRow& row : codec_.Next(*scan, 1 << 20)) found[row.id] = row;
  }
  if (found != expected)
    return Broken("a scan gave ", found.size(), " rows, expected ", expected.size());
  ASSIGN_OR_RAISE(const int64_t count, tablet->RowCount());
  if (count != static_cast<int64_t>(expected.size())) return Broken("row count is ", count);
  return Status::OK();
}

Status KeysWorkload::Check(Machine& machine, Stop stop) {
  const int64_t log_end = replica_->log().end_offset();
  if (log_end < (stop == Stop::kKill ? end() : std::min(saved_, end())))
    return Broken("log ends at ", log_end, ", acknowledged ", end(), ", saved ", saved_);
  if (log_end > end()) {
    if (!unanswered_.has_value()) return Broken("log ends at ", log_end, " behind ", end());
    Probe("keys.unanswered-put-found");
    sent_.push_back({*unanswered_, log_end});
  }
  unanswered_.reset();
  if (log_end < end()) Probe("keys.tail-lost");
  std::erase_if(sent_, [&](const Sent& sent) { return sent.end_offset > log_end; });
  if (end() != log_end && log_end != 0) return Broken("log ends inside a put, offset=", log_end);
  saved_ = std::min(saved_, log_end);
  RETURN_NOT_OK(CheckKeys());
  return machine.OneIn(4) ? CloseAndOpen() : Status::OK();
}

Status KeysWorkload::CloseAndOpen() {
  machine_.world.RunUntilIdle();
  RETURN_NOT_OK(
      io::SyncWait(loop_, Replica::Close(replica_, {.save_log = true, .move_keys = true})));
  LetGo();
  RETURN_NOT_OK(Open(machine_));
  Probe("keys.clean-close");
  saved_ = end();
  const tablet::BucketStatus status = replica_->status();
  if (status.opened_replay_bytes + status.opened_scan_bytes > 0)
    return Broken("a closed bucket had to read ", status.opened_replay_bytes, " and ",
                  status.opened_scan_bytes, " bytes");
  return CheckKeys();
}

}  // namespace

std::unique_ptr<Workload> MakeKeysWorkload(Machine& machine) {
  return std::make_unique<KeysWorkload>(machine);
}

}  // namespace sluice::sim
