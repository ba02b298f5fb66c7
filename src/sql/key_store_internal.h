#pragma once
#include <arrow/type_fwd.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sql/fluss_internal.h"
#include "sql/key_merge_internal.h"

namespace sluice::sql {

/// Whether a table's changelog has the row that each change replaced, so that it can be read back.
bool KeepsOldRows(const types::TableDescriptor& table);

/// The living rows of a bucket that no lake snapshot has, as they were when its log ended at
/// `part.log_to`: however late it is opened and however often.
///
/// A key scan shows the bucket at the moment of its opening. The log between that moment and the
/// point leads there: forward by the new rows, back by the old ones. A changelog without old rows
/// leads forward only: then the moment of the first opening is the point of all scans (KeptKeys),
/// and a scan that is alone stands for its own moment.
Result<std::unique_ptr<BatchReader>> OpenKeys(const std::shared_ptr<const UnionRead>& read,
                                              const UnionPart& part, std::vector<std::string> names,
                                              const KeyOf& key_of);

/// Whole buckets in memory, for the scans of one statement that must see the same rows where the
/// changelog cannot lead back.
///
/// Threads: any; who comes first reads the bucket, others wait.
class KeptKeys {
 public:
  using Batches = types::RowBatches::Batches;
  using Opener = std::function<Result<std::unique_ptr<BatchReader>>()>;

  explicit KeptKeys(std::shared_ptr<MemoryBudget> memory)
      : memory_(std::move(memory)), held_(*memory_) {}

  /// Errors: those of the reader; kStorageBackpressure when all statements hold more than they may.
  Result<Batches> Rows(const types::TablePath& path, const UnionBucket& bucket, const Opener& open);

 private:
  const std::shared_ptr<MemoryBudget> memory_;
  std::mutex mutex_;  // Guards what follows.
  std::map<UnionBucket, Batches> buckets_;
  MemoryBudget::Part held_;
};

}  // namespace sluice::sql
