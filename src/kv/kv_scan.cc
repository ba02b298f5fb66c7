#include "kv/kv_scan.h"

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

Result<std::vector<std::string>> LayeredScan::Next(size_t bytes_max) {
  std::vector<std::string> values;
  if (done_) return values;
  if (!started_) {
    cursor_.Seek("");
    started_ = true;
  }
  for (size_t size_bytes = 0; cursor_.valid(); cursor_.Next()) {
    size_bytes += cursor_.value().size();
    if (!values.empty() && size_bytes > bytes_max) break;
    values.emplace_back(cursor_.value());
  }
  RETURN_NOT_OK(cursor_.status());
  done_ = !cursor_.valid();
  return values;
}

}  // namespace sluice::kv
