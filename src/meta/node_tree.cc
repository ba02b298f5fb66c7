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
  Overlay(const std::map<std::string, NodeTree::Node>& base, NodeTree::Staged* out)
      : base_(base), out_(out) {}

  const NodeTree::Node* Find(const std::string& key) const {
    if (const auto changed = out_->changes.find(key); changed != out_->changes.end()) {
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
      if (!out_->changes.contains(at->first)) keys.push_back(at->first);
    }
    for (auto at = out_->changes.lower_bound(from);
         at != out_->changes.end() && IsBelow(at->first, key); ++at) {
      if (at->second.has_value()) keys.push_back(at->first);
    }
    std::ranges::sort(keys);
    return keys;
  }

  Status Create(const std::string& key, std::string value, MetaStore::SessionId session) {
    if (Find(key) != nullptr)
      return Status::AlreadyExists("metadata node exists already path=", PathOf(key));
    RETURN_NOT_OK(CreateParents(key));
    Put(key, NodeTree::Node{std::move(value), 0, session}, MetaStore::Event::Kind::kCreated);
    return Status::OK();
  }

  void Set(const std::string& key, const NodeTree::Node& old, std::string value) {
    Put(key, NodeTree::Node{std::move(value), old.version + 1, old.session},
        MetaStore::Event::Kind::kChanged);
  }

  void Delete(const std::string& key) {
    out_->changes[key] = std::nullopt;
    out_->events.push_back({MetaStore::Event::Kind::kDeleted, PathOf(key)});
  }

 private:
  Status CreateParents(const std::string& key) {
    for (size_t end = key.find(kSeparator, 1); end != std::string::npos;
         end = key.find(kSeparator, end + 1)) {
      const std::string parent = key.substr(0, end);
      const NodeTree::Node* node = Find(parent);
      if (node == nullptr) {
        Put(parent, NodeTree::Node{}, MetaStore::Event::Kind::kCreated);
      } else if (node->session != 0) {
        return Status::Invalid("an ephemeral metadata node has no children path=", PathOf(key));
      }
    }
    return Status::OK();
  }

  void Put(const std::string& key, NodeTree::Node node, MetaStore::Event::Kind kind) {
    out_->changes[key] = std::move(node);
    out_->events.push_back({kind, PathOf(key)});
  }

  const std::map<std::string, NodeTree::Node>& base_;
  NodeTree::Staged* out_;
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
      return overlay->Create(key, op.value, op.session);
    case Kind::kSet: {
      ASSIGN_OR_RAISE(const NodeTree::Node* node, Expect(*overlay, key, op.version));
      overlay->Set(key, *node, op.value);
      return Status::OK();
    }
    case Kind::kPut: {
      const NodeTree::Node* node = overlay->Find(key);
      if (node == nullptr) return overlay->Create(key, op.value, 0);
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

Result<NodeTree::Staged> NodeTree::Stage(const std::vector<MetaStore::Op>& ops) const {
  Staged staged;
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

std::vector<std::string> NodeTree::PathsOf(MetaStore::SessionId session) const {
  std::vector<std::string> paths;
  for (const auto& [key, node] : nodes_) {
    if (node.session == session) paths.push_back(PathOf(key));
  }
  return paths;
}

Result<std::optional<MetaStore::Node>> TreeStore::Get(const std::string& path) {
  ASSIGN_OR_RAISE(const std::string key, NodeTree::KeyOf(path));
  const NodeTree::Node* node = tree_.Find(key);
  if (node == nullptr) return std::optional<Node>();
  return std::optional<Node>(Node{node->value, node->version, node->session != 0});
}

Result<std::vector<std::string>> TreeStore::Children(const std::string& path) {
  ASSIGN_OR_RAISE(const std::string key, NodeTree::KeyOf(path));
  return tree_.Children(key);
}

Status TreeStore::Apply(std::vector<Op> ops) {
  ASSIGN_OR_RAISE(const NodeTree::Staged staged, tree_.Stage(ops));
  if (!staged.changes.empty()) RETURN_NOT_OK(Persist(staged.changes));
  tree_.Commit(staged.changes);
  Tell(staged.events);
  return Status::OK();
}

Result<MetaStore::SessionId> TreeStore::BeginSession() { return next_session_++; }

Status TreeStore::EndSession(SessionId session) {
  std::vector<Op> ops;
  for (std::string& path : tree_.PathsOf(session)) ops.push_back(Delete(std::move(path)));
  return Apply(std::move(ops));
}

MetaStore::WatchId TreeStore::Watch(std::string path, Watcher watcher) {
  watches_.emplace(next_watch_, Watched{std::move(path), std::move(watcher)});
  return next_watch_++;
}

void TreeStore::Unwatch(WatchId watch) { watches_.erase(watch); }

void TreeStore::Tell(const std::vector<Event>& events) {
  if (watches_.empty()) return;
  // A watcher may change the watches or apply again, so none is called from within the map.
  std::vector<std::pair<Watcher, Event>> calls;
  for (const Event& event : events) {
    for (const auto& [id, watched] : watches_) {
      const bool below = event.path.size() > watched.path.size() &&
                         event.path.starts_with(watched.path) &&
                         event.path[watched.path.size()] == '/';
      if (below || event.path == watched.path) calls.emplace_back(watched.watcher, event);
    }
  }
  for (const auto& [watcher, event] : calls) watcher(event);
}

std::unique_ptr<MetaStore> NewMemoryMetaStore() { return std::make_unique<MemoryStore>(); }

}  // namespace sluice::meta
