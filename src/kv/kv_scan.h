#pragma once
#include <memory>
#include <vector>

#include "kv/kv_tablet.h"
#include "kv/merge_cursor.h"

namespace sluice::kv {

/// A scan over frozen layers and a store as they were when it was made; it keeps both alive.
class LayeredScan : public KvScan {
 public:
  using Layers = std::vector<std::shared_ptr<const Frozen>>;  ///< Oldest first.
  LayeredScan(Layers layers, std::shared_ptr<KeyStore> store,
              std::unique_ptr<KeyStore::Cursor> cursor, int64_t log_offset);

  int64_t log_offset() const override { return log_offset_; }
  Status Next(size_t bytes_max, int64_t rows_max, wire::ValueBatchBuilder* out) override;
  bool done() const override { return done_; }

 private:
  const Layers layers_;
  const std::shared_ptr<KeyStore> store_;  // Outlives the cursor.
  MergeCursor cursor_;
  const int64_t log_offset_;
  bool started_ = false;
  bool done_ = false;
};

}  // namespace sluice::kv
