#include "app/data_folder_check.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "app/settings.h"
#include "coordinator/ddl_intents.h"
#include "kv/key_store.h"
#include "log/checkpoint.h"
#include "meta/catalog.h"
#include "meta/rocks_store.h"

namespace sluice::app {
namespace {

using log::Finding;

// Folders of the data folder that hold no tables.
constexpr const char* kOtherFolders[] = {kMetadataFolder, kSpillFolder};
constexpr const char* kLockFiles[] = {kDataLockFile, ".lock"};

struct NameAndId {
  std::string name;
  int64_t id;
};

// "orders-7" as ("orders", 7) behind the separator "-"; nothing when there is no number.
std::optional<NameAndId> SplitId(const std::string& text, std::string_view separator) {
  const size_t at = text.rfind(separator);
  if (at == std::string::npos) return std::nullopt;
  const char* digits = text.data() + at + separator.size();
  const char* end = text.data() + text.size();
  int64_t id = 0;
  const auto parsed = std::from_chars(digits, end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end || digits == end || *digits == '-')
    return std::nullopt;
  return NameAndId{text.substr(0, at), id};
}

// Tables whose replicas are still to be deleted.
std::set<int64_t> TablesToDelete(const meta::CatalogState& state) {
  std::set<int64_t> tables;
  for (const meta::DdlIntent& intent : state.intents) {
    if (intent.kind != coordinator::DeleteIntent::kKind) continue;
    const auto deletion = coordinator::DeleteIntent::FromJson(intent.payload);
    if (!deletion.ok()) continue;
    for (const coordinator::StoppedBucket& bucket : deletion->buckets)
      tables.insert(bucket.id.table_id);
  }
  return tables;
}

// The check of one data folder.
class DataFolderChecker {
 public:
  DataFolderChecker(io::FileSystem& files, const std::string& folder)
      : files_(files), folder_(folder) {}

  Result<DataFolderCheck> Run() {
    ASSIGN_OR_RAISE(const bool is_data, files_.Exists(io::JoinPath(
                                            folder_, std::string(kMetadataFolder) + "/CURRENT")));
    if (!is_data) return Error(ErrorCode::kStorage, "no data folder of a server folder=", folder_);
    RETURN_NOT_OK(TakeLocks());
    ReadMetadata();
    ReadMarks();
    ASSIGN_OR_RAISE(const auto databases, files_.List(folder_));
    for (const auto& database : databases) {
      const bool other = std::ranges::find(kOtherFolders, database.name) != std::end(kOtherFolders);
      if (!database.is_folder || other) continue;
      RETURN_NOT_OK(CheckDatabase(database.name));
    }
    TellMissing();
    return std::move(check_);
  }

 private:
  struct Bucket {
    types::BucketId id;
    std::string log, kv;  // Folders, empty = it has none.
  };
  using Buckets = std::map<int64_t, Bucket>;

  void Add(Finding::Kind kind, std::string file, std::string text,
           std::optional<int64_t> offset = std::nullopt) {
    check_.findings.push_back({kind, std::move(file), offset, std::move(text)});
  }
  void Damage(std::string file, std::string text, std::optional<int64_t> offset = std::nullopt) {
    Add(Finding::Kind::kDamage, std::move(file), std::move(text), offset);
  }
  void Note(std::string file, std::string text) {
    Add(Finding::Kind::kNote, std::move(file), std::move(text));
  }

  // A file that is not there is not made: then no server ever held it.
  Status TakeLocks() {
    for (const char* name : kLockFiles) {
      const std::string path = io::JoinPath(folder_, name);
      ASSIGN_OR_RAISE(const bool exists, files_.Exists(path));
      if (!exists) continue;
      ASSIGN_OR_RAISE(auto lock, files_.LockFile(path));
      locks_.push_back(std::move(lock));
    }
    return Status::OK();
  }

  void ReadMetadata() {
    const std::string path = io::JoinPath(folder_, kMetadataFolder);
    const auto store = meta::ReadRocksMetaStore(path);
    if (!store.ok()) return Damage(path, store.status().message());
    auto state = meta::Catalog::Read(**store);
    if (!state.ok()) return Damage(path, state.status().message());
    catalog_ = std::move(*state);
    to_delete_ = TablesToDelete(*catalog_);
  }

  void ReadMarks() {
    const std::string clean = io::JoinPath(folder_, log::kCleanShutdownFile);
    const auto exists = files_.Exists(clean);
    if (!exists.ok()) Damage(clean, exists.status().message());
    check_.clean_stop = exists.ok() && *exists;
    checkpoint_path_ = io::JoinPath(folder_, log::kRecoveryPointFile);
    auto checkpoint = log::ReadCheckpoint(files_, checkpoint_path_);
    if (!checkpoint.ok()) return Damage(checkpoint_path_, checkpoint.status().message());
    checkpoint_ = std::move(*checkpoint);
  }

  Status CheckDatabase(const std::string& database) {
    const std::string path = io::JoinPath(folder_, database);
    ASSIGN_OR_RAISE(const auto tables, files_.List(path));
    for (const auto& table : tables) {
      const std::string table_path = io::JoinPath(path, table.name);
      const auto named = SplitId(table.name, "-");
      if (!table.is_folder || !named.has_value()) {
        Damage(table_path, "neither a table's folder nor anything that a server makes");
        continue;
      }
      RETURN_NOT_OK(CheckTable(table_path, {database, named->name}, named->id));
    }
    return Status::OK();
  }

  Status CheckTable(const std::string& path, const types::TablePath& name, int64_t table_id) {
    const meta::TablePtr table = catalog_ == nullptr ? nullptr : catalog_->FindTable(table_id);
    if (catalog_ != nullptr && (table == nullptr || table->info.path != name))
      return TellStranger(path, table_id, "table");
    ++check_.tables;
    ASSIGN_OR_RAISE(const Buckets buckets, BucketsIn(path, table_id, std::nullopt));
    RETURN_NOT_OK(CheckBuckets(path, buckets, table.get()));
    ASSIGN_OR_RAISE(const auto entries, files_.List(path));
    for (const auto& entry : entries) {
      const auto partition = SplitId(entry.name, "-p");
      const std::string entry_path = io::JoinPath(path, entry.name);
      if (!entry.is_folder) Note(entry_path, "file of an unknown kind");
      if (!entry.is_folder || IsBucket(entry.name)) continue;
      if (!partition) {
        Damage(entry_path, "folder is neither of a bucket nor of a partition");
        continue;
      }
      RETURN_NOT_OK(CheckPartition(entry_path, *partition, table_id, table.get()));
    }
    return Status::OK();
  }

  Status CheckPartition(const std::string& path, const NameAndId& named, int64_t table_id,
                        const meta::TableState* table) {
    const meta::PartitionState* partition =
        table == nullptr ? nullptr : table->FindPartition(named.id);
    if (table != nullptr && (partition == nullptr || partition->info.Name() != named.name))
      return TellStranger(path, table_id, "partition");
    ++check_.partitions;
    ASSIGN_OR_RAISE(const Buckets buckets, BucketsIn(path, table_id, named.id));
    return CheckBuckets(path, buckets, table);
  }

  // Folders whose owner the catalog does not know: a drop that was not finished, or else nobody's.
  Status TellStranger(const std::string& path, int64_t table_id, const std::string& kind) {
    ASSIGN_OR_RAISE(const bool empty, HoldsNoFile(path));
    if (to_delete_.contains(table_id)) {
      Note(path, kind + " was dropped, the next start deletes what is left of it");
    } else if (empty) {
      Note(path, "empty folder of a " + kind + " that is no more");
    } else {
      Damage(path, "folder belongs to no " + kind);
    }
    return Status::OK();
  }

  Result<bool> HoldsNoFile(const std::string& path) {
    ASSIGN_OR_RAISE(const auto entries, files_.List(path));
    for (const auto& entry : entries) {
      if (!entry.is_folder) return false;
      ASSIGN_OR_RAISE(const bool none, HoldsNoFile(io::JoinPath(path, entry.name)));
      if (!none) return false;
    }
    return true;
  }

  static bool IsBucket(const std::string& name) {
    const auto split = SplitId(name, "-");
    return split.has_value() && (split->name == "log" || split->name == "kv");
  }

  Result<Buckets> BucketsIn(const std::string& path, int64_t table_id,
                            std::optional<int64_t> partition_id) {
    Buckets buckets;
    ASSIGN_OR_RAISE(const auto entries, files_.List(path));
    for (const auto& entry : entries) {
      if (!entry.is_folder || !IsBucket(entry.name)) continue;
      const NameAndId named = *SplitId(entry.name, "-");
      Bucket& bucket = buckets[named.id];
      bucket.id = {table_id, partition_id, static_cast<int32_t>(named.id)};
      (named.name == "log" ? bucket.log : bucket.kv) = io::JoinPath(path, entry.name);
    }
    return buckets;
  }

  Status CheckBuckets(const std::string& path, const Buckets& buckets,
                      const meta::TableState* table) {
    for (const auto& [number, bucket] : buckets) {
      if (table != nullptr && number >= table->bucket_count())
        Damage(path, "table has no such bucket bucket=" + std::to_string(number));
      ++check_.buckets;
      if (bucket.log.empty()) {
        Damage(bucket.kv, "bucket has keys and no log");
        continue;
      }
      seen_.insert(bucket.id);
      const bool has_keys = table != nullptr && table->info.descriptor.has_primary_key();
      RETURN_NOT_OK(CheckBucket(bucket, has_keys));
    }
    return Status::OK();
  }

  Status CheckBucket(const Bucket& bucket, bool has_keys) {
    log::FolderCheckOptions options{.clean_stop = check_.clean_stop};
    if (const auto point = checkpoint_.find(bucket.id); point != checkpoint_.end())
      options.recovery_point = point->second;
    ASSIGN_OR_RAISE(log::FolderCheck checked, log::CheckFolder(files_, bucket.log, options));
    check_.segments += checked.segments;
    check_.batches += checked.batches;
    check_.records += checked.records;
    check_.log_bytes += checked.size_bytes;
    std::ranges::move(checked.findings, std::back_inserter(check_.findings));
    const bool stored = !bucket.kv.empty() && CheckKeys(bucket.kv, checked);
    if (has_keys && !stored && checked.start_offset > 0)
      Damage(bucket.log, "keys are not stored, and the log does not begin with the first of them",
             checked.start_offset);
    return Status::OK();
  }

  // Whether there is a key store, whatever is wrong with it.
  bool CheckKeys(const std::string& path, const log::FolderCheck& log) {
    const auto content = kv::CheckRocksStore(files_, path);
    if (!content.ok()) {
      Damage(path, content.status().message());
      return true;
    }
    if (!content->exists) {
      if (content->closed && content->closed->log_offset > 0)
        Damage(path, "key store was closed and is gone", content->closed->log_offset);
      return false;
    }
    ++check_.key_stores;
    check_.keys += static_cast<uint64_t>(content->keys);
    const kv::Applied& applied = content->applied;
    if (content->closed && *content->closed != applied)
      Damage(path, "key store is not as its clean-close mark says", applied.log_offset);
    if (applied.log_offset > log.end_offset) {
      Damage(path, "key store is ahead of its log log_end_offset=" + std::to_string(log.end_offset),
             applied.log_offset);
    }
    if (applied.log_offset < log.start_offset) {
      Damage(path,
             "log begins behind what the key store has log_start_offset=" +
                 std::to_string(log.start_offset),
             applied.log_offset);
    }
    if (applied.row_count && *applied.row_count != content->keys) {
      Damage(path,
             "key store holds another number of keys than it says keys=" +
                 std::to_string(content->keys) + " says=" + std::to_string(*applied.row_count),
             applied.log_offset);
    }
    return true;
  }

  // Buckets that must have a log and have none.
  void TellMissing() {
    if (catalog_ == nullptr) return;
    for (const auto& [table_id, table] : catalog_->tables_by_id) {
      table->ForEachBucket(
          [&](const types::BucketId& id, const meta::PartitionState*, const meta::BucketState&) {
            if (seen_.contains(id)) return;
            const std::string text =
                "bucket has no log table=" + table->info.path.ToString() + " " + id.ToString();
            const auto point = checkpoint_.find(id);
            if (point == checkpoint_.end()) return Note(folder_, text + ", it was never opened");
            Damage(checkpoint_path_, text, point->second);
          });
    }
  }

  io::FileSystem& files_;
  const std::string& folder_;
  std::vector<std::unique_ptr<io::FileSystem::Lock>> locks_;
  DataFolderCheck check_;
  meta::CatalogStatePtr catalog_;  // Null when it cannot be read.
  std::set<int64_t> to_delete_;
  log::Checkpoint checkpoint_;
  std::string checkpoint_path_;
  std::set<types::BucketId> seen_;  // With a log.
};

}  // namespace

bool DataFolderCheck::damaged() const {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.kind == Finding::Kind::kDamage; });
}

Result<DataFolderCheck> CheckDataFolder(io::FileSystem& files, const std::string& folder) {
  return DataFolderChecker(files, folder).Run();
}

}  // namespace sluice::app
