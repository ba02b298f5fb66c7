#include "sim/ddl_workload.h"

#include <set>

#include "coordinator/coordinator_testing.h"
#include "io/remote_folder.h"

namespace sluice::sim {
namespace {

using types::TablePath;

constexpr char kWarehouse[] = "/warehouse";
constexpr char kPartitionColumn[] = "name";

// The metadata store: what Apply has done is durable; the machine may stop before it or before its
// answer.
class SimStore : public meta::MetaStore {
 public:
  explicit SimStore(Machine& machine) : machine_(machine) {}
  Result<std::optional<Node>> Get(const std::string& path) override { return inner_->Get(path); }
  Result<std::vector<std::string>> Children(const std::string& path) override {
    return inner_->Children(path);
  }
  Status Apply(std::vector<Op> ops) override {
    RETURN_NOT_OK(machine_.Operation("apply"));
    RETURN_NOT_OK(inner_->Apply(std::move(ops)));
    // An error says that nothing was applied, unless the machine has stopped: then nobody hears it.
    return machine_.Operation("applied").ok() ? Status::OK() : machine_.Operation("applied");
  }

 private:
  Machine& machine_;
  std::unique_ptr<meta::MetaStore> inner_ = meta::NewMemoryMetaStore();
};

// What a client knows of the catalog.
struct Table {
  bool keyed = false;
  bool partitioned = false;
  bool lake = false;
  std::vector<std::string> columns;
  std::set<std::string> partitions;
  std::string owner;  // A custom property that ALTER sets.
  bool operator==(const Table&) const = default;
};
struct Model {
  std::set<std::string> databases;
  std::map<TablePath, Table> tables;
  bool operator==(const Model&) const = default;
};

class DdlWorkload : public Workload {
 public:
  explicit DdlWorkload(Machine& machine)
      : store_(machine),
        tablet_(std::make_shared<coordinator::FakeTablet>(power_)),
        client_loop_(machine.world.NewLoop()),
        coordinator_loop_(machine.world.NewLoop()),
        pool_(machine.world.NewPool({.name = "ddl", .threads = 2})) {
    for (const char* name :
         {"ddl.answered", "ddl.unanswered-done", "ddl.unanswered-undone", "ddl.lake-name-taken"}) {
      ExpectProbe(name);
    }
  }
  ~DdlWorkload() override { Drop(); }

  Status Open(Machine& machine) override;
  void Drop() override;
  int steps_max() const override { return 12; }
  Status Step(Machine& machine) override;
  Status Check(Machine& machine, Stop stop) override;

 private:
  using Change = std::function<void(Model&)>;

  template <typename Response = wire::CreateTableResponse, typename Request>
  Status Call(wire::ApiKey key, const Request& request) {
    io::Call call{.api_key = static_cast<int16_t>(key), .body = wire::Serialize(request)};
    return io::SyncWait(
               client_loop_,
               coordinator_->Handle(client_loop_, std::make_shared<const io::Principal>(), call))
        .status();
  }
  // Send a change and note whether it was answered.
  template <typename Request>
  Status Do(wire::ApiKey key, const Request& request, Change change);
  Status CreateDatabase(const std::string& name);
  Status DropDatabase(const std::string& name);
  Status CreateTable(Machine& machine, const TablePath& path);
  Status DropTable(const TablePath& path);
  Status AlterTable(Machine& machine, const TablePath& path);
  Status ChangePartition(Machine& machine, const TablePath& path);
  TablePath PickTable(Machine& machine) const;
  Model Actual() const;
  Status CheckLake(Machine& machine);
  Status CheckTablet() const;

  coordinator::Power power_;  // Always on: the machine's operations say when it has stopped.
  SimStore store_;
  std::shared_ptr<coordinator::FakeTablet> tablet_;
  io::Loop& client_loop_;
  io::Loop& coordinator_loop_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<lake::LakeCatalog> lake_;
  std::unique_ptr<meta::Catalog> catalog_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  Model model_;
  std::optional<Model> if_done_;  // The model if the unanswered change took place.
  std::set<TablePath> once_in_lake_;
  uint64_t changes_ = 0;
};

Status DdlWorkload::Open(Machine& machine) {
  lake::LakeCatalogOptions options;
  options.properties = {{"metastore", "filesystem"}, {"warehouse", kWarehouse}};
  options.files = &machine.files;
  options.clock = &machine.clock;
  options.random = &machine.random;
  ASSIGN_OR_RAISE(lake_, lake::LakeCatalog::Open(std::move(options)));
  ASSIGN_OR_RAISE(catalog_, meta::Catalog::Open(store_, machine.clock));
  coordinator::ClusterSettings settings;
  settings.lake_format = "paimon";
  settings.lake_enabled = true;
  settings.remote_data_dir = "/remote";
  RETURN_NOT_OK(io::RemoteFolder(settings.remote_data_dir).Open(machine.files, /*may_make=*/true));
  tablet_->Restart();
  coordinator_ = std::make_unique<coordinator::Coordinator>(coordinator::Coordinator::Options{
      .catalog = catalog_.get(),
      .lake = lake_.get(),
      .loop = &coordinator_loop_,
      .pool = pool_.get(),
      .files = &machine.files,
      .clock = &machine.clock,
      .random = &machine.random,
      .settings = settings,
      .address = {.host = "localhost", .port = 9123},
      .tablet_servers = {
          {.id = 0, .host = "localhost", .port = 9124, .listeners = "", .transport = tablet_}}});
  RETURN_NOT_OK(io::SyncWait(client_loop_, coordinator_->Start(client_loop_)));
  machine.world.RunFor(std::chrono::milliseconds(100));
  return machine.Faulted() ? machine.Operation("started") : Status::OK();
}

io::Task<bool> Stopped(coordinator::Coordinator& coordinator, io::Loop& loop) {
  co_await coordinator.Stop(loop);
  co_return true;
}

void DdlWorkload::Drop() {
  if (coordinator_ != nullptr) io::SyncWait(client_loop_, Stopped(*coordinator_, client_loop_));
  coordinator_.reset();
  catalog_.reset();
  lake_.reset();
}

TablePath DdlWorkload::PickTable(Machine& machine) const {
  auto at = model_.tables.begin();
  std::advance(at, static_cast<ptrdiff_t>(machine.random.Below(model_.tables.size())));
  return at->first;
}

Status DdlWorkload::Step(Machine& machine) {
  machine.clock.Advance(std::chrono::milliseconds(machine.random.Below(100)));
  const std::string database = machine.OneIn(2) ? "one" : "two";
  if (!model_.databases.contains(database)) return CreateDatabase(database);
  const uint64_t choice = machine.random.Below(100);
  if (choice < 3) return DropDatabase(database);
  if (choice < 40 || model_.tables.empty()) {
    const TablePath path{database, "t" + std::to_string(machine.random.Below(6))};
    return model_.tables.contains(path) ? DropTable(path) : CreateTable(machine, path);
  }
  const TablePath path = PickTable(machine);
  return model_.tables.at(path).partitioned && machine.OneIn(2) ? ChangePartition(machine, path)
                                                                : AlterTable(machine, path);
}

template <typename Request>
Status DdlWorkload::Do(wire::ApiKey key, const Request& request, Change change) {
  Model after = model_;
  change(after);
  for (const auto& [path, table] : after.tables) {
    if (table.lake) once_in_lake_.insert(path);  // At least perhaps.
  }
  const Status answer = Call(key, request);
  if (answer.ok()) {
    Probe("ddl.answered");
    model_ = std::move(after);
    return answer;
  }
  if (CodeOf(answer) == ErrorCode::kLakeTableAlreadyExist) {
    Probe("ddl.lake-name-taken");  // By a dropped table that had other columns.
    return Status::OK();
  }
  if_done_ = std::move(after);
  return answer;
}

Status DdlWorkload::CreateDatabase(const std::string& name) {
  wire::CreateDatabaseRequest request;
  request.set_database_name(name);
  request.set_ignore_if_exists(false);
  return Do(wire::ApiKey::kCreateDatabase, request,
            [&](Model& model) { model.databases.insert(name); });
}

Status DdlWorkload::DropDatabase(const std::string& name) {
  wire::DropDatabaseRequest request;
  request.set_database_name(name);
  request.set_ignore_if_not_exists(false);
  request.set_cascade(true);
  return Do(wire::ApiKey::kDropDatabase, request, [&](Model& model) {
    model.databases.erase(name);
    std::erase_if(model.tables, [&](const auto& entry) { return entry.first.database == name; });
  });
}

Status DdlWorkload::CreateTable(Machine& machine, const TablePath& path) {
  Table table{
      .keyed = machine.OneIn(3), .lake = machine.OneIn(2), .columns = {"id", kPartitionColumn}};
  table.partitioned = !table.keyed && machine.OneIn(2);
  types::TableDescriptor descriptor = table.keyed         ? coordinator::KeyTable()
                                      : table.partitioned ? coordinator::PartitionedTable()
                                                          : coordinator::LogTable();
  if (table.lake) descriptor = coordinator::InLake(descriptor);
  descriptor.bucket_count = 1 + static_cast<int32_t>(machine.random.Below(3));
  if (table.keyed) descriptor.bucket_keys = {"id"};
  wire::CreateTableRequest request;
  coordinator::Harness::SetPath(path, request.mutable_table_path());
  request.set_table_json(descriptor.ToJson());
  request.set_ignore_if_exists(false);
  return Do(wire::ApiKey::kCreateTable, request, [&](Model& model) { model.tables[path] = table; });
}

Status DdlWorkload::DropTable(const TablePath& path) {
  wire::DropTableRequest request;
  coordinator::Harness::SetPath(path, request.mutable_table_path());
  request.set_ignore_if_not_exists(false);
  return Do(wire::ApiKey::kDropTable, request, [&](Model& model) { model.tables.erase(path); });
}

Status DdlWorkload::AlterTable(Machine& machine, const TablePath& path) {
  wire::AlterTableRequest request = coordinator::Harness::Alter(path);
  const Table& table = model_.tables.at(path);
  const std::string value = std::to_string(changes_++);
  if (machine.OneIn(3) && table.columns.size() < 6) {
    auto* column = request.add_add_columns();
    column->set_column_name("c" + value);
    column->set_data_type_json(types::DataType::Of(types::TypeKind::kBigInt)->ToJson());
    column->set_column_position_type(0);
    return Do(wire::ApiKey::kAlterTable, request,
              [&](Model& model) { model.tables[path].columns.push_back("c" + value); });
  }
  auto* config = request.add_config_changes();
  config->set_op_type(0);
  if (!table.lake && machine.OneIn(2)) {
    config->set_config_key("table.datalake.enabled");
    config->set_config_value("true");
    return Do(wire::ApiKey::kAlterTable, request,
              [&](Model& model) { model.tables[path].lake = true; });
  }
  config->set_config_key("owner");
  config->set_config_value(value);
  return Do(wire::ApiKey::kAlterTable, request,
            [&](Model& model) { model.tables[path].owner = value; });
}

Status DdlWorkload::ChangePartition(Machine& machine, const TablePath& path) {
  const std::string value = "p" + std::to_string(machine.random.Below(4));
  if (model_.tables.at(path).partitions.contains(value)) {
    wire::DropPartitionRequest request;
    coordinator::Harness::SetPath(path, request.mutable_table_path());
    coordinator::Harness::SetSpec({{kPartitionColumn, value}}, request.mutable_partition_spec());
    request.set_ignore_if_not_exists(false);
    return Do(wire::ApiKey::kDropPartition, request,
              [&](Model& model) { model.tables[path].partitions.erase(value); });
  }
  wire::CreatePartitionRequest request;
  coordinator::Harness::SetPath(path, request.mutable_table_path());
  coordinator::Harness::SetSpec({{kPartitionColumn, value}}, request.mutable_partition_spec());
  request.set_ignore_if_not_exists(false);
  return Do(wire::ApiKey::kCreatePartition, request,
            [&](Model& model) { model.tables[path].partitions.insert(value); });
}

Model DdlWorkload::Actual() const {
  Model actual;
  const auto state = catalog_->state();
  for (const auto& [name, database] : state->databases) {
    if (name == "one" || name == "two") actual.databases.insert(name);
    for (const auto& [table_name, table] : database->tables) {
      const types::TableDescriptor& descriptor = table->info.descriptor;
      Table& seen = actual.tables[table->info.path];
      seen.keyed = descriptor.has_primary_key();
      seen.partitioned = descriptor.partitioned();
      seen.lake = table->lake_enabled();
      for (const auto& column : descriptor.schema.columns) seen.columns.push_back(column.name);
      for (const auto& [partition, ignored] : table->partitions) seen.partitions.insert(partition);
      const auto owner = descriptor.custom_properties.find("owner");
      if (owner != descriptor.custom_properties.end()) seen.owner = owner->second;
    }
  }
  return actual;
}

Status DdlWorkload::CheckLake(Machine&) {
  for (const auto& [path, table] : model_.tables) {
    if (!table.lake) continue;
    const auto opened = lake_->OpenTable(path);
    if (!opened.ok())
      return Broken("table ", path, " is not in the lake: ", opened.status().ToString());
    std::vector<std::string> columns;
    for (const auto& column : (*opened)->schema().columns) {
      if (!column.name.starts_with("__")) columns.push_back(column.name);
    }
    if (columns != table.columns) return Broken("the lake has other columns for ", path);
  }
  ASSIGN_OR_RAISE(const auto databases, lake_->ListDatabases());
  for (const std::string& database : databases) {
    ASSIGN_OR_RAISE(const auto tables, lake_->ListTables(database));
    for (const std::string& name : tables) {
      if (!once_in_lake_.contains({database, name}))
        return Broken("lake table of nobody: ", database, ".", name);
    }
  }
  return Status::OK();
}

Status DdlWorkload::CheckTablet() const {
  std::set<types::BucketId> buckets;
  for (const auto& [table_id, table] : catalog_->state()->tables_by_id) {
    table->ForEachBucket([&](const types::BucketId& id, const meta::PartitionState*,
                             const meta::BucketState&) { buckets.insert(id); });
  }
  if (tablet_->files != buckets) {
    return Broken("the tablet server has files of ", tablet_->files.size(),
                  " buckets, the catalog knows ", buckets.size());
  }
  return tablet_->replicas.size() == buckets.size() ? Status::OK()
                                                    : Broken("not all buckets are led");
}

Status DdlWorkload::Check(Machine& machine, Stop) {
  machine.world.RunFor(
      std::chrono::seconds(5));  // Leftovers of drops are removed behind the answers.
  const Model actual = Actual();
  if (if_done_.has_value() && actual == *if_done_) {
    Probe("ddl.unanswered-done");
    model_ = *if_done_;
  } else if (actual != model_) {
    return Broken("the catalog is neither as answered nor as asked for, tables=",
                  actual.tables.size(), " expected=", model_.tables.size());
  } else if (if_done_.has_value()) {
    Probe("ddl.unanswered-undone");
  }
  if_done_.reset();
  if (!catalog_->state()->intents.empty()) return Broken("a half-done change is left");
  RETURN_NOT_OK(CheckLake(machine));
  return CheckTablet();
}

}  // namespace

std::unique_ptr<Workload> MakeDdlWorkload(Machine& machine) {
  return std::make_unique<DdlWorkload>(machine);
}

}  // namespace sluice::sim
