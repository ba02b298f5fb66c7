#include <algorithm>
#include <mutex>

#include "io/crash_point.h"
#include "lake/lake_catalog.h"
#include "lake/paimon/durable_file.h"
#include "lake/paimon/fluss_table.h"
#include "lake/paimon/paimon_table.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/schema_json.h"
#include "lake/paimon/schema_store.h"
#include "lake/paimon/snapshot_store.h"
#include "lake/paimon/writer_session.h"

namespace sluice::lake {
namespace paimon {
namespace {

constexpr std::string_view kDatabaseSuffix = ".db";
constexpr int kAlterAttemptsMax = 20;
// Who meets the table of a dropped one.
constexpr std::string_view kLakeTableStays =
    ", it stays when the table is dropped: take another name, or remove it from the lake";

/// Tables as folders below a warehouse folder (Java's FileSystemCatalog).
class PaimonCatalog : public LakeCatalog {
 public:
  PaimonCatalog(const LakeCatalogOptions& options, std::string warehouse)
      : services_{options.files, options.clock, options.random},
        files_(*options.files),
        warehouse_(std::move(warehouse)) {}

  // Warehouses of others have no mark.
  Status Find() {
    ASSIGN_OR_RAISE(const bool there, files_.Exists(warehouse_));
    if (there) return Status::OK();
    return Error(ErrorCode::kInvalidConfig,
                 "warehouse is not there, datalake.paimon.warehouse=", warehouse_);
  }

  // An empty mount point looks like a new warehouse, so a mark tells one that was made.
  Status FindOrMake(bool may_make) {
    ASSIGN_OR_RAISE(const bool made, files_.Exists(Mark()));
    if (made) return Status::OK();
    if (!may_make) return Gone(ErrorCode::kInvalidConfig);
    Status written = files_.MakeFolders(warehouse_);
    if (written.ok()) written = files_.ReplaceFile(Mark(), "");
    if (written.ok()) return written;
    return Error(ErrorCode::kInvalidConfig,
                 "warehouse cannot be written, datalake.paimon.warehouse=", warehouse_,
                 " reason=", written.message());
  }

  // Fails at start rather than at the first table when nothing can be written.
  Status CheckWritable() {
    const std::string probe =
        io::JoinPath(warehouse_, ".probe." + OwnName(*services_.random) + ".tmp");
    Status written = WriteSynced(files_, probe, "");
    // What commits rest on.
    if (written.ok()) written = files_.RenameIfAbsent(probe, probe + "2").status();
    if (written.ok()) written = files_.Remove(probe + "2");
    if (written.ok()) return written;
    return Error(ErrorCode::kInvalidConfig,
                 "warehouse cannot be written, datalake.paimon.warehouse=", warehouse_,
                 " reason=", written.message());
  }

  Status Validate(const types::TableDescriptor& descriptor) const override {
    return ValidateForLake(descriptor);
  }

  Result<Taken> CreateTable(const types::TablePath& path, const types::TableDescriptor& descriptor,
                            bool must_be_empty, std::optional<int64_t> made_ms) override {
    ASSIGN_OR_RAISE(const LakeSchema wanted,
                    LakeSchemaOf(descriptor, made_ms.value_or(services_.clock->NowMs())));
    const TablePaths paths(LocationOf(path));
    ASSIGN_OR_RAISE(const bool made, files_.Exists(Mark()));
    if (!made) return Gone(ErrorCode::kStorage);
    const Status folder = files_.MakeFoldersBelow(warehouse_, paths.SchemaFolder());
    if (io::IsNotFound(folder)) return Gone(ErrorCode::kStorage);
    RETURN_NOT_OK(folder);
    RETURN_NOT_OK(SyncFolders(files_, warehouse_, paths.SchemaFolder()));
    CRASH_POINT("lake.create.before-schema");
    SchemaStore schemas(files_, paths);
    ASSIGN_OR_RAISE(const auto ids, schemas.Ids());
    if (ids.empty()) {
      ASSIGN_OR_RAISE(const bool created, PutFileIfAbsent(files_, OwnName(*services_.random),
                                                          paths.Schema(0), SchemaToJson(wanted)));
      CRASH_POINT("lake.create.after-schema");
      if (created) return Taken::kCreated;
    }
    ASSIGN_OR_RAISE(const auto existing, schemas.Latest());
    RETURN_NOT_OK(CheckTakeUp(path, paths, *existing, wanted, must_be_empty));
    return Taken::kExisted;
  }

  Status AlterTable(const types::TablePath& path, const std::vector<LakeChange>& changes) override {
    const TablePaths paths(LocationOf(path));
    SchemaStore schemas(files_, paths);
    for (int attempt = 0; attempt < kAlterAttemptsMax; ++attempt) {
      ASSIGN_OR_RAISE(const auto latest, schemas.Latest());
      ASSIGN_OR_RAISE(const SchemaEdit edit, EditOf(*latest, changes));
      if (edit.added.empty() && edit.set_options.empty() && edit.reset_options.empty())
        return Status::OK();
      ASSIGN_OR_RAISE(const std::string text, schemas.Text(latest->id));
      ASSIGN_OR_RAISE(const std::string edited, EditSchemaJson(text, edit));
      CRASH_POINT("lake.alter.before-schema");
      ASSIGN_OR_RAISE(const bool put, PutFileIfAbsent(files_, OwnName(*services_.random),
                                                      paths.Schema(edit.id), edited));
      CRASH_POINT("lake.alter.after-schema");
      if (put) return Status::OK();
    }
    return ChangedTooOften(path);
  }

  // By a version more and never by removing one: a round that opened the table meanwhile has files
  // of the changed one, which its snapshot will name.
  Status TakeBackAlter(const types::TablePath& path,
                       const std::vector<LakeChange>& changes) override {
    const TablePaths paths(LocationOf(path));
    SchemaStore schemas(files_, paths);
    for (int attempt = 0; attempt < kAlterAttemptsMax; ++attempt) {
      ASSIGN_OR_RAISE(const auto ids, schemas.Ids());
      if (ids.size() < 2) return Status::OK();
      ASSIGN_OR_RAISE(const auto latest, schemas.ById(ids.back()));
      ASSIGN_OR_RAISE(const auto before, schemas.ById(ids[ids.size() - 2]));
      if (!HasAll(*latest, changes) || HasAll(*before, changes)) return Status::OK();
      ASSIGN_OR_RAISE(const std::string latest_text, schemas.Text(latest->id));
      ASSIGN_OR_RAISE(const std::string before_text, schemas.Text(before->id));
      ASSIGN_OR_RAISE(
          const std::string restored,
          RestoreSchemaJson(before_text, latest_text, latest->id + 1, services_.clock->NowMs()));
      ASSIGN_OR_RAISE(const bool put, PutFileIfAbsent(files_, OwnName(*services_.random),
                                                      paths.Schema(latest->id + 1), restored));
      if (put) return Status::OK();
    }
    return ChangedTooOften(path);
  }

  Result<bool> RemoveMade(const types::TablePath& path, const types::TableDescriptor& descriptor,
                          int64_t made_ms) override {
    const TablePaths paths(LocationOf(path));
    SchemaStore schemas(files_, paths);
    ASSIGN_OR_RAISE(const auto versions, schemas.Ids());
    if (versions.empty()) return true;
    if (versions != std::vector<int64_t>{0}) return false;
    ASSIGN_OR_RAISE(const std::string found, schemas.Text(0));
    const auto made = LakeSchemaOf(descriptor, made_ms);
    if (!made.ok() || found != SchemaToJson(*made)) return false;
    SnapshotStore snapshots(files_, paths);
    ASSIGN_OR_RAISE(const auto ids, snapshots.Ids());
    if (!ids.empty()) return false;
    RETURN_NOT_OK(files_.RemoveTree(paths.location()));
    const Status synced = files_.SyncFolder(io::FolderOf(paths.location()));
    if (!synced.ok() && !io::IsNotFound(synced)) return synced;
    return true;
  }

  Result<bool> TableExists(const types::TablePath& path) override {
    ASSIGN_OR_RAISE(const auto ids,
                    ListIds(files_, TablePaths(LocationOf(path)).SchemaFolder(), "schema-"));
    return !ids.empty();
  }

  Status CheckPartitionEmpty(const types::TablePath& path,
                             const std::vector<std::string>& values) override {
    ASSIGN_OR_RAISE(const bool made, files_.Exists(Mark()));
    if (!made) return Gone(ErrorCode::kStorage);
    ASSIGN_OR_RAISE(const bool exists, TableExists(path));
    if (!exists) return Status::OK();
    ASSIGN_OR_RAISE(const auto table, OpenTable(path));
    ASSIGN_OR_RAISE(const auto snapshot, table->LatestSnapshot());
    if (!snapshot.has_value()) return Status::OK();
    const std::vector<std::string>& keys = table->schema().partition_keys;
    if (keys.size() != values.size()) {
      return Error(ErrorCode::kInvalidTable,
                   "lake table has other partition columns, table=", path.ToString(),
                   " path=", table->location());
    }
    PlanOptions wanted;
    for (size_t i = 0; i < keys.size(); ++i) wanted.partition[keys[i]] = values[i];
    ASSIGN_OR_RAISE(const LakePlan plan, table->Plan(*snapshot, wanted));
    if (plan.splits.empty()) return Status::OK();
    return Error(ErrorCode::kLakeTableAlreadyExist,
                 "lake table holds rows of the partition, table=", path.ToString(),
                 " partition=", types::PartitionInfo{.values = values}.Name(),
                 " path=", table->location(), " snapshot=", snapshot->id);
  }

  Result<std::unique_ptr<LakeTable>> OpenTable(const types::TablePath& path) override {
    const std::string location = LocationOf(path);
    const auto share_of = [&](const LakeSchema& newest) { return ShareAt(location, newest); };
    return OpenPaimonTable(services_, path, location, share_of);
  }

  void Trim(std::chrono::nanoseconds pins_unused) override {
    for (const auto& share : Shares()) share->Trim(pins_unused);
    const std::lock_guard lock(mutex_);
    std::erase_if(shares_, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->empty();
    });
  }

  Result<std::vector<std::string>> ListDatabases() override {
    ASSIGN_OR_RAISE(auto names, ListNames(files_, warehouse_));
    std::erase_if(names, [](const std::string& name) {
      return !name.ends_with(kDatabaseSuffix) || name.size() == kDatabaseSuffix.size();
    });
    for (std::string& name : names) name.resize(name.size() - kDatabaseSuffix.size());
    return names;
  }

  Result<std::vector<std::string>> ListTables(const std::string& database) override {
    ASSIGN_OR_RAISE(
        const auto names,
        ListNames(files_, io::JoinPath(warehouse_, database + std::string(kDatabaseSuffix))));
    std::vector<std::string> tables;
    for (const std::string& name : names) {
      ASSIGN_OR_RAISE(const bool exists, TableExists({database, name}));
      if (exists) tables.push_back(name);
    }
    return tables;
  }

  const std::string& warehouse() const override { return warehouse_; }

 private:
  std::string Mark() const { return io::JoinPath(warehouse_, ".sluice-warehouse"); }
  Status Gone(ErrorCode code) const {
    return Error(code,
                 "warehouse is gone, is its disk mounted? datalake.paimon.warehouse=", warehouse_,
                 " missing=", Mark());
  }

  static Status ChangedTooOften(const types::TablePath& path) {
    return Error(ErrorCode::kStorage,
                 "lake table is changed by others too often, table=", path.ToString());
  }

  std::string LocationOf(const types::TablePath& path) const {
    return io::JoinPath(io::JoinPath(warehouse_, path.database + std::string(kDatabaseSuffix)),
                        path.table);
  }

  Status CheckTakeUp(const types::TablePath& path, const TablePaths& paths,
                     const LakeSchema& existing, const LakeSchema& wanted, bool must_be_empty) {
    if (const std::string difference = DifferenceOf(existing, wanted); !difference.empty()) {
      return Error(ErrorCode::kLakeTableAlreadyExist,
                   "lake table exists and is not the same, table=", path.ToString(),
                   " path=", paths.location(), " ", difference, kLakeTableStays);
    }
    if (!must_be_empty) return Status::OK();
    SnapshotStore snapshots(files_, paths);
    ASSIGN_OR_RAISE(const auto ids, snapshots.Ids());
    if (ids.empty()) return Status::OK();
    return Error(ErrorCode::kLakeTableAlreadyExist,
                 "lake table exists and is not empty, table=", path.ToString(),
                 " path=", paths.location(), " snapshot=", ids.back(), kLakeTableStays);
  }

  bool HasAll(const LakeSchema& schema, const std::vector<LakeChange>& changes) const {
    const auto edit = EditOf(schema, changes);
    return edit.ok() && edit->added.empty() && edit->set_options.empty() &&
           edit->reset_options.empty();
  }

  // What of the changes is still to be done.
  Result<SchemaEdit> EditOf(const LakeSchema& latest,
                            const std::vector<LakeChange>& changes) const {
    SchemaEdit edit;
    edit.id = latest.id + 1;
    edit.time_ms = services_.clock->NowMs();
    for (const LakeChange& change : changes) {
      if (change.kind == LakeChange::Kind::kAddColumn) {
        RETURN_NOT_OK(AddColumn(latest, change.column, &edit));
      } else {
        RETURN_NOT_OK(ChangeOption(latest, change, &edit));
      }
    }
    return edit;
  }

  static Status AddColumn(const LakeSchema& latest, const types::Column& column, SchemaEdit* edit) {
    RETURN_NOT_OK(ValidateColumnName(column.name));
    types::Column added{column.name, LakeTypeOf(column.type), column.comment};
    if (!added.type->nullable()) {
      return Error(ErrorCode::kInvalidAlterTable,
                   "column added to a lake table must be nullable, column=", column.name);
    }
    const int at = latest.IndexOf(column.name);
    if (at < 0) {
      edit->added.push_back(std::move(added));
      return Status::OK();
    }
    if (latest.columns[static_cast<size_t>(at)].type->ToString() == added.type->ToString())
      return Status::OK();
    return Error(ErrorCode::kInvalidAlterTable,
                 "lake table has a column of this name and another type, column=", column.name,
                 " lake_type=", latest.columns[static_cast<size_t>(at)].type->ToString());
  }

  static Status ChangeOption(const LakeSchema& latest, const LakeChange& change, SchemaEdit* edit) {
    const auto name = LakeOptionName(change.key);
    if (!name.has_value()) return Status::OK();
    if (*name == "path") {
      return Error(ErrorCode::kInvalidAlterTable,
                   "path of a lake table is fixed at its creation, option=", change.key);
    }
    if (IsImmutableOption(*name)) {
      return Error(ErrorCode::kInvalidConfig,
                   "option of a lake table cannot be changed, option=", change.key);
    }
    if (change.kind == LakeChange::Kind::kSetOption)
      RETURN_NOT_OK(CheckSupported({{*name, change.value}}));
    const auto old = latest.options.find(*name);
    if (change.kind == LakeChange::Kind::kResetOption) {
      if (old != latest.options.end()) edit->reset_options.push_back(*name);
    } else if (old == latest.options.end() || old->second != change.value) {
      edit->set_options[*name] = change.value;
    }
    return Status::OK();
  }

  std::vector<std::shared_ptr<TableShare>> Shares() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<TableShare>> all;
    for (const auto& [location, share] : shares_) all.push_back(share);
    return all;
  }

  std::shared_ptr<TableShare> ShareAt(const std::string& location, const LakeSchema& newest) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<TableShare>& share = shares_[location];
    if (share == nullptr || !share->IsOf(newest)) {
      share = std::make_shared<TableShare>(files_, *services_.clock, *services_.random, location);
      share->IsOf(newest);
    }
    return share;
  }

  TableServices services_;
  io::FileSystem& files_;
  std::string warehouse_;
  std::mutex mutex_;                                           // Guards what follows.
  std::map<std::string, std::shared_ptr<TableShare>> shares_;  // By the table's place.
};

// "file:/a" and "file:///a" are the folder /a.
std::string WithoutScheme(std::string warehouse) {
  if (warehouse.starts_with("file:")) {
    warehouse.erase(0, 5);
    while (warehouse.starts_with("//")) warehouse.erase(0, 1);
  }
  while (warehouse.size() > 1 && warehouse.ends_with('/')) warehouse.pop_back();
  return warehouse;
}

}  // namespace
}  // namespace paimon

LakeChange LakeChange::AddColumn(types::Column column) {
  return {Kind::kAddColumn, std::move(column), "", ""};
}
LakeChange LakeChange::SetOption(std::string key, std::string value) {
  return {Kind::kSetOption, {}, std::move(key), std::move(value)};
}
LakeChange LakeChange::ResetOption(std::string key) {
  return {Kind::kResetOption, {}, std::move(key), ""};
}

Result<std::unique_ptr<LakeCatalog>> LakeCatalog::Open(LakeCatalogOptions options) {
  const auto property = [&](const std::string& key) {
    const auto at = options.properties.find(key);
    return at == options.properties.end() ? "" : at->second;
  };
  if (options.format != "paimon") {
    return Error(ErrorCode::kInvalidConfig,
                 "lake format is not supported, datalake.format=", options.format);
  }
  if (const std::string metastore = property("metastore");
      !metastore.empty() && metastore != "filesystem") {
    return Error(ErrorCode::kInvalidConfig,
                 "metastore is not supported, datalake.paimon.metastore=", metastore);
  }
  std::string warehouse = paimon::WithoutScheme(property("warehouse"));
  if (warehouse.empty())
    return Error(ErrorCode::kInvalidConfig, "datalake.paimon.warehouse is not set");
  if (warehouse.find("://") != std::string::npos) {
    return Error(ErrorCode::kInvalidConfig,
                 "warehouse must be a local folder, datalake.paimon.warehouse=", warehouse);
  }
  auto catalog = std::make_unique<paimon::PaimonCatalog>(options, std::move(warehouse));
  if (options.read_only) {
    RETURN_NOT_OK(catalog->Find());
    return catalog;
  }
  RETURN_NOT_OK(catalog->FindOrMake(options.may_make_warehouse));
  RETURN_NOT_OK(catalog->CheckWritable());
  return catalog;
}

}  // namespace sluice::lake
