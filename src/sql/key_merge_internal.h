#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sql/fluss_internal.h"
#include "types/row.h"
#include "types/row_batches.h"

namespace sluice::sql {

/// Encodes primary keys, to tell whether two rows are of one key.
class KeyOf {
 public:
  static Result<KeyOf> Make(const types::Schema& schema);
  /// Errors: kCorruptRecord when a key column is not in the batch.
  Result<std::vector<std::string>> Encode(const arrow::RecordBatch& batch) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::shared_ptr<const types::KeyEncoder> encoder_;
};

/// The state at one end of a part of a log of every key that it touches.
struct KeyTail {
  enum class To : uint8_t {
    kEnd,    ///< After the last change of the key: its new row.
    kBegin,  ///< Before the first one: its old row, which the changelog must have.
  };
  static constexpr int64_t kDeleted = -1;
  std::unordered_map<std::string, int64_t> keys;  ///< To the row, counted from the part's first.
  types::RowBatches rows;
  MemoryBudget::Part held;

  KeyTail() = default;  ///< Of an empty part.
  explicit KeyTail(MemoryBudget& memory) : held(memory) {}

  static Result<KeyTail> Read(LogTail& tail, const KeyOf& key_of, MemoryBudget& memory,
                              To to = To::kEnd);
  /// Take the next rows of the part. Errors: kCorruptRecord for an update whose old row is needed
  /// and not there; kStorageBackpressure when all statements hold more than they may.
  Status Add(LogTail::Rows added, const KeyOf& key_of, To to);

  /// The living rows of the next batch that has any, null at the end. It gives up the keys, and
  /// each batch that it is done with: what it gives holds no others.
  Result<std::shared_ptr<arrow::RecordBatch>> Next(const std::vector<std::string>& columns);

 private:
  Status Hold();
  void FindLiving();
  int64_t keys_bytes_ = 0;
  // From the first Next on.
  bool giving_ = false;
  std::vector<int64_t> living_;  // Ascending.
  size_t next_living_ = 0;
  types::RowBatches::Batches batches_;
  size_t next_batch_ = 0;  // Behind those given up.
  int64_t first_row_ = 0;  // Of the next batch.
};

/// Rows of a base whose keys the log part does not touch, then the log part's own.
class MergeReader : public BatchReader {
 public:
  MergeReader(std::unique_ptr<BatchReader> base, KeyTail tail, KeyOf key_of,
              std::vector<std::string> columns);
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override;

 private:
  /// The rows of `batch` whose keys the log part does not touch.
  Result<std::shared_ptr<arrow::RecordBatch>> Untouched(
      const std::shared_ptr<arrow::RecordBatch>& batch) const;

  std::unique_ptr<BatchReader> base_;  // Null once it is at its end.
  KeyTail tail_;
  KeyOf key_of_;
  std::vector<std::string> columns_;
};

}  // namespace sluice::sql
