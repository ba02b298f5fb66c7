#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lake/paimon/file_rows.h"

namespace sluice::lake::paimon {

/// Merged rows: each key once, in key order.
struct MergedRows {
  int64_t count = 0;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  std::vector<int64_t> sequences;
  std::vector<int8_t> kinds;
};

/// Merges sorted files: of each key the row with the greatest sequence number. Holds one batch per
/// file, and what it took of others since it last gave rows: `bytes_max`, and a batch per file.
///
/// A file's keys ascend strictly; anything else is an error, because rows would be lost without a
/// word.
class MergeReader {
 public:
  static constexpr int64_t kBytesMax = int64_t{64} << 20;
  /// Of each of `files` files that are merged: all their batches together are half of `bytes_max`.
  static BatchSize BatchOf(size_t files, int64_t bytes_max = kBytesMax);

  /// `drop_deleted`: leave out keys whose newest row is -U or -D.
  MergeReader(std::vector<std::unique_ptr<FileRowsReader>> files, bool drop_deleted,
              int64_t bytes_max = kBytesMax);
  ~MergeReader();
  /// The next rows, null at the end.
  Result<std::unique_ptr<MergedRows>> Next();

 private:
  struct Cursor;
  Status Fill(Cursor* cursor);
  Status Advance(Cursor* cursor);
  bool Later(size_t a, size_t b) const;
  Result<std::unique_ptr<MergedRows>> Materialise();

  bool drop_deleted_;
  int64_t bytes_max_;
  bool started_ = false;
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::vector<size_t>
      heap_;  // Cursors with rows left; the least key, then the greatest sequence, on top.
  std::string last_key_;
  bool has_last_ = false;
  struct Picked {
    uint32_t cursor;
    uint32_t
        row;  // Counted from the first row that the cursor has consumed since the last Materialise.
  };
  std::vector<Picked> picked_;
  std::vector<int64_t> sequences_;
  std::vector<int8_t> kinds_;
  size_t consumed_ = 0;
  int64_t consumed_bytes_ = 0;  // By the mean of each batch.
};

}  // namespace sluice::lake::paimon
