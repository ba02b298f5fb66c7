#include "kv/merge_cursor.h"

#include "base/check.h"

namespace sluice::kv {

MergeCursor::MergeCursor(std::vector<const Layer*> layers, std::unique_ptr<KeyStore::Cursor> store)
    : store_(std::move(store)) {
  for (const Layer* layer : layers) sources_.push_back(Source{layer, layer->versions().end()});
}

void MergeCursor::Seek(std::string_view key) {
  for (Source& source : sources_) source.at = source.layer->versions().LowerBound(key);
  store_->Seek(key);
  LookAtStore();
  Settle();
}

void MergeCursor::Next() {
  CHECK(valid_);
  Step();
  Settle();
}

// Its status says something only where it shows no key.
void MergeCursor::LookAtStore() {
  store_valid_ = store_->valid();
  store_failed_ = !store_valid_ && !store_->status().ok();
}

void MergeCursor::StepStore() {
  store_->Next();
  LookAtStore();
}

void MergeCursor::Settle() {
  valid_ = false;
  while (!store_failed_) {
    // The first source that shows the smallest key is the newest that knows it.
    const Source* newest = nullptr;
    for (const Source& source : sources_) {
      if (!source.done() && (newest == nullptr || source.at->key < newest->at->key))
        newest = &source;
    }
    in_store_alone_ = store_valid_ && (newest == nullptr || store_->key() < newest->at->key);
    if (in_store_alone_) {
      key_ = store_->key();
      value_ = store_->value();
      valid_ = true;
      return;
    }
    if (newest == nullptr) return;
    key_ = newest->at->key;
    if (newest->at->version.has_value()) {
      value_ = *newest->at->version;
      valid_ = true;
      return;
    }
    Step();
  }
}

void MergeCursor::Step() {
  if (in_store_alone_) return StepStore();
  for (Source& source : sources_) {
    if (!source.done() && source.at->key == key_) ++source.at;
  }
  if (store_valid_ && store_->key() == key_) StepStore();
}

}  // namespace sluice::kv
