#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/testing.h"
#include "coordinator/coordinator.h"
#include "coordinator/fakes_testing.h"
#include "io/remote_folder.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/cluster.pb.h"
#include "wire/proto/database.pb.h"
#include "wire/proto/lake.pb.h"
#include "wire/proto/partition.pb.h"
#include "wire/proto/table.pb.h"

// For the tests of this module: a coordinator in simulated time.
namespace sluice::coordinator {

class Harness {
 public:
  explicit Harness(uint64_t seed = 1)
      : world(seed),
        files(world.clock()),
        store(power),
        lake(power),
        tablet(std::make_shared<FakeTablet>(power)),
        client_loop_(world.NewLoop()),
        coordinator_loop_(world.NewLoop()),
        pool_(world.NewPool({.name = "meta", .threads = 2})) {
    settings.lake_format = "paimon";
    settings.lake_enabled = true;
    settings.remote_data_dir = "/remote";
    EXPECT_OK(io::RemoteFolder(settings.remote_data_dir).Open(files, /*may_make=*/true));
  }
  ~Harness() { Stop(); }

  void Start() {
    auto opened = meta::Catalog::Open(store, world.clock());
    ASSERT_OK(opened);
    catalog = *std::move(opened);
    coordinator = std::make_unique<Coordinator>(Coordinator::Options{
        .catalog = catalog.get(),
        .lake = with_lake ? &lake : nullptr,
        .loop = &coordinator_loop_,
        .pool = pool_.get(),
        .files = &files,
        .clock = &world.clock(),
        .random = &world.random(),
        .settings = settings,
        .address = {.host = "localhost", .port = 9123},
        .tablet_servers = {
            {.id = 0, .host = "localhost", .port = 9124, .listeners = "", .transport = tablet}}});
    ASSERT_OK(Wait(coordinator->Start(client_loop_)));
  }
  void Stop() {
    if (coordinator == nullptr) return;
    Wait(Stopped());
    coordinator.reset();
    catalog.reset();
  }
  /// Kill and start: power comes back, the tablet server has forgotten its roles.
  void Restart() {
    Stop();
    power.on = true;
    tablet->Restart();
    Start();
  }

  template <typename T>
  T Wait(io::Task<T> task) {
    return io::SyncWait(client_loop_, std::move(task));
  }
  template <typename Response = wire::CreateTableResponse, typename Request>
  Result<Response> Call(wire::ApiKey key, const Request& request) {
    io::Call call{.api_key = static_cast<int16_t>(key), .body = wire::Serialize(request)};
    auto reply = Wait(coordinator->Handle(client_loop_, std::make_shared<const io::Principal>(),
                                          std::move(call)));
    if (!reply.ok()) return reply.status();
    ASSIGN_OR_RAISE(const std::string body, reply->Flatten());
    return wire::ParseMessage<Response>(body);
  }
  meta::CatalogStatePtr state() const { return catalog->state(); }
  io::Loop& client_loop() { return client_loop_; }

  // Short forms of the calls.
  Status CreateTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                     bool ignore = false) {
    wire::CreateTableRequest request;
    SetPath(path, request.mutable_table_path());
    request.set_table_json(descriptor.ToJson());
    request.set_ignore_if_exists(ignore);
    return Call(wire::ApiKey::kCreateTable, request).status();
  }
  Status DropTable(const types::TablePath& path, bool ignore = false) {
    wire::DropTableRequest request;
    SetPath(path, request.mutable_table_path());
    request.set_ignore_if_not_exists(ignore);
    return Call(wire::ApiKey::kDropTable, request).status();
  }
  static wire::AlterTableRequest Alter(const types::TablePath& path) {
    wire::AlterTableRequest request;
    SetPath(path, request.mutable_table_path());
    request.set_ignore_if_not_exists(false);
    return request;
  }
  Status SetOption(const types::TablePath& path, const std::string& key, const std::string& value) {
    wire::AlterTableRequest request = Alter(path);
    auto* config = request.add_config_changes();
    config->set_config_key(key);
    config->set_config_value(value);
    config->set_op_type(0);
    return Call(wire::ApiKey::kAlterTable, request).status();
  }
  Status AddColumn(const types::TablePath& path, const std::string& name,
                   const types::DataTypePtr& type) {
    wire::AlterTableRequest request = Alter(path);
    auto* column = request.add_add_columns();
    column->set_column_name(name);
    column->set_data_type_json(type->ToJson());
    column->set_column_position_type(0);
    return Call(wire::ApiKey::kAlterTable, request).status();
  }
  using Spec = std::vector<std::pair<std::string, std::string>>;
  Status CreatePartition(const types::TablePath& path, const Spec& spec, bool ignore = false) {
    wire::CreatePartitionRequest request;
    SetPath(path, request.mutable_table_path());
    SetSpec(spec, request.mutable_partition_spec());
    request.set_ignore_if_not_exists(ignore);
    return Call(wire::ApiKey::kCreatePartition, request).status();
  }
  Status DropPartition(const types::TablePath& path, const Spec& spec, bool ignore = false) {
    wire::DropPartitionRequest request;
    SetPath(path, request.mutable_table_path());
    SetSpec(spec, request.mutable_partition_spec());
    request.set_ignore_if_not_exists(ignore);
    return Call(wire::ApiKey::kDropPartition, request).status();
  }
  Status CreateDatabase(const std::string& name, bool ignore = false) {
    wire::CreateDatabaseRequest request;
    request.set_database_name(name);
    request.set_ignore_if_exists(ignore);
    return Call(wire::ApiKey::kCreateDatabase, request).status();
  }
  Status DropDatabase(const std::string& name, bool cascade, bool ignore = false) {
    wire::DropDatabaseRequest request;
    request.set_database_name(name);
    request.set_cascade(cascade);
    request.set_ignore_if_not_exists(ignore);
    return Call(wire::ApiKey::kDropDatabase, request).status();
  }

  static void SetPath(const types::TablePath& path, wire::PbTablePath* out) {
    out->set_database_name(path.database);
    out->set_table_name(path.table);
  }
  static void SetSpec(const Spec& spec, wire::PbPartitionSpec* out) {
    for (const auto& [key, value] : spec) {
      auto* pair = out->add_partition_key_values();
      pair->set_key(key);
      pair->set_value(value);
    }
  }

  Power power;
  io::SimWorld world;
  io::SimFileSystem files;
  PoweredStore store;
  FakeLake lake;
  std::shared_ptr<FakeTablet> tablet;
  ClusterSettings settings;
  bool with_lake = true;
  std::unique_ptr<meta::Catalog> catalog;
  std::unique_ptr<Coordinator> coordinator;

 private:
  io::Task<bool> Stopped() {
    co_await coordinator->Stop(client_loop_);
    co_return true;
  }
  io::Loop& client_loop_;
  io::Loop& coordinator_loop_;
  std::unique_ptr<io::Pool> pool_;
};

/// An append table: id INT, name STRING.
inline types::TableDescriptor LogTable() {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = {
      {.name = "id", .type = types::DataType::Of(types::TypeKind::kInteger)},
      {.name = "name", .type = types::DataType::Of(types::TypeKind::kString)}};
  return descriptor;
}
inline types::TableDescriptor KeyTable() {
  types::TableDescriptor descriptor = LogTable();
  descriptor.schema.primary_key = {"id"};
  return descriptor;
}
inline types::TableDescriptor PartitionedTable() {
  types::TableDescriptor descriptor = LogTable();
  descriptor.partition_keys = {"name"};
  return descriptor;
}
inline types::TableDescriptor InLake(types::TableDescriptor descriptor) {
  descriptor.properties["table.datalake.enabled"] = "true";
  return descriptor;
}

}  // namespace sluice::coordinator
