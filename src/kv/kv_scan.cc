#include "kv/kv_scan.h"

#include "wire/kv_batch.h"

namespace sluice::kv {
namespace {

std::vector<const Layer*> NewestFirst(const LayeredScan::Layers& layers) {
  std::vector<const Layer*> newest_first;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    newest_first.push_back(&(*layer)->layer);
  return newest_first;
}

}  // namespace

LayeredScan::LayeredScan(Layers layers, std::shared_ptr<KeyStore> store,
                         std::unique_ptr<KeyStore::Cursor> cursor, int64_t log_offset)
    : layers_(std::move(layers)),
      store_(std::move(store)),
      cursor_(NewestFirst(layers_), std::move(cursor)),
      log_offset_(log_offset) {}

Status LayeredScan::Next(size_t bytes_max, int64_t rows_max, wire::ValueBatchBuilder* out) {
  if (done_) return Status::OK();
  if (!started_) {
    cursor_.Seek("");
    started_ = true;
  }
  for (size_t size_bytes = 0; cursor_.valid() && out->count() < rows_max; cursor_.Next()) {
    size_bytes += cursor_.value().size();
    if (out->count() > 0 && size_bytes > bytes_max) break;
    out->Add(cursor_.value());
  }
  RETURN_NOT_OK(cursor_.status());
  done_ = !cursor_.valid();
  return Status::OK();
}

}  // namespace sluice::kv
