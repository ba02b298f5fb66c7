#include <arrow/api.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "client/kv_scanner.h"
#include "sql/key_store_internal.h"

namespace sluice::sql {

namespace {

/// All living rows of a bucket's key store, at the moment of its opening.
class KeyStoreReader : public BatchReader {
 public:
  static Result<std::unique_ptr<KeyStoreReader>> Open(const UnionRead& read,
                                                      const UnionBucket& bucket) {
    io::Loop& loop = *read.loop;
    std::unique_ptr<KeyStoreReader> reader(new KeyStoreReader(read.passing));
    reader->loop_ = &loop;
    reader->interruption_ = read.interruption;
    ASSIGN_OR_RAISE(reader->scanner_,
                    read.interruption->Wait(
                        loop, OpenScanner(loop, read.cluster, read.table.path, read.IdOf(bucket),
                                          reader->share_.batch_bytes())));
    return reader;
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ASSIGN_OR_RAISE(auto rows, interruption_->Wait(*loop_, scanner_->Next()));
    share_.Took(rows == nullptr ? 0 : types::HeldBytes(*rows));
    return rows;
  }
  int64_t log_offset() const { return scanner_->log_offset(); }

 private:
  explicit KeyStoreReader(std::shared_ptr<MemoryBudget> passing) : share_(std::move(passing)) {}

  // The server's session is given back also when nobody waits for the scan any more.
  static io::Task<Result<std::shared_ptr<client::KvScanner>>> OpenScanner(
      io::Loop& loop, client::ClusterPtr cluster, types::TablePath path, types::BucketId bucket,
      int64_t batch_bytes) {
    auto opened = co_await client::KvScanner::Open(
        loop, cluster, path, bucket, static_cast<int32_t>(std::min(batch_bytes, kBatchBytesMax)));
    if (!opened.ok()) co_return opened.status();
    co_return std::shared_ptr<client::KvScanner>(opened->release(), [&loop](
                                                                        client::KvScanner* owned) {
      loop.Post([owned] { io::Spawn(CloseScanner(std::unique_ptr<client::KvScanner>(owned))); });
    });
  }
  static io::Task<void> CloseScanner(std::unique_ptr<client::KvScanner> scanner) {
    const Status closed = co_await scanner->Close();
    // The server ends the session by itself later: nothing is lost.
    if (!closed.ok()) LogDebug("close of a key scan failed error={}", closed.message());
  }

  static constexpr int64_t kBatchBytesMax = 4 << 20;

  io::Loop* loop_ = nullptr;
  std::shared_ptr<Interruption> interruption_;
  ScanShare share_;
  std::shared_ptr<client::KvScanner> scanner_;
};

/// Batches of a list that others read too, with the named columns.
class KeptReader : public BatchReader {
 public:
  KeptReader(KeptKeys::Batches batches, std::vector<std::string> names)
      : batches_(std::move(batches)), names_(std::move(names)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return next_ == batches_.size() ? nullptr : Choose(batches_[next_++], names_);
  }

 private:
  KeptKeys::Batches batches_;
  std::vector<std::string> names_;
  size_t next_ = 0;
};

std::vector<std::string> WithKey(std::vector<std::string> names, const KeyOf& key_of) {
  for (const std::string& key : key_of.names()) {
    if (std::ranges::find(names, key) == names.end()) names.push_back(key);
  }
  return names;
}

// The store and the log between its moment and the point.
Result<std::unique_ptr<BatchReader>> OpenMerged(const UnionRead& read, const UnionPart& part,
                                                std::vector<std::string> names,
                                                const KeyOf& key_of) {
  ASSIGN_OR_RAISE(auto keys, KeyStoreReader::Open(read, part.bucket));
  const int64_t moment = keys->log_offset();
  const bool back = moment > part.log_to && KeepsOldRows(read.table.descriptor);
  UnionPart between = part;
  between.log_from = std::min(moment, part.log_to);
  if (back) between.log_to = moment;
  KeyTail tail;
  if (between.reads_log()) {
    ASSIGN_OR_RAISE(const auto log, LogTail::Open(read, between, WithKey(names, key_of)));
    ASSIGN_OR_RAISE(tail, KeyTail::Read(*log, key_of, *read.memory,
                                        back ? KeyTail::To::kBegin : KeyTail::To::kEnd));
  }
  return std::make_unique<MergeReader>(std::move(keys), std::move(tail), key_of, std::move(names));
}

}  // namespace

bool KeepsOldRows(const types::TableDescriptor& table) {
  return LowerCase(table.Property("table.changelog.image", "FULL")) == "full";
}

Result<std::unique_ptr<BatchReader>> OpenKeys(const std::shared_ptr<const UnionRead>& read,
                                              const UnionPart& part, std::vector<std::string> names,
                                              const KeyOf& key_of) {
  if (read->kept == nullptr) return OpenMerged(*read, part, std::move(names), key_of);
  const auto open = [&] {
    std::vector<std::string> all;
    for (const types::Column& column : read->table.descriptor.schema.columns)
      all.push_back(column.name);
    return OpenMerged(*read, part, std::move(all), key_of);
  };
  ASSIGN_OR_RAISE(auto rows, read->kept->Rows(read->table.path, part.bucket, open));
  return std::make_unique<KeptReader>(std::move(rows), std::move(names));
}

Result<KeptKeys::Batches> KeptKeys::Rows(const types::TablePath& path, const UnionBucket& bucket,
                                         const Opener& open) {
  const std::lock_guard lock(mutex_);
  if (const auto found = buckets_.find(bucket); found != buckets_.end()) return found->second;
  ASSIGN_OR_RAISE(const auto reader, open());
  types::RowBatches rows;
  while (true) {
    ASSIGN_OR_RAISE(auto batch, reader->Next());
    if (batch == nullptr) break;
    const int64_t held_before = rows.held_bytes();
    RETURN_NOT_OK(rows.Add(std::move(batch)));
    if (!held_.Grow(rows.held_bytes() - held_before)) {
      return Error(ErrorCode::kStorageBackpressure,
                   "table without old rows in its changelog is too large to be read more than once "
                   "by a statement, table=",
                   path, " bytes_max=", held_.bytes_max());
    }
  }
  return buckets_.emplace(bucket, rows.Take()).first->second;
}

}  // namespace sluice::sql
