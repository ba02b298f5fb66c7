#include <algorithm>

#include "meta/memory_store.h"
#include "meta/node_tree_internal.h"

namespace sluice::meta {

namespace {

constexpr char kSeparator = '\x01';

std::string PathOf(const std::string& key) {
  std::string path = key;
  std::ranges::replace(path, kSeparator, '/');
  return path;
}

bool IsBelow(std::string_view key, std::string_view ancestor) {
  return key.size() > ancestor.size() && key.starts_with(ancestor) &&
         key[ancestor.size()] == kSeparator;
}

// A tree with a batch's changes on top, while the batch is being staged.
class Overlay {
 public:
  Overlay(const std::map<std::string, NodeTree::Node>& base, NodeTree::Changes* changes)
      : base_(base), changes_(changes) {}

  const NodeTree::Node* Find(const std::string& key) const {
    if (const auto changed = changes_->find(key); changed != changes_->end()) {
      return changed->second.has_value() ? &*changed->second : nullptr;
    }
    const auto found = base_.find(key);
    return found == base_.end() ? nullptr : &found->second;
  }

  // Keys below `key` that exist, children after their parents.
  std::vector<std::string> Below(const std::string& key) const {
    std::vector<std::string> keys;
    const std::string from = key + kSeparator;
    for (auto at = base_.lower_bound(from); at != base_.end() && IsBelow(at->first, key); ++at) {
      if (!changes_->contains(at->first)) keys.push_back(at->first);
    }
    for (auto at = changes_->lower_bound(from); at != changes_->end() && IsBelow(at->first, key);
         ++at) {
      if (at->second.has_value()) keys.push_back(at->first);
    }
    std::ranges::sort(keys);
    return keys;
  }

  Status Create(const std::string& key, std::string value) {
    if (Find(key) != nullptr)
      return Status::AlreadyExists("metadata node exists already path=", PathOf(key));
    CreateParents(key);
    (*changes_)[key] = NodeTree::Node{std::move(value), 0};
    return Status::OK();
  }

  void Set(const std::string& key, const NodeTree::Node& old, std::string value) {
    (*changes_)[key] = NodeTree::Node{std::move(value), old.version + 1};
  }

  void Delete(const std::string& key) { (*changes_)[key] = std::nullopt; }

 private:
  void CreateParents(const std::string& key) {
    for (size_t end = key.find(kSeparator, 1); end != std::string::npos;
         end = key.find(kSeparator, end + 1)) {
      const std::string parent = key.substr(0, end);
      if (Find(parent) == nullptr) (*changes_)[parent] = NodeTree::Node{};
    }
  }

  const std::map<std::string, NodeTree::Node>& base_;
  NodeTree::Changes* changes_;
};

Result<const NodeTree::Node*> Expect(const Overlay& overlay, const std::string& key,
                                     int64_t version) {
  const NodeTree::Node* node = overlay.Find(key);
  if (node == nullptr) return Status::KeyError("no such metadata node path=", PathOf(key));
  if (version != MetaStore::kAnyVersion && version != node->version) {
    return Error(ErrorCode::kInvalidUpdateVersion,
                 "metadata node has another version path=", PathOf(key), " expected=", version,
                 " found=", node->version);
  }
  return node;
}

Status StageOne(Overlay* overlay, const MetaStore::Op& op) {
  using Kind = MetaStore::Op::Kind;
  ASSIGN_OR_RAISE(const std::string key, NodeTree::KeyOf(op.path));
  switch (op.kind) {
    case Kind::kCheck:
      return Expect(*overlay, key, op.version).status();
    case Kind::kCreate:
      return overlay->Create(key, op.value);
    case Kind::kSet: {
      ASSIGN_OR_RAISE(const NodeTree::Node* node, Expect(*overlay, key, op.version));
      overlay->Set(key, *node, op.value);
      return Status::OK();
    }
    case Kind::kPut: {
      const NodeTree::Node* node = overlay->Find(key);
      if (node == nullptr) return overlay->Create(key, op.value);
      overlay->Set(key, *node, op.value);
      return Status::OK();
    }
    case Kind::kDelete: {
      RETURN_NOT_OK(Expect(*overlay, key, op.version));
      if (!overlay->Below(key).empty())
        return Status::Invalid("metadata node has children path=", op.path);
      overlay->Delete(key);
      return Status::OK();
    }
    case Kind::kDeleteTree: {
      const auto below = overlay->Below(key);
      for (auto at = below.rbegin(); at != below.rend(); ++at) overlay->Delete(*at);
      if (overlay->Find(key) != nullptr) overlay->Delete(key);
      return Status::OK();
    }
  }
  return Status::Invalid("unknown metadata step");
}

class MemoryStore : public TreeStore {
 protected:
  Status Persist(const NodeTree::Changes&) override { return Status::OK(); }
};

}  // namespace

Result<std::string> NodeTree::KeyOf(const std::string& path) {
  const bool has_control =
      std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (path.size() < 2 || path.front() != '/' || path.back() == '/' ||
      path.find("//") != std::string::npos || has_control) {
    return Status::Invalid("malformed metadata path=", path);
  }
  std::string key = path;
  std::ranges::replace(key, '/', kSeparator);
  return key;
}

const NodeTree::Node* NodeTree::Find(const std::string& key) const {
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<std::string> NodeTree::Children(const std::string& key) const {
  std::vector<std::string> names;
  const std::string from = key + kSeparator;
  auto at = nodes_.lower_bound(from);
  while (at != nodes_.end() && IsBelow(at->first, key)) {
    const std::string child = at->first.substr(0, at->first.find(kSeparator, from.size()));
    names.push_back(child.substr(from.size()));
    at = nodes_.lower_bound(child +
                            static_cast<char>(kSeparator + 1));  // Past everything below the child.
  }
  return names;
}

Result<NodeTree::Changes> NodeTree::Stage(const std::vector<MetaStore::Op>& ops) const {
  Changes staged;
  Overlay overlay(nodes_, &staged);
  for (const MetaStore::Op& op : ops) RETURN_NOT_OK(StageOne(&overlay, op));
  return staged;
}

void NodeTree::Commit(const Changes& changes) {
  for (const auto& [key, node] : changes) {
    if (node.has_value()) {
      nodes_[key] = *node;
    } else {
      nodes_.erase(key);
    }
  }
}

Result<std::optional<MetaStore::Node>> TreeStore::Get(const std::string& path) {
  ASSIGN_OR_RAISE(const std::string key, NodeTree::KeyOf(path));
  const NodeTree::Node* node = tree_.Find(key);
  if (node == nullptr) return std::optional<Node>();
  return std::optional<Node>(Node{node->value, node->version});
}

Result<std::vector<std::string>> TreeStore::Children(const std::string& path) {
  ASSIGN_OR_RAISE(const std::string key, NodeTree::KeyOf(path));
  return tree_.Children(key);
}

Status TreeStore::Apply(std::vector<Op> ops) {
  ASSIGN_OR_RAISE(const NodeTree::Changes changes, tree_.Stage(ops));
  if (!changes.empty()) RETURN_NOT_OK(Persist(changes));
  tree_.Commit(changes);
  return Status::OK();
}

std::unique_ptr<MetaStore> NewMemoryMetaStore() { return std::make_unique<MemoryStore>(); }

}  // namespace sluice::meta
