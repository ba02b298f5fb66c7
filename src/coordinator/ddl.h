#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "coordinator/ddl_intents.h"
#include "coordinator/partition_rules.h"
#include "coordinator/settings.h"
#include "coordinator/tablet_link.h"
#include "io/file.h"
#include "io/pool.h"
#include "io/random.h"
#include "io/remote_folder.h"
#include "lake/lake_catalog.h"
#include "meta/catalog.h"
#include "shard/turnstile.h"

namespace sluice::coordinator {

/// Changes of databases, tables and partitions, one at a time.
///
/// Order of a change that touches the lake: intent → lake → catalog (with the intent's removal) →
/// tablet servers. Of one that does not: catalog → tablet servers. The catalog's batch is what
/// makes it true: before it nobody was told of success, so what an intent names is undone, at once
/// or when the lake answers again; after it it is done, and a tablet server that was not told is
/// told again later. Threads: confined to the coordinator's loop; lake
/// and files on the pool.
class Ddl {
 public:
  struct Options {
    meta::Catalog* catalog = nullptr;
    lake::LakeCatalog* lake = nullptr;  ///< Null: no lake.
    io::Loop* loop = nullptr;
    io::Pool* pool = nullptr;
    io::FileSystem* files = nullptr;
    io::Random* random = nullptr;
    const io::Clock* clock = nullptr;
    const ClusterSettings* settings = nullptr;
    io::RemoteFolder remote_folder;  ///< Nothing is removed from it while it is away.
    TabletLink* link = nullptr;
    std::function<void(int64_t table_id)> table_changed;  ///< Created, altered or dropped.
    /// Names the round that tiers the table now, by its epoch.
    std::function<std::optional<int64_t>(int64_t table_id)> round_of;
    std::function<void()> tell_again;  ///< A tablet server was not told; try everything later.
  };
  explicit Ddl(Options options) : options_(std::move(options)) {}

  // Databases. Errors: kInvalidDatabase, kDatabaseAlreadyExist, kDatabaseNotExist,
  // kDatabaseNotEmpty; kUnknownServer for dropping the default database.
  io::Task<Status> CreateDatabase(std::string name, std::optional<std::string> json,
                                  bool ignore_if_exists);
  struct ConfigChange {
    std::string key;
    std::optional<std::string> value;
    int32_t op = 0;  ///< PbAlterConfig.op_type: 0 set, 1 delete, 2 append, 3 subtract.
    /// Errors: kInvalidConfig for what is neither set nor delete: lists exist only in cluster
    /// settings.
    Status Apply(std::map<std::string, std::string>* properties) const;
  };
  io::Task<Status> AlterDatabase(std::string name, std::vector<ConfigChange> changes,
                                 std::optional<std::string> comment, bool ignore_if_not_exists);
  io::Task<Status> DropDatabase(std::string name, bool ignore_if_not_exists, bool cascade);

  /// Errors: those of table_rules.h and the lake; kDatabaseNotExist, kTableAlreadyExist,
  /// kInvalidReplicationFactor.
  io::Task<Status> CreateTable(types::TablePath path, std::string json, bool ignore_if_exists);
  /// The lake table stays. Errors: kTableNotExist.
  io::Task<Status> DropTable(types::TablePath path, bool ignore_if_not_exists);

  struct TableChange {
    std::vector<ConfigChange> configs;
    std::vector<types::Column> add_columns;
    bool misplaced_column = false;     ///< A column is to go elsewhere than to the end.
    bool other_schema_change = false;  ///< Drops, renames or modifies columns.
    bool bucket_count = false;
  };
  /// Errors: kTableNotExist, kInvalidAlterTable, kInvalidConfig, kInvalidTable, kUnknownServer for
  /// schema changes that Fluss cannot do either; the lake's.
  io::Task<Status> AlterTable(types::TablePath path, TableChange change, bool ignore_if_not_exists);

  /// Of a primary-key table the lake must hold nothing of the partition, since no store knows those
  /// keys; a round that may still bring rows of a dropped one of the same name is waited for.
  /// Errors: kTableNotExist, those of partition_rules.h, kPartitionAlreadyExists, kPartitionMaxNum;
  /// kLakeTableAlreadyExist, the lake's, kRequestTimeOut when that round takes too long.
  /// With `still`, nothing happens when the table, as it is when its turn comes, says no.
  using Still = std::function<bool(const meta::TableState& table)>;
  io::Task<Status> CreatePartition(types::TablePath path, PartitionSpec spec, bool ignore_if_exists,
                                   Still still = nullptr);
  /// Errors: kTableNotExist, kTableNotPartitioned, kPartitionSpecInvalid, kPartitionNotExists.
  io::Task<Status> DropPartition(types::TablePath path, PartitionSpec spec,
                                 bool ignore_if_not_exists, Still still = nullptr);

  /// Finish or undo what is half done. What cannot be done now (a lake or server that does not
  /// answer) stays for the next time and is returned as the first error.
  io::Task<Status> Recover();
  /// The same, then tell the tablet servers everything. Errors: the first one.
  io::Task<Status> TellEverything();

 private:
  meta::CatalogStatePtr state() const { return options_.catalog->state(); }
  // A change that touches one name goes on only when nothing half done is left of it.
  io::Task<Status> Settle(types::TablePath path);
  io::Task<Status> RecoverOne(meta::DdlIntent intent);
  io::Task<Status> RecoverCreate(meta::DdlIntent intent);
  io::Task<Status> RecoverAlter(meta::DdlIntent intent);
  io::Task<Status> RecoverDelete(meta::DdlIntent intent);

  Result<types::TableDescriptor> CompleteDescriptor(const std::string& json) const;
  Result<std::vector<meta::BucketState>> Assign(const types::TableDescriptor& descriptor) const;
  // Whether the machine has room for a table, or for a partition of it.
  Status CheckRoom(const types::TableDescriptor& descriptor) const;
  io::Task<Status> CreateInLake(types::TablePath path, CreateIntent create);
  io::Task<Status> FinishCreate(meta::DdlIntent intent);
  io::Task<Status> UndoCreate(meta::DdlIntent intent, Status why);
  io::Task<Status> Register(types::TablePath path, types::TableDescriptor descriptor,
                            std::optional<int64_t> intent);

  Result<types::TableDescriptor> ChangedDescriptor(const meta::TableState& table,
                                                   const TableChange& change) const;
  io::Task<Result<bool>> LakeKnows(meta::TablePtr table, types::TableDescriptor descriptor);
  io::Task<Status> AlterInLake(meta::TablePtr table, AlterIntent alter);
  io::Task<Status> TakeBackInLake(meta::TablePtr table, AlterIntent alter);
  io::Task<Status> UndoAlter(meta::DdlIntent intent, Status why);
  io::Task<Status> CommitAlter(types::TablePath path, types::TableDescriptor descriptor,
                               std::optional<int64_t> intent);

  // What a dropped partition leaves to one of the same name.
  void NoteDropped(const meta::TableState& table, const std::string& partition);
  Status CheckNewPartition(const meta::TableState& table,
                           const std::vector<std::string>& values) const;
  bool RoundMayHold(const meta::TableState& table, const std::string& partition) const;
  io::Task<Status> CheckLakePartition(meta::TablePtr table, types::PartitionInfo partition);
  io::Task<Result<bool>> TryCreatePartition(types::TablePath path, PartitionSpec spec,
                                            bool ignore_if_exists, Still still);

  // The work that a drop leaves behind.
  meta::DdlIntent DeletionOf(const types::TablePath& path, const DeleteIntent& deletion) const;
  void AddDeletion(const meta::TableState& table, const meta::PartitionState* partition,
                   DeleteIntent* out) const;
  io::Task<void> DeleteLeft(int64_t intent_id);
  void LogUntold(const Status& status, const types::TablePath& path);

  Options options_;
  shard::Turnstile turnstile_;
  struct DroppedInRound {
    int64_t round = 0;
    std::set<std::string> partitions;
  };
  std::map<int64_t, DroppedInRound> dropped_;  // By table id; of the newest round with a drop.
};

}  // namespace sluice::coordinator
