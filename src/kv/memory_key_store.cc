#include "kv/memory_key_store.h"

namespace sluice::kv {

class MemoryKeyStore : public KeyStore {
 public:
  MemoryKeyStore(MemoryKeyStores& stores, std::string folder)
      : stores_(stores), folder_(std::move(folder)) {}

  Result<Applied> applied() override { return Current()->applied; }

  Result<std::vector<std::optional<std::string>>> Get(
      std::span<const std::string_view> keys) override {
    const auto content = Current();
    std::vector<std::optional<std::string>> values;
    values.reserve(keys.size());
    for (const std::string_view key : keys) {
      const auto at = content->values.find(key);
      values.push_back(at == content->values.end() ? std::nullopt : std::make_optional(at->second));
    }
    return values;
  }

  Result<std::optional<std::vector<std::optional<std::string>>>> GetCached(
      std::span<const std::string_view> keys) override {
    if (stores_.cold_) return std::nullopt;
    return Get(keys);
  }

  Result<std::unique_ptr<Cursor>> NewCursor(CursorUse) override {
    return std::make_unique<Walk>(Current());
  }

  Status Write(std::span<const Change> changes, Applied applied) override {
    if (stores_.fail_writes_)
      return Error(ErrorCode::kKvStorage, "simulated write failure folder=", folder_);
    auto next = std::make_shared<MemoryKeyStores::Content>(*Current());
    for (const Change& change : changes) {
      if (change.value.has_value()) {
        next->values.insert_or_assign(std::string(change.key), std::string(*change.value));
      } else if (const auto at = next->values.find(change.key); at != next->values.end()) {
        next->values.erase(at);
      }
    }
    next->applied = applied;
    stores_.keys_written_ += static_cast<int64_t>(changes.size());
    const std::lock_guard lock(stores_.mutex_);
    stores_.contents_[folder_] = std::move(next);
    return Status::OK();
  }

  Result<std::optional<Checkpoint>> MakeCheckpoint(const std::string&) override {
    return Status::NotImplemented("a store in memory has no files folder=", folder_);
  }

  Status Close() override { return Status::OK(); }

 private:
  class Walk : public Cursor {
   public:
    explicit Walk(MemoryKeyStores::Published content)
        : content_(std::move(content)), at_(content_->values.end()) {}
    void Seek(std::string_view key) override { at_ = content_->values.lower_bound(key); }
    bool valid() const override { return at_ != content_->values.end(); }
    std::string_view key() const override { return at_->first; }
    std::string_view value() const override { return at_->second; }
    void Next() override { ++at_; }
    Status status() const override { return Status::OK(); }

   private:
    MemoryKeyStores::Published content_;
    std::map<std::string, std::string, std::less<>>::const_iterator at_;
  };

  MemoryKeyStores::Published Current() {
    const std::lock_guard lock(stores_.mutex_);
    auto& content = stores_.contents_[folder_];
    if (content == nullptr) content = std::make_shared<const MemoryKeyStores::Content>();
    return content;
  }

  MemoryKeyStores& stores_;
  const std::string folder_;
};

Result<std::shared_ptr<KeyStore>> MemoryKeyStores::Open(const std::string& folder) {
  return std::make_shared<MemoryKeyStore>(*this, folder);
}

Status MemoryKeyStores::Remove(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  contents_.erase(folder);
  return Status::OK();
}

}  // namespace sluice::kv
