#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include <algorithm>

#include "base/log.h"
#include "io/file.h"
#include "sql/fluss_internal.h"
#include "sql/key_merge_internal.h"
#include "sql/key_store_internal.h"
#include "types/table_options.h"

namespace sluice::sql {

// --- pins ---

Result<std::unique_ptr<LakePin>> LakePin::Take(std::shared_ptr<lake::LakeTable> table,
                                               const types::TablePath& path, int64_t snapshot_id,
                                               UnpinnedTables& unpinned) {
  const Status pinned = table->Pin(snapshot_id);
  if (!pinned.ok()) {
    RETURN_NOT_OK(table->SnapshotById(snapshot_id));
    if (unpinned.Add(path))
      LogWarn("lake table is read without a pin table={} cause={}", path.ToString(),
              pinned.ToString());
  }
  const auto held = pinned.ok() ? std::optional(snapshot_id) : std::nullopt;
  return std::unique_ptr<LakePin>(new LakePin(std::move(table), held));
}

LakePin::~LakePin() {
  if (held_) table_->Unpin(*held_);
}

Status LakeError(const lake::LakeTable& table, const Status& error) {
  if (!io::IsNotFound(error)) return error;
  return Error(ErrorCode::kLakeSnapshotNotExist,
               "a file of the lake snapshot is gone, table=", table.path(),
               " reason=", error.message());
}

types::BucketId UnionRead::IdOf(const UnionBucket& bucket) const {
  types::BucketId id{.table_id = table.table_id, .bucket = bucket.bucket};
  if (!bucket.partition.empty()) id.partition_id = partitions.at(bucket.partition).partition_id;
  return id;
}

// --- batches ---

std::vector<std::string> NamesOf(const std::vector<SourceColumn>& columns,
                                 const std::vector<int>& positions) {
  std::vector<std::string> names;
  for (const int position : positions) names.push_back(columns[static_cast<size_t>(position)].name);
  return names;
}

Result<std::shared_ptr<arrow::RecordBatch>> Choose(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                   const std::vector<std::string>& names) {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const std::string& name : names) {
    const int position = batch->schema()->GetFieldIndex(name);
    if (position < 0) return Error(ErrorCode::kCorruptRecord, "rows lack a column, name=", name);
    fields.push_back(batch->schema()->field(position));
    columns.push_back(batch->column(position));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch->num_rows(),
                                  std::move(columns));
}

namespace {

/// Readers one after another.
class ChainReader : public BatchReader {
 public:
  using Opener = std::function<Result<std::unique_ptr<BatchReader>>()>;
  explicit ChainReader(std::vector<Opener> openers) : openers_(std::move(openers)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (current_ == nullptr) {
        if (next_ == openers_.size()) return nullptr;
        ASSIGN_OR_RAISE(current_, openers_[next_++]());
      }
      ASSIGN_OR_RAISE(auto batch, current_->Next());
      if (batch != nullptr) return batch;
      current_.reset();
    }
  }

 private:
  std::vector<Opener> openers_;
  size_t next_ = 0;
  std::unique_ptr<BatchReader> current_;
};

/// Parts given as functions.
class PartSource : public ScanSource {
 public:
  using Opener = ChainReader::Opener;
  explicit PartSource(std::vector<Opener> parts) : parts_(std::move(parts)) {}
  int parts() const override { return static_cast<int>(parts_.size()); }
  Result<std::unique_ptr<BatchReader>> OpenPart(int part) override {
    return parts_[static_cast<size_t>(part)]();
  }

 private:
  std::vector<Opener> parts_;
};

class LakeSplitReader : public BatchReader {
 public:
  LakeSplitReader(std::shared_ptr<lake::LakeTable> table, ScanShare share,
                  std::unique_ptr<lake::LakeReader> reader)
      : table_(std::move(table)), share_(std::move(share)), reader_(std::move(reader)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    auto batch = reader_->Next();
    if (!batch.ok()) return LakeError(*table_, batch.status());
    share_.Took(*batch == nullptr ? 0 : arrow::util::ReferencedBufferSize(**batch).ValueOr(0));
    return batch;
  }

 private:
  std::shared_ptr<lake::LakeTable> table_;
  ScanShare share_;
  std::unique_ptr<lake::LakeReader> reader_;
};

Result<std::unique_ptr<BatchReader>> OpenSplit(const std::shared_ptr<lake::LakeTable>& table,
                                               const lake::LakeSplit& split,
                                               const std::vector<std::string>& columns,
                                               const std::shared_ptr<MemoryBudget>& passing) {
  ScanShare share(passing);
  auto reader = table->Read(split, columns, share.batch_bytes());
  if (!reader.ok()) return LakeError(*table, reader.status());
  return std::make_unique<LakeSplitReader>(table, std::move(share),
                                           std::move(reader).ValueUnsafe());
}

/// The log of an append table.
class AppendTailReader : public BatchReader {
 public:
  AppendTailReader(std::unique_ptr<LogTail> tail, std::vector<std::string> columns)
      : tail_(std::move(tail)), columns_(std::move(columns)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ASSIGN_OR_RAISE(LogTail::Rows rows, tail_->Next());
    if (rows.rows == nullptr) return nullptr;
    return Choose(rows.rows, columns_);
  }

 private:
  std::unique_ptr<LogTail> tail_;
  std::vector<std::string> columns_;
};

// A name for the partition of a lake split, as Fluss names it; a NULL cannot have come from there.
std::string PartitionName(const lake::LakeSplit& split) {
  types::PartitionInfo partition;
  for (const auto& value : split.partition)
    partition.values.push_back(value.value_or("__HIVE_DEFAULT_PARTITION__"));
  return partition.Name();
}

class UnionView : public TableView {
 public:
  explicit UnionView(std::shared_ptr<const UnionRead> read) : read_(std::move(read)) {
    for (const types::Column& column : read_->table.descriptor.schema.columns)
      columns_.push_back({column.name, column.type});
  }
  const std::vector<SourceColumn>& columns() const override { return columns_; }

  Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                           std::vector<Predicate> predicates) override {
    const std::vector<std::string> names = NamesOf(columns_, columns);
    ASSIGN_OR_RAISE(const auto read, PruneUnion(read_, predicates));
    return read->table.descriptor.has_primary_key() ? OpenKeyed(read, names)
                                                    : OpenAppend(read, names, predicates);
  }

  std::vector<std::string> Explain(const std::vector<int>&,
                                   const std::vector<Predicate>& predicates) const override {
    const auto pruned = PruneUnion(read_, predicates);
    const UnionRead& read = pruned.ok() ? **pruned : *read_;
    auto lines = DescribePlan(read.plan, read.table.descriptor.has_primary_key());
    if (read.lake_plan) lines.front() = DescribeFiles(*read.lake_plan);
    if (FiltersLog(predicates))
      lines.push_back("log batches are skipped by their statistics where no row can match");
    return lines;
  }

 private:
  // Whether batches of the log have statistics that tell what need not be read.
  bool FiltersLog(const std::vector<Predicate>& predicates) const {
    const bool reads_log = std::ranges::any_of(
        read_->plan.parts, [](const UnionPart& part) { return part.reads_log(); });
    return reads_log && !predicates.empty() &&
           !types::StatisticsColumns(read_->table.descriptor).empty();
  }

  Result<std::unique_ptr<ScanSource>> OpenAppend(const std::shared_ptr<const UnionRead>& whole,
                                                 std::vector<std::string> names,
                                                 const std::vector<Predicate>& predicates) {
    ASSIGN_OR_RAISE(const auto filter, FilterOf(whole->table.descriptor.schema, predicates));
    std::vector<PartSource::Opener> parts;
    if (whole->lake_plan) {
      for (const lake::LakeSplit& split : whole->lake_plan->splits) {
        parts.push_back([read = whole, &split, names] {
          return OpenSplit(read->lake, split, names, read->passing);
        });
      }
    }
    std::vector<std::string> fetched = names;
    if (fetched.empty()) fetched.push_back(columns_.front().name);  // A fetch needs a column.
    for (const UnionPart& part : whole->plan.parts) {
      if (!part.reads_log()) continue;
      parts.push_back(
          [read = whole, &part, names, fetched, filter]() -> Result<std::unique_ptr<BatchReader>> {
            ASSIGN_OR_RAISE(auto tail, LogTail::Open(*read, part, fetched, filter));
            return std::make_unique<AppendTailReader>(std::move(tail), names);
          });
    }
    return std::make_unique<PartSource>(std::move(parts));
  }

  Result<std::unique_ptr<ScanSource>> OpenKeyed(const std::shared_ptr<const UnionRead>& whole,
                                                std::vector<std::string> names) {
    ASSIGN_OR_RAISE(const KeyOf key_of, KeyOf::Make(whole->table.descriptor.schema));
    std::vector<std::string> with_key = names;
    for (const std::string& key : key_of.names()) {
      if (std::ranges::find(with_key, key) == with_key.end()) with_key.push_back(key);
    }
    std::map<UnionBucket, std::vector<const lake::LakeSplit*>> splits;
    if (whole->lake_plan) {
      for (const lake::LakeSplit& split : whole->lake_plan->splits)
        splits[{PartitionName(split), split.bucket}].push_back(&split);
    }
    std::vector<PartSource::Opener> parts;
    for (const UnionPart& part : whole->plan.parts) {
      std::vector<const lake::LakeSplit*> lake_part;
      if (const auto found = splits.find(part.bucket); found != splits.end()) {
        if (part.base == UnionPart::Base::kLake) lake_part = found->second;
        splits.erase(found);
      }
      parts.push_back([read = whole, &part, lake_part, names, with_key, key_of] {
        return OpenBucket(read, part, lake_part, names, with_key, key_of);
      });
    }
    for (const auto& [bucket, lake_part] : splits) {  // Partitions that live only in the lake.
      for (const lake::LakeSplit* split : lake_part) {
        parts.push_back([read = whole, split, names] {
          return OpenSplit(read->lake, *split, names, read->passing);
        });
      }
    }
    return std::make_unique<PartSource>(std::move(parts));
  }

  static Result<std::unique_ptr<BatchReader>> OpenBucket(
      const std::shared_ptr<const UnionRead>& read, const UnionPart& part,
      const std::vector<const lake::LakeSplit*>& lake_part, const std::vector<std::string>& names,
      const std::vector<std::string>& with_key, const KeyOf& key_of) {
    if (part.base == UnionPart::Base::kKeys) return OpenKeys(read, part, names, key_of);
    std::vector<ChainReader::Opener> openers;
    for (const lake::LakeSplit* split : lake_part) {
      openers.push_back([read, split, with_key] {
        return OpenSplit(read->lake, *split, with_key, read->passing);
      });
    }
    auto base = std::make_unique<ChainReader>(std::move(openers));
    KeyTail tail;
    if (part.reads_log()) {
      ASSIGN_OR_RAISE(const auto log, LogTail::Open(*read, part, with_key));
      ASSIGN_OR_RAISE(tail, KeyTail::Read(*log, key_of, *read->memory));
    }
    return std::make_unique<MergeReader>(std::move(base), std::move(tail), key_of, names);
  }

  std::shared_ptr<const UnionRead> read_;
  std::vector<SourceColumn> columns_;
};

class LakeView : public TableView {
 public:
  LakeView(std::vector<SourceColumn> columns, std::shared_ptr<lake::LakeTable> table,
           std::optional<lake::LakePlan> plan, std::unique_ptr<LakePin> pin,
           std::shared_ptr<MemoryBudget> passing)
      : columns_(std::move(columns)),
        table_(std::move(table)),
        pin_(std::move(pin)),
        passing_(std::move(passing)) {
    if (plan) plan_ = std::make_shared<const lake::LakePlan>(std::move(*plan));
  }
  const std::vector<SourceColumn>& columns() const override { return columns_; }

  Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                           std::vector<Predicate> predicates) override {
    std::vector<PartSource::Opener> parts;
    const std::vector<std::string> names = NamesOf(columns_, columns);
    ASSIGN_OR_RAISE(const auto pruned, Pruned(predicates));
    for (size_t i = 0; pruned != nullptr && i < pruned->splits.size(); ++i) {
      parts.push_back([table = table_, pruned, i, names, passing = passing_] {
        return OpenSplit(table, pruned->splits[i], names, passing);
      });
    }
    return std::make_unique<PartSource>(std::move(parts));
  }

  std::vector<std::string> Explain(const std::vector<int>&,
                                   const std::vector<Predicate>& predicates) const override {
    if (plan_ == nullptr) return {"lake without a snapshot"};
    const auto pruned = Pruned(predicates);
    return {DescribeFiles(pruned.ok() ? **pruned : *plan_)};
  }

  std::optional<int64_t> RowCountHint() const override {
    return plan_ == nullptr ? 0 : plan_->snapshot.total_records;
  }

 private:
  Result<std::shared_ptr<const lake::LakePlan>> Pruned(
      const std::vector<Predicate>& predicates) const {
    if (predicates.empty() || plan_ == nullptr) return plan_;
    ASSIGN_OR_RAISE(auto plan, PruneLake(*table_, *plan_, predicates));
    return std::make_shared<const lake::LakePlan>(std::move(plan));
  }

  std::vector<SourceColumn> columns_;
  std::shared_ptr<lake::LakeTable> table_;
  std::shared_ptr<const lake::LakePlan> plan_;
  std::unique_ptr<LakePin> pin_;
  std::shared_ptr<MemoryBudget> passing_;
};

class BatchView : public TableView {
 public:
  BatchView(std::vector<SourceColumn> columns, std::shared_ptr<arrow::RecordBatch> rows)
      : columns_(std::move(columns)), rows_(std::move(rows)) {}
  const std::vector<SourceColumn>& columns() const override { return columns_; }
  Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                           std::vector<Predicate>) override {
    ASSIGN_OR_RAISE(auto chosen, Choose(rows_, NamesOf(columns_, columns)));
    std::vector<PartSource::Opener> parts;
    parts.push_back([chosen]() -> Result<std::unique_ptr<BatchReader>> {
      return std::make_unique<BatchListReader>(
          std::vector<std::shared_ptr<arrow::RecordBatch>>{chosen});
    });
    return std::make_unique<PartSource>(std::move(parts));
  }
  std::vector<std::string> Explain(const std::vector<int>&,
                                   const std::vector<Predicate>&) const override {
    return {"rows=" + std::to_string(rows_->num_rows())};
  }

 private:
  std::vector<SourceColumn> columns_;
  std::shared_ptr<arrow::RecordBatch> rows_;
};

}  // namespace

std::shared_ptr<TableView> MakeUnionView(std::shared_ptr<const UnionRead> read) {
  return std::make_shared<UnionView>(std::move(read));
}
std::shared_ptr<TableView> MakeLakeView(std::vector<SourceColumn> columns,
                                        std::shared_ptr<lake::LakeTable> table,
                                        std::optional<lake::LakePlan> plan,
                                        std::unique_ptr<LakePin> pin,
                                        std::shared_ptr<MemoryBudget> passing) {
  return std::make_shared<LakeView>(std::move(columns), std::move(table), std::move(plan),
                                    std::move(pin), std::move(passing));
}
std::shared_ptr<TableView> MakeBatchView(std::vector<SourceColumn> columns,
                                         std::shared_ptr<arrow::RecordBatch> rows) {
  return std::make_shared<BatchView>(std::move(columns), std::move(rows));
}

}  // namespace sluice::sql
