#include "kv/merge_cursor.h"

#include "base/check.h"

namespace sluice::kv {

MergeCursor::MergeCursor(std::vector<const Layer*> layers, std::unique_ptr<KeyStore::Cursor> store)
    : store_(std::move(store)) {
  for (const Layer* layer : layers) sources_.push_back(Source{layer, layer->versions().end()});
}

void MergeCursor::Seek(std::string_view key) {
  for (Source& source : sources_) source.at = source.layer->versions().lower_bound(key);
  store_->Seek(key);
  Settle();
}

void MergeCursor::Next() {
  CHECK(valid_);
  Step();
  Settle();
}

void MergeCursor::Settle() {
  valid_ = false;
  while (store_->status().ok()) {
    // The first source that shows the smallest key is the newest that knows it.
    const Source* newest = nullptr;
    for (const Source& source : sources_) {
      if (!source.done() && (newest == nullptr || source.at->first < newest->at->first))
        newest = &source;
    }
    in_store_alone_ = store_->valid() && (newest == nullptr || store_->key() < newest->at->first);
    if (in_store_alone_) {
      key_ = store_->key();
      value_ = store_->value();
      valid_ = true;
      return;
    }
    if (newest == nullptr) return;
    key_ = newest->at->first;
    if (newest->at->second.has_value()) {
      value_ = *newest->at->second;
      valid_ = true;
      return;
    }
    Step();
  }
}

void MergeCursor::Step() {
  if (in_store_alone_) return store_->Next();
  for (Source& source : sources_) {
    if (!source.done() && source.at->first == key_) ++source.at;
  }
  if (store_->valid() && store_->key() == key_) store_->Next();
}

}  // namespace sluice::kv
