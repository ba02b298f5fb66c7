#include "sql/fluss_catalog.h"

#include <algorithm>

#include "sql/fluss_internal.h"

namespace sluice::sql {

FlussTableCatalog::FlussTableCatalog(FlussCatalogOptions options)
    : options_(std::move(options)), admin_(options_.cluster) {
  CHECK(!options_.loops.empty() && options_.views != nullptr);
}
FlussTableCatalog::~FlussTableCatalog() = default;

io::Loop& FlussTableCatalog::NextLoop() {
  return *options_
              .loops[next_loop_.fetch_add(1, std::memory_order_relaxed) % options_.loops.size()];
}

// --- databases ---

Result<std::vector<std::string>> FlussTableCatalog::ListDatabases() {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.ListDatabases(loop));
}
Result<bool> FlussTableCatalog::DatabaseExists(const std::string& database) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.DatabaseExists(loop, database));
}
Status FlussTableCatalog::CreateDatabase(const std::string& database,
                                         const types::DatabaseDescriptor& descriptor,
                                         bool if_not_exists) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop,
                              admin_.CreateDatabase(loop, database, descriptor, if_not_exists));
}
Status FlussTableCatalog::DropDatabase(const std::string& database, bool if_exists, bool cascade) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.DropDatabase(loop, database, if_exists, cascade));
}

// --- tables ---

Result<std::vector<std::string>> FlussTableCatalog::ListTables(const std::string& database) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.ListTables(loop, database));
}
Result<types::TableInfo> FlussTableCatalog::GetTable(const types::TablePath& path) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.GetTable(loop, path));
}
Status FlussTableCatalog::CreateTable(const types::TablePath& path,
                                      const types::TableDescriptor& descriptor,
                                      bool if_not_exists) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.CreateTable(loop, path, descriptor, if_not_exists));
}
Status FlussTableCatalog::DropTable(const types::TablePath& path, bool if_exists) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.DropTable(loop, path, if_exists));
}
Status FlussTableCatalog::AlterTable(const types::TablePath& path, const TableChanges& changes,
                                     bool if_exists) {
  if (!changes.drop_columns.empty() || !changes.rename_columns.empty()) {
    return Error(ErrorCode::kInvalidAlterTable,
                 "columns cannot be dropped or renamed, table=", path);
  }
  client::TableChange change{
      .set = changes.set, .reset = changes.reset, .add_columns = changes.add_columns};
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.AlterTable(loop, path, std::move(change), if_exists));
}

Result<std::vector<types::PartitionInfo>> FlussTableCatalog::ListPartitions(
    const types::TablePath& path) {
  io::Loop& loop = NextLoop();
  client::PartitionSpec all;
  return interruption()->Wait(loop, admin_.ListPartitions(loop, path, std::move(all)));
}
Status FlussTableCatalog::CreatePartition(const types::TablePath& path,
                                          const std::map<std::string, std::string>& spec,
                                          bool if_not_exists) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.CreatePartition(loop, path, spec, if_not_exists));
}
Status FlussTableCatalog::DropPartition(const types::TablePath& path,
                                        const std::map<std::string, std::string>& spec,
                                        bool if_exists) {
  io::Loop& loop = NextLoop();
  return interruption()->Wait(loop, admin_.DropPartition(loop, path, spec, if_exists));
}

// --- views ---

Result<std::vector<std::string>> FlussTableCatalog::ListViews(const std::string& database) {
  return options_.views->List(database);
}
Result<std::optional<ViewInfo>> FlussTableCatalog::FindView(const types::TablePath& path) {
  return options_.views->Find(path);
}
Status FlussTableCatalog::CreateView(const ViewInfo& view, bool if_not_exists) {
  const Status created = options_.views->Create(view);
  return if_not_exists && CodeOf(created) == ErrorCode::kTableAlreadyExist ? Status::OK() : created;
}
Status FlussTableCatalog::DropView(const types::TablePath& path, bool if_exists) {
  const Status dropped = options_.views->Drop(path);
  return if_exists && CodeOf(dropped) == ErrorCode::kTableNotExist ? Status::OK() : dropped;
}

// --- reading ---

namespace {

std::vector<SourceColumn> ColumnsOfSchema(const types::Schema& schema) {
  std::vector<SourceColumn> columns;
  for (const types::Column& column : schema.columns) columns.push_back({column.name, column.type});
  return columns;
}

// Lakes declare every TIME with whole seconds, though values keep their milliseconds: the table
// itself knows better.
types::DataTypePtr WithTimesOf(const types::DataTypePtr& lake, const types::DataType& own) {
  if (lake->kind() != own.kind()) return lake;
  const bool nullable = lake->nullable();
  switch (lake->kind()) {
    case types::TypeKind::kTime:
      return types::DataType::Time(own.precision(), nullable);
    case types::TypeKind::kArray:
      return types::DataType::Array(WithTimesOf(lake->element(), *own.element()), nullable);
    case types::TypeKind::kMap:
      return types::DataType::Map(WithTimesOf(lake->key(), *own.key()),
                                  WithTimesOf(lake->value(), *own.value()), nullable);
    case types::TypeKind::kRow: {
      std::vector<types::RowField> fields = lake->fields();
      for (size_t i = 0; i < fields.size() && i < own.fields().size(); ++i)
        fields[i].type = WithTimesOf(fields[i].type, *own.fields()[i].type);
      return types::DataType::Row(std::move(fields), nullable);
    }
    default:
      return lake;
  }
}

// The system columns are there for those who name them. `own`: the table's, as far as it has them.
std::vector<SourceColumn> ColumnsOfLake(const lake::LakeSchema& schema,
                                        const std::vector<SourceColumn>& own) {
  std::vector<SourceColumn> columns;
  for (const types::Column& column : schema.columns) {
    const bool system = column.name == lake::kBucketColumn || column.name == lake::kOffsetColumn ||
                        column.name == lake::kTimestampColumn;
    const auto known = std::ranges::find(own, column.name, &SourceColumn::name);
    const types::DataTypePtr type =
        known == own.end() ? column.type : WithTimesOf(column.type, *known->type);
    columns.push_back({column.name, type, system});
  }
  return columns;
}

}  // namespace

Result<std::shared_ptr<lake::LakeTable>> FlussTableCatalog::OpenLake(const types::TablePath& path) {
  if (options_.lake == nullptr && options_.lake_status.ok())
    return Error(ErrorCode::kLakeStorageNotConfigured, "no lake is configured, table=", path);
  if (options_.lake == nullptr) {
    return Error(ErrorCode::kLakeStorageNotConfigured,
                 "lake of the table cannot be read from here, table=", path,
                 " reason=", options_.lake_status.message());
  }
  ASSIGN_OR_RAISE(std::unique_ptr<lake::LakeTable> table, options_.lake->OpenTable(path));
  return std::shared_ptr<lake::LakeTable>(std::move(table));
}

Result<std::vector<SourceColumn>> FlussTableCatalog::LakeColumns(const TableRef& ref,
                                                                 const lake::LakeTable& table) {
  const auto own = GetTable(ref.path);
  const ErrorCode code = CodeOf(own.status());
  // A lake may hold tables of others, and of those that were dropped.
  if (!own.ok() && code != ErrorCode::kTableNotExist && code != ErrorCode::kDatabaseNotExist)
    return own.status();
  return ColumnsOfLake(table.schema(), own.ok() ? ColumnsOfSchema(own->descriptor.schema)
                                                : std::vector<SourceColumn>());
}

Result<std::vector<SourceColumn>> FlussTableCatalog::Columns(const TableRef& ref) {
  if (ref.part == TablePart::kUnion) {
    ASSIGN_OR_RAISE(const types::TableInfo table, GetTable(ref.path));
    return ColumnsOfSchema(table.descriptor.schema);
  }
  if (ref.part == TablePart::kLakeTiering) {
    RETURN_NOT_OK(GetTable(ref.path));
    return LakeStateColumns();
  }
  ASSIGN_OR_RAISE(const auto table, OpenLake(ref.path));
  if (ref.part == TablePart::kLake) return LakeColumns(ref, *table);
  ASSIGN_OR_RAISE(const std::vector<types::Column> columns, lake::SystemTableColumns("snapshots"));
  std::vector<SourceColumn> result;
  for (const types::Column& column : columns) result.push_back({column.name, column.type});
  return result;
}

namespace {

Result<std::shared_ptr<TableView>> ViewOfLake(const TableRef& ref,
                                              std::vector<SourceColumn> columns,
                                              std::shared_ptr<lake::LakeTable> table,
                                              const FlussCatalogOptions& options) {
  std::optional<lake::LakeSnapshot> snapshot;
  if (ref.as_of_ms) {
    ASSIGN_OR_RAISE(snapshot, table->SnapshotAtTime(*ref.as_of_ms));
  } else if (ref.as_of_snapshot) {
    ASSIGN_OR_RAISE(snapshot, table->SnapshotById(*ref.as_of_snapshot));
  } else {
    ASSIGN_OR_RAISE(snapshot, table->LatestSnapshot());
  }
  if (!snapshot) {
    return MakeLakeView(std::move(columns), std::move(table), std::nullopt, nullptr,
                        options.passing);
  }
  ASSIGN_OR_RAISE(auto pin, LakePin::Take(table, ref.path, snapshot->id, *options.unpinned));
  auto plan = table->Plan(*snapshot, {});
  if (!plan.ok()) return LakeError(*table, plan.status());
  return MakeLakeView(std::move(columns), std::move(table), *std::move(plan), std::move(pin),
                      options.passing);
}

}  // namespace

// The lake must have what the cluster recorded: a folder that lost its snapshots is not empty.
Status FlussTableCatalog::CheckNewest(const types::TablePath& path, lake::LakeTable& table) {
  io::Loop& loop = NextLoop();
  const auto recorded =
      interruption()->Wait(loop, admin_.GetLakeSnapshot(loop, path, std::nullopt, false));
  const ErrorCode code = CodeOf(recorded.status());
  if (code == ErrorCode::kLakeSnapshotNotExist || code == ErrorCode::kLakeStorageNotConfigured ||
      code == ErrorCode::kTableNotExist || code == ErrorCode::kDatabaseNotExist) {
    return Status::OK();  // Never tiered, or a table of the lake alone.
  }
  RETURN_NOT_OK(recorded);
  ASSIGN_OR_RAISE(const auto newest, table.LatestSnapshot());
  if (newest.has_value() && newest->id >= recorded->snapshot_id) return Status::OK();
  return Error(ErrorCode::kLakeSnapshotNotExist, "lake table has lost its snapshot table=", path,
               " snapshot=", recorded->snapshot_id);
}

Result<std::shared_ptr<TableView>> FlussTableCatalog::View(const TableRef& ref,
                                                           const std::vector<SourceColumn>& bound,
                                                           int scans) {
  if (ref.part == TablePart::kLakeTiering) {
    if (!options_.lake_state) {
      return Error(ErrorCode::kLakeStorageNotConfigured,
                   "state of tiering is known in the server alone, table=", ref.path);
    }
    ASSIGN_OR_RAISE(const LakeState state, options_.lake_state(ref.path));
    ASSIGN_OR_RAISE(auto rows, LakeStateRows(state));
    return MakeBatchView(bound, std::move(rows));
  }
  if (ref.part == TablePart::kLakeSnapshots) {
    ASSIGN_OR_RAISE(const auto table, OpenLake(ref.path));
    ASSIGN_OR_RAISE(auto rows, table->SystemTable("snapshots"));
    return MakeBatchView(bound, std::move(rows));
  }
  if (ref.part == TablePart::kLake) {
    ASSIGN_OR_RAISE(auto table, OpenLake(ref.path));
    if (!ref.as_of_ms && !ref.as_of_snapshot) RETURN_NOT_OK(CheckNewest(ref.path, *table));
    auto columns = ColumnsOfLake(table->schema(), bound);
    return ViewOfLake(ref, std::move(columns), std::move(table), options_);
  }

  UnionPlanner planner{.cluster = options_.cluster,
                       .loop = NextLoop(),
                       .interruption = interruption(),
                       .unpinned = *options_.unpinned,
                       .memory = options_.memory,
                       .passing = options_.passing,
                       .planned_anew = options_.planned_anew,
                       .scans = scans};
  planner.open_lake = [this](const types::TablePath& path) { return OpenLake(path); };
  ASSIGN_OR_RAISE(auto read, planner.Plan(ref.path));
  return MakeUnionView(std::move(read));
}

Result<std::unique_ptr<TableSink>> FlussTableCatalog::OpenSink(const types::TablePath& path,
                                                               const SinkOptions& options) {
  ASSIGN_OR_RAISE(const types::TableInfo table, GetTable(path));
  return MakeFlussSink(options_.cluster, NextLoop(), interruption(), table, options);
}

}  // namespace sluice::sql
