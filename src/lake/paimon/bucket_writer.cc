#include "lake/paimon/bucket_writer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/check.h"
#include "io/crash_point.h"
#include "lake/paimon/sort_key.h"
#include "types/row_batches.h"

namespace sluice::lake::paimon {
namespace {

using Columns = std::vector<std::shared_ptr<arrow::Array>>;

constexpr int64_t kKeyBufferBytes = int64_t{64} << 20;
constexpr size_t kTakeRows = 64 * 1024;

std::unique_ptr<PreparedBucket> Prepare(const BucketPlace& place, std::vector<DataFileMeta> data,
                                        std::vector<DataFileMeta> changelog) {
  auto prepared = std::make_unique<PreparedBucket>();
  prepared->partition = place.partition;
  prepared->bucket = place.bucket;
  prepared->total_buckets = place.total_buckets;
  prepared->folder = place.folder;
  prepared->data = std::move(data);
  prepared->changelog = std::move(changelog);
  CRASH_POINT("lake.write.after-data");
  return prepared;
}

class AppendWriter : public BucketWriter {
 public:
  AppendWriter(std::shared_ptr<const WriteContext> context, RowShaper shaper, BucketPlace place)
      : context_(std::move(context)),
        shaper_(std::move(shaper)),
        place_(std::move(place)),
        files_(*context_, {.folder = place_.folder, .first_sequence = place_.first_sequence}) {}
  ~AppendWriter() override {
    if (!finished_ && files_.Abort()) context_->session.Settle();
  }

  Status Write(const LakeRows& rows) override {
    ASSIGN_OR_RAISE(const Columns columns, shaper_.Shape(rows, place_.fluss_bucket));
    return files_.Write(columns, rows.rows->num_rows());
  }
  int64_t buffered_bytes() const override { return files_.buffered_bytes(); }
  Result<std::unique_ptr<PreparedFiles>> Finish() override {
    ASSIGN_OR_RAISE(auto data, files_.Finish());
    finished_ = true;
    return Prepare(place_, std::move(data), {});
  }

 private:
  std::shared_ptr<const WriteContext> context_;
  RowShaper shaper_;
  BucketPlace place_;
  DataFileWriter files_;
  bool finished_ = false;  // Then the files, and the session's piece of work, are PreparedFiles'.
};

class KeyWriter : public BucketWriter {
 public:
  KeyWriter(std::shared_ptr<const WriteContext> context, RowShaper shaper, BucketPlace place)
      : context_(std::move(context)),
        shaper_(std::move(shaper)),
        place_(std::move(place)),
        data_(*context_, {.folder = place_.folder}),
        changelog_(*context_, {.folder = place_.folder, .prefix = "changelog-"}),
        with_changelog_(context_->schema->Option("changelog-producer") == "input"),
        next_sequence_(place_.first_sequence) {
    for (const std::string& key : context_->schema->TrimmedPrimaryKey()) {
      key_positions_.push_back(static_cast<size_t>(context_->schema->IndexOf(key)));
    }
  }
  ~KeyWriter() override {
    if (finished_) return;
    const bool data_gone = data_.Abort();
    if (changelog_.Abort() && data_gone) context_->session.Settle();
  }

  Status Write(const LakeRows& rows) override {
    CHECK(rows.kinds.empty() || static_cast<int64_t>(rows.kinds.size()) == rows.rows->num_rows());
    ASSIGN_OR_RAISE(const Columns columns, shaper_.Shape(rows, place_.fluss_bucket));
    const auto count = static_cast<size_t>(rows.rows->num_rows());
    for (size_t i = 0; i < count; ++i) {
      kinds_.push_back(static_cast<int8_t>(rows.kinds.empty() ? RowKind::kInsert : rows.kinds[i]));
    }
    if (shape_ == nullptr) shape_ = ShapeOf(columns);
    RETURN_NOT_OK(rows_.Add(arrow::RecordBatch::Make(shape_, rows.rows->num_rows(), columns)));
    return rows_.held_bytes() >= kKeyBufferBytes ? Flush() : Status::OK();
  }

  int64_t buffered_bytes() const override { return rows_.held_bytes(); }

  Result<std::unique_ptr<PreparedFiles>> Finish() override {
    RETURN_NOT_OK(Flush());
    ASSIGN_OR_RAISE(auto data, data_.Finish());
    ASSIGN_OR_RAISE(auto changelog, changelog_.Finish());
    finished_ = true;
    return Prepare(place_, std::move(data), std::move(changelog));
  }

 private:
  // Without names, which nothing here asks for.
  static std::shared_ptr<arrow::Schema> ShapeOf(const Columns& columns) {
    arrow::FieldVector fields;
    for (const auto& column : columns) fields.push_back(arrow::field("", column->type()));
    return arrow::schema(std::move(fields));
  }

  // Sort what is buffered and write it: one sorted run at level 0.
  Status Flush() {
    if (kinds_.empty()) return Status::OK();
    ASSIGN_OR_RAISE(const auto whole, arrow::ConcatenateRecordBatches(rows_.Take()));
    const Columns columns = whole->columns();
    SortKeys keys;
    Columns key_columns;
    for (const size_t at : key_positions_) key_columns.push_back(columns[at]);
    RETURN_NOT_OK(keys.Append(key_columns, static_cast<int64_t>(kinds_.size())));
    const std::vector<uint32_t> sorted = SortedRows(keys);
    if (with_changelog_) RETURN_NOT_OK(WriteRows(columns, sorted, &changelog_));
    std::vector<uint32_t> newest;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const bool last_of_key = i + 1 == sorted.size() || keys[sorted[i]] != keys[sorted[i + 1]];
      if (last_of_key) newest.push_back(sorted[i]);
    }
    RETURN_NOT_OK(WriteRows(columns, newest, &data_));
    next_sequence_ += static_cast<int64_t>(kinds_.size());
    RETURN_NOT_OK(NextRun());
    kinds_.clear();
    return Status::OK();
  }

  // The runs of two flushes overlap, so they may not share a file.
  Status NextRun() {
    RETURN_NOT_OK(data_.EndFile());
    return changelog_.EndFile();
  }

  Status WriteRows(const Columns& columns, const std::vector<uint32_t>& rows, DataFileWriter* out) {
    for (size_t from = 0; from < rows.size(); from += kTakeRows) {
      const size_t to = std::min(rows.size(), from + kTakeRows);
      const std::vector<uint32_t> part(rows.begin() + static_cast<std::ptrdiff_t>(from),
                                       rows.begin() + static_cast<std::ptrdiff_t>(to));
      ASSIGN_OR_RAISE(const Columns values, TakeRows(columns, part));
      Columns shaped;
      for (const size_t at : key_positions_) shaped.push_back(values[at]);
      std::vector<int64_t> sequences;
      std::vector<int8_t> kinds;
      for (const uint32_t row : part) {
        sequences.push_back(next_sequence_ + row);
        kinds.push_back(kinds_[row]);
      }
      const auto count = static_cast<int64_t>(part.size());
      shaped.push_back(std::make_shared<arrow::Int64Array>(
          count, arrow::Buffer::FromVector(std::move(sequences))));
      shaped.push_back(
          std::make_shared<arrow::Int8Array>(count, arrow::Buffer::FromVector(std::move(kinds))));
      std::ranges::copy(values, std::back_inserter(shaped));
      RETURN_NOT_OK(out->Write(shaped, count));
    }
    return Status::OK();
  }

  std::shared_ptr<const WriteContext> context_;
  RowShaper shaper_;
  BucketPlace place_;
  DataFileWriter data_, changelog_;
  bool with_changelog_;
  std::vector<size_t> key_positions_;
  int64_t next_sequence_;  // Of the first buffered row; row i has next_sequence_ + i.
  std::shared_ptr<arrow::Schema> shape_;  // Of the rows, from the first on.
  types::RowBatches rows_;
  std::vector<int8_t> kinds_;
  bool finished_ = false;
};

}  // namespace

int64_t PreparedBucket::record_count() const {
  int64_t count = 0;
  for (const DataFileMeta& file : data) count += file.row_count;
  return count;
}

int64_t PreparedBucket::size_bytes() const {
  int64_t size = 0;
  for (const auto* files : {&data, &changelog}) {
    for (const DataFileMeta& file : *files) size += file.size_bytes;
  }
  return size;
}

std::vector<ManifestEntry> PreparedBucket::Entries(const std::vector<DataFileMeta>& files) const {
  std::vector<ManifestEntry> entries;
  for (const DataFileMeta& file : files)
    entries.push_back({false, partition, bucket, total_buckets, file});
  return entries;
}

Result<Columns> TakeRows(const Columns& columns, const std::vector<uint32_t>& rows) {
  const auto indices = std::make_shared<arrow::UInt32Array>(
      static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(rows.data(), rows.size()));
  Columns taken;
  for (const auto& column : columns) {
    ASSIGN_OR_RAISE(auto array, arrow::compute::Take(*column, *indices,
                                                     arrow::compute::TakeOptions::NoBoundsCheck()));
    taken.push_back(std::move(array));
  }
  return taken;
}

Result<std::unique_ptr<BucketWriter>> MakeAppendWriter(std::shared_ptr<const WriteContext> context,
                                                       RowShaper shaper, BucketPlace place) {
  return std::make_unique<AppendWriter>(std::move(context), std::move(shaper), std::move(place));
}

Result<std::unique_ptr<BucketWriter>> MakeKeyWriter(std::shared_ptr<const WriteContext> context,
                                                    RowShaper shaper, BucketPlace place) {
  return std::make_unique<KeyWriter>(std::move(context), std::move(shaper), std::move(place));
}

}  // namespace sluice::lake::paimon
