#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include <algorithm>

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

constexpr int64_t kKeyBytes = 96;  // Of an entry of the map beside the key's own.

}  // namespace

Result<KeyTail> KeyTail::Read(LogTail& tail, const KeyOf& key_of, RowMemory& memory, To to) {
  KeyTail result(memory);
  while (true) {
    ASSIGN_OR_RAISE(LogTail::Rows rows, tail.Next());
    if (rows.rows == nullptr) return result;
    const Status added = result.Add(std::move(rows), key_of, to);
    if (!added.ok())
      return added.WithMessage(added.message(), ", table=", tail.path(), " ", tail.bucket());
  }
}

Status KeyTail::Add(LogTail::Rows rows, const KeyOf& key_of, To to) {
  ASSIGN_OR_RAISE(const int64_t bytes, arrow::util::ReferencedBufferSize(*rows.rows));
  ASSIGN_OR_RAISE(std::vector<std::string> names, key_of.Encode(*rows.rows));
  int64_t names_bytes = 0;
  for (const std::string& name : names) {
    if (!keys.contains(name)) names_bytes += static_cast<int64_t>(name.size()) + kKeyBytes;
  }
  if (!held.Grow(bytes + names_bytes)) {
    return Error(ErrorCode::kStorageBackpressure,
                 "rows that logs have and the lake lacks take more memory than queries may hold, "
                 "bytes_max=",
                 held.bytes_max());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto change = rows.changes.empty() ? wire::ChangeType::kAppendOnly : rows.changes[i];
    const Place here{batches.size(), static_cast<int64_t>(i)};
    if (to == To::kEnd) {
      if (change == wire::ChangeType::kUpdateBefore) continue;  // The new image follows.
      keys[std::move(names[i])] = change == wire::ChangeType::kDelete ? Place{} : here;
      continue;
    }
    if (keys.contains(names[i])) continue;  // A later change.
    if (change == wire::ChangeType::kUpdateAfter)
      return Error(ErrorCode::kCorruptRecord, "changelog lacks the old row of an update");
    const bool was_there =
        change == wire::ChangeType::kUpdateBefore || change == wire::ChangeType::kDelete;
    keys.emplace(std::move(names[i]), was_there ? here : Place{});
  }
  batches.push_back(std::move(rows.rows));
  return Status::OK();
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> KeyTail::Rows(
    const std::vector<std::string>& columns) const {
  std::vector<std::vector<int64_t>> rows(batches.size());
  for (const auto& [key, place] : keys) {
    if (place.batch != kDeleted) rows[place.batch].push_back(place.row);
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> slices;
  for (size_t i = 0; i < batches.size(); ++i) {
    std::ranges::sort(rows[i]);
    ASSIGN_OR_RAISE(const auto chosen, Choose(batches[i], columns));
    for (size_t at = 0; at < rows[i].size();) {
      size_t end = at + 1;
      while (end < rows[i].size() && rows[i][end] == rows[i][end - 1] + 1) ++end;
      slices.push_back(chosen->Slice(rows[i][at], static_cast<int64_t>(end - at)));
      at = end;
    }
  }
  return slices;
}

MergeReader::MergeReader(std::unique_ptr<BatchReader> base, KeyTail tail, KeyOf key_of,
                         std::vector<std::string> columns)
    : base_(std::move(base)),
      tail_(std::move(tail)),
      key_of_(std::move(key_of)),
      columns_(std::move(columns)) {}

Result<std::shared_ptr<arrow::RecordBatch>> MergeReader::Next() {
  while (next_ == ready_.size()) {
    if (done_) return nullptr;
    ready_.clear();
    next_ = 0;
    std::shared_ptr<arrow::RecordBatch> batch;
    if (base_ != nullptr) {
      ASSIGN_OR_RAISE(batch, base_->Next());
    }
    if (batch == nullptr) {
      done_ = true;
      ASSIGN_OR_RAISE(ready_, tail_.Rows(columns_));
    } else {
      RETURN_NOT_OK(Filter(batch));
    }
  }
  return ready_[next_++];
}

Status MergeReader::Filter(const std::shared_ptr<arrow::RecordBatch>& batch) {
  ASSIGN_OR_RAISE(const auto chosen, Choose(batch, columns_));
  if (tail_.keys.empty()) {
    ready_.push_back(chosen);
    return Status::OK();
  }
  ASSIGN_OR_RAISE(const std::vector<std::string> keys, key_of_.Encode(*batch));
  for (size_t at = 0; at < keys.size();) {
    if (tail_.keys.contains(keys[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < keys.size() && !tail_.keys.contains(keys[end])) ++end;
    ready_.push_back(chosen->Slice(static_cast<int64_t>(at), static_cast<int64_t>(end - at)));
    at = end;
  }
  return Status::OK();
}

}  // namespace sluice::sql
