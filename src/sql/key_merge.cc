#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <utility>

#include "sql/key_merge_internal.h"

namespace sluice::sql {

Result<KeyOf> KeyOf::Make(const types::Schema& schema) {
  KeyOf result;
  result.names_ = schema.primary_key;
  std::vector<types::DataTypePtr> types;
  for (const std::string& name : schema.primary_key)
    types.push_back(schema.columns[static_cast<size_t>(schema.IndexOf(name))].type);
  ASSIGN_OR_RAISE(types::KeyEncoder encoder,
                  types::KeyEncoder::Make(types::KeyFormat::kCompacted, std::move(types), false));
  result.encoder_ = std::make_shared<const types::KeyEncoder>(std::move(encoder));
  return result;
}

Result<std::vector<std::string>> KeyOf::Encode(const arrow::RecordBatch& batch) const {
  std::vector<int> positions;
  for (const std::string& name : names_) {
    const int position = batch.schema()->GetFieldIndex(name);
    if (position < 0)
      return Error(ErrorCode::kCorruptRecord, "rows lack a key column, name=", name);
    positions.push_back(position);
  }
  std::vector<std::string> keys;
  RETURN_NOT_OK(encoder_->Encode(batch, positions, &keys));
  return keys;
}

namespace {

// Of an entry of the map beside the key's own, and of its row's number in the end.
constexpr int64_t kKeyBytes = 112;

// The rows at `positions`, which rise, in memory of their own unless they are all.
Result<std::shared_ptr<arrow::RecordBatch>> RowsAt(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                   const std::vector<int64_t>& positions) {
  const auto count = static_cast<int64_t>(positions.size());
  if (count == batch->num_rows()) return batch;
  const arrow::Int64Array indices(count, arrow::Buffer::Wrap(positions));
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const auto& column : batch->columns()) {
    ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(*column, indices,
                                                     arrow::compute::TakeOptions::NoBoundsCheck()));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(batch->schema(), count, std::move(columns));
}

}  // namespace

Result<KeyTail> KeyTail::Read(LogTail& tail, const KeyOf& key_of, MemoryBudget& memory, To to) {
  KeyTail result(memory);
  while (true) {
    ASSIGN_OR_RAISE(LogTail::Rows rows, tail.Next());
    if (rows.rows == nullptr) return result;
    const Status added = result.Add(std::move(rows), key_of, to);
    if (!added.ok())
      return added.WithMessage(added.message(), ", table=", tail.path(), " ", tail.bucket());
  }
}

Status KeyTail::Hold() {
  if (held.Hold(rows.held_bytes() + keys_bytes_)) return Status::OK();
  return Error(ErrorCode::kStorageBackpressure,
               "rows that logs have and the lake lacks take more memory than queries may hold, "
               "bytes_max=",
               held.bytes_max());
}

Status KeyTail::Add(LogTail::Rows added, const KeyOf& key_of, To to) {
  ASSIGN_OR_RAISE(std::vector<std::string> names, key_of.Encode(*added.rows));
  for (const std::string& name : names) {
    if (!keys.contains(name)) keys_bytes_ += static_cast<int64_t>(name.size()) + kKeyBytes;
  }
  const int64_t first = rows.row_count();
  RETURN_NOT_OK(rows.Add(std::move(added.rows)));
  RETURN_NOT_OK(Hold());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto change = added.changes.empty() ? wire::ChangeType::kAppendOnly : added.changes[i];
    const int64_t here = first + static_cast<int64_t>(i);
    if (to == To::kEnd) {
      if (change == wire::ChangeType::kUpdateBefore) continue;  // The new image follows.
      keys[std::move(names[i])] = change == wire::ChangeType::kDelete ? kDeleted : here;
      continue;
    }
    if (keys.contains(names[i])) continue;  // A later change.
    if (change == wire::ChangeType::kUpdateAfter)
      return Error(ErrorCode::kCorruptRecord, "changelog lacks the old row of an update");
    const bool was_there =
        change == wire::ChangeType::kUpdateBefore || change == wire::ChangeType::kDelete;
    keys.emplace(std::move(names[i]), was_there ? here : kDeleted);
  }
  return Status::OK();
}

void KeyTail::FindLiving() {
  for (const auto& [key, row] : keys) {
    if (row != kDeleted) living_.push_back(row);
  }
  std::ranges::sort(living_);
  keys = {};
  batches_ = rows.Take();
  giving_ = true;
}

Result<std::shared_ptr<arrow::RecordBatch>> KeyTail::Next(const std::vector<std::string>& columns) {
  if (!giving_) FindLiving();
  while (next_batch_ < batches_.size()) {
    const auto batch = std::move(batches_[next_batch_++]);
    const int64_t first = std::exchange(first_row_, first_row_ + batch->num_rows());
    std::vector<int64_t> positions;
    for (; next_living_ < living_.size() && living_[next_living_] < first_row_; ++next_living_)
      positions.push_back(living_[next_living_] - first);
    if (positions.empty()) continue;
    ASSIGN_OR_RAISE(const auto chosen, Choose(batch, columns));
    return RowsAt(chosen, positions);
  }
  return nullptr;
}

MergeReader::MergeReader(std::unique_ptr<BatchReader> base, KeyTail tail, KeyOf key_of,
                         std::vector<std::string> columns)
    : base_(std::move(base)),
      tail_(std::move(tail)),
      key_of_(std::move(key_of)),
      columns_(std::move(columns)) {}

Result<std::shared_ptr<arrow::RecordBatch>> MergeReader::Next() {
  while (base_ != nullptr) {
    ASSIGN_OR_RAISE(const auto batch, base_->Next());
    if (batch == nullptr) {
      base_ = nullptr;
      break;
    }
    ASSIGN_OR_RAISE(auto rows, Untouched(batch));
    if (rows->num_rows() > 0) return rows;
  }
  return tail_.Next(columns_);
}

Result<std::shared_ptr<arrow::RecordBatch>> MergeReader::Untouched(
    const std::shared_ptr<arrow::RecordBatch>& batch) const {
  ASSIGN_OR_RAISE(auto chosen, Choose(batch, columns_));
  if (tail_.keys.empty()) return chosen;
  ASSIGN_OR_RAISE(const std::vector<std::string> keys, key_of_.Encode(*batch));
  std::vector<int64_t> rows;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!tail_.keys.contains(keys[i])) rows.push_back(static_cast<int64_t>(i));
  }
  return RowsAt(chosen, rows);
}

}  // namespace sluice::sql
