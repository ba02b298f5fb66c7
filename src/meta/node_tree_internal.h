#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meta/store.h"

namespace sluice::meta {

/// The nodes of a store in memory, and what a batch of steps would change.
///
/// A node's key is its path with each '/' as byte 1, so that a node, what is below it, and its
/// siblings sort apart.
class NodeTree {
 public:
  struct Node {
    std::string value;
    int64_t version = 0;
  };
  /// Final state of each changed key; nullopt = gone.
  using Changes = std::map<std::string, std::optional<Node>>;

  /// Errors: Invalid for a path that does not begin with '/', ends with it, or has an empty name or
  /// a control byte.
  static Result<std::string> KeyOf(const std::string& path);

  const Node* Find(const std::string& key) const;
  std::vector<std::string> Children(const std::string& key) const;
  /// What `ops` would do, seen in order. Errors: those of MetaStore::Apply.
  Result<Changes> Stage(const std::vector<MetaStore::Op>& ops) const;
  void Commit(const Changes& changes);

 private:
  std::map<std::string, Node> nodes_;
};

/// A MetaStore over a NodeTree; the subclass makes batches durable.
class TreeStore : public MetaStore {
 public:
  Result<std::optional<Node>> Get(const std::string& path) override;
  Result<std::vector<std::string>> Children(const std::string& path) override;
  Status Apply(std::vector<Op> ops) override;

 protected:
  /// Make the changes durable, whole or not at all.
  virtual Status Persist(const NodeTree::Changes& changes) = 0;
  NodeTree tree_;
};

}  // namespace sluice::meta
