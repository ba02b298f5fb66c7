#include "lake/paimon/merge.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>

#include "lake/paimon/bucket_writer.h"

namespace sluice::lake::paimon {
namespace {

constexpr size_t kPickedMax = 16 * 1024;
constexpr size_t kConsumedMax = 64 * 1024;  // Of old rows of overwritten keys too.
constexpr int64_t kFileBatchRows = 8 * 1024;
constexpr int64_t kFileBatchBytesMin = 64 << 10;

}  // namespace

// One file. Rows [start, row) of `batch` and all of `finished` were consumed since the last
// Materialise.
struct MergeReader::Cursor {
  std::unique_ptr<FileRowsReader> file;
  std::shared_ptr<FileRows> batch;
  size_t start = 0;
  size_t row = 0;
  struct Slice {
    std::shared_ptr<FileRows> batch;
    size_t from, to;
  };
  std::vector<Slice> finished;
  size_t finished_rows = 0;
  std::string last_key;  // Of the batch before, to see that keys ascend across batches.

  std::string_view key() const { return batch->keys[row]; }
  int64_t sequence() const { return batch->sequences->Value(static_cast<int64_t>(row)); }
  int64_t row_bytes() const { return batch->size_bytes / batch->count; }
  int8_t kind() const { return batch->kinds->Value(static_cast<int64_t>(row)); }
  uint32_t consumed_row() const { return static_cast<uint32_t>(finished_rows + row - start); }
  Status OutOfOrder() const {
    return Corrupt("keys of a lake file do not ascend, path=", file->path());
  }
  void Finish() {
    if (batch != nullptr && row > start) {
      finished.push_back({batch, start, row});
      finished_rows += row - start;
    }
    start = row;
  }
};

BatchSize MergeReader::BatchOf(size_t files, int64_t bytes_max) {
  const int64_t part = bytes_max / 2 / static_cast<int64_t>(std::max<size_t>(files, 1));
  return {.rows = kFileBatchRows, .bytes = std::max(part, kFileBatchBytesMin)};
}

MergeReader::MergeReader(std::vector<std::unique_ptr<FileRowsReader>> files, bool drop_deleted,
                         int64_t bytes_max)
    : drop_deleted_(drop_deleted), bytes_max_(bytes_max) {
  for (auto& file : files) {
    cursors_.push_back(std::make_unique<Cursor>());
    cursors_.back()->file = std::move(file);
  }
}

MergeReader::~MergeReader() = default;

// True when cursor a comes after b: std heaps keep the greatest on top, we want the least.
bool MergeReader::Later(size_t a, size_t b) const {
  const int order = cursors_[a]->key().compare(cursors_[b]->key());
  if (order != 0) return order > 0;
  return cursors_[a]->sequence() < cursors_[b]->sequence();
}

// Make the cursor stand on a row, or without a batch at the end of its file.
Status MergeReader::Fill(Cursor* cursor) {
  while (cursor->batch == nullptr || cursor->row == static_cast<size_t>(cursor->batch->count)) {
    if (cursor->batch != nullptr) {
      if (cursor->batch->count > 0) cursor->last_key = cursor->batch->keys[cursor->row - 1];
      cursor->Finish();
    }
    ASSIGN_OR_RAISE(cursor->batch, cursor->file->Next());
    cursor->start = cursor->row = 0;
    if (cursor->batch == nullptr) return Status::OK();
    if (cursor->batch->count > 0 && !cursor->last_key.empty() &&
        cursor->key() <= cursor->last_key) {
      return cursor->OutOfOrder();
    }
  }
  return Status::OK();
}

Status MergeReader::Advance(Cursor* cursor) {
  const std::string_view before = cursor->key();
  ++cursor->row;
  ++consumed_;
  consumed_bytes_ += cursor->row_bytes();
  if (cursor->row < static_cast<size_t>(cursor->batch->count)) {
    return cursor->key() <= before ? cursor->OutOfOrder() : Status::OK();
  }
  return Fill(cursor);
}

Result<std::unique_ptr<MergedRows>> MergeReader::Next() {
  const auto later = [this](size_t a, size_t b) { return Later(a, b); };
  if (!started_) {
    started_ = true;
    for (size_t i = 0; i < cursors_.size(); ++i) {
      RETURN_NOT_OK(Fill(cursors_[i].get()));
      if (cursors_[i]->batch != nullptr) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), later);
  }
  while (!heap_.empty() && picked_.size() < kPickedMax && consumed_ < kConsumedMax &&
         consumed_bytes_ < bytes_max_) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const size_t top = heap_.back();
    Cursor* cursor = cursors_[top].get();
    if (!has_last_ || cursor->key() != last_key_) {
      last_key_ = cursor->key();
      has_last_ = true;
      const bool deleted = (cursor->kind() & 1) != 0;  // -U is 1, -D is 3.
      if (!deleted || !drop_deleted_) {
        picked_.push_back({static_cast<uint32_t>(top), cursor->consumed_row()});
        sequences_.push_back(cursor->sequence());
        kinds_.push_back(cursor->kind());
      }
    }
    RETURN_NOT_OK(Advance(cursor));
    if (cursor->batch == nullptr) {
      heap_.pop_back();
    } else {
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  if (picked_.empty() && heap_.empty()) return nullptr;
  return Materialise();
}

Result<std::unique_ptr<MergedRows>> MergeReader::Materialise() {
  std::vector<uint32_t> bases;
  std::vector<Cursor::Slice> slices;
  uint32_t base = 0;
  for (const auto& cursor : cursors_) {
    cursor->Finish();
    bases.push_back(base);
    base += static_cast<uint32_t>(cursor->finished_rows);
    std::ranges::move(cursor->finished, std::back_inserter(slices));
    cursor->finished.clear();
    cursor->finished_rows = 0;
  }
  auto rows = std::make_unique<MergedRows>();
  rows->count = static_cast<int64_t>(picked_.size());
  std::vector<uint32_t> indices;
  for (const Picked& picked : picked_) indices.push_back(bases[picked.cursor] + picked.row);
  std::vector<std::shared_ptr<arrow::Array>> whole;
  const size_t width = slices.empty() ? 0 : slices.front().batch->columns.size();
  for (size_t i = 0; i < width; ++i) {
    arrow::ArrayVector parts;
    for (const Cursor::Slice& slice : slices) {
      parts.push_back(slice.batch->columns[i]->Slice(static_cast<int64_t>(slice.from),
                                                     static_cast<int64_t>(slice.to - slice.from)));
    }
    ASSIGN_OR_RAISE(auto column, arrow::Concatenate(parts));
    whole.push_back(std::move(column));
  }
  ASSIGN_OR_RAISE(rows->columns, TakeRows(whole, indices));
  rows->sequences = std::exchange(sequences_, {});
  rows->kinds = std::exchange(kinds_, {});
  picked_.clear();
  consumed_ = 0;
  consumed_bytes_ = 0;
  return rows;
}

}  // namespace sluice::lake::paimon
