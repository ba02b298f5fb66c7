#pragma once
#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::meta {

/// A sorted map whose copies share what is equal in them, so that a copy costs nothing and a change
/// of a copy costs the logarithm of its size.
///
/// An AVL tree of immutable nodes: a change makes new nodes from the root down to the place, and
/// leaves the others to all who hold them. Views of entries live as long as any map that has the
/// entry. Threads: as std::map; maps that share nodes may be used from different threads.
template <typename Key, typename Value>
class SharedMap {
  struct Node;
  using NodePtr = std::shared_ptr<const Node>;

 public:
  using Entry = std::pair<const Key, Value>;

  /// Goes over the entries by rising keys; valid while a map that it came from lives.
  class Iterator {
   public:
    explicit Iterator(const Node* root) { Descend(root); }
    const Entry& operator*() const { return *path_.back()->entry; }
    Iterator& operator++() {
      const Node* right = path_.back()->right.get();
      path_.pop_back();
      Descend(right);
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return path_.empty(); }

   private:
    void Descend(const Node* node) {
      for (; node != nullptr; node = node->left.get()) path_.push_back(node);
    }
    std::vector<const Node*> path_;  // The next entry, and those above it that come later.
  };

  Iterator begin() const { return Iterator(root_.get()); }
  std::default_sentinel_t end() const { return {}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Null when there is none. `key` is anything that compares with a Key.
  template <typename Asked>
  const Value* Find(const Asked& key) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      const Key& here = node->entry->first;
      if (std::less<>()(key, here)) {
        node = node->left.get();
      } else if (std::less<>()(here, key)) {
        node = node->right.get();
      } else {
        return &node->entry->second;
      }
    }
    return nullptr;
  }
  template <typename Asked>
  bool contains(const Asked& key) const {
    return Find(key) != nullptr;
  }

  /// Add an entry, or replace the one with this key.
  void Set(Key key, Value value) {
    if (!contains(key)) ++size_;
    root_ = Insert(root_, std::make_shared<const Entry>(Entry{std::move(key), std::move(value)}));
  }

  /// Fine when there is none.
  void Erase(const Key& key) {
    if (!contains(key)) return;
    --size_;
    root_ = Remove(root_, key);
  }

 private:
  using EntryPtr = std::shared_ptr<const Entry>;
  struct Node {
    EntryPtr entry;
    NodePtr left;
    NodePtr right;
    int height;
  };

  static int HeightOf(const NodePtr& node) { return node == nullptr ? 0 : node->height; }

  static NodePtr Join(EntryPtr entry, NodePtr left, NodePtr right) {
    const int height = 1 + std::max(HeightOf(left), HeightOf(right));
    return std::make_shared<const Node>(
        Node{std::move(entry), std::move(left), std::move(right), height});
  }

  // The same for sides whose heights differ by two at most.
  static NodePtr Balance(EntryPtr entry, NodePtr left, NodePtr right) {
    if (HeightOf(left) > HeightOf(right) + 1) {
      if (HeightOf(left->left) >= HeightOf(left->right))
        return Join(left->entry, left->left, Join(entry, left->right, right));
      const NodePtr& middle = left->right;
      return Join(middle->entry, Join(left->entry, left->left, middle->left),
                  Join(entry, middle->right, right));
    }
    if (HeightOf(right) > HeightOf(left) + 1) {
      if (HeightOf(right->right) >= HeightOf(right->left))
        return Join(right->entry, Join(entry, left, right->left), right->right);
      const NodePtr& middle = right->left;
      return Join(middle->entry, Join(entry, left, middle->left),
                  Join(right->entry, middle->right, right->right));
    }
    return Join(std::move(entry), std::move(left), std::move(right));
  }

  static NodePtr Insert(const NodePtr& node, EntryPtr entry) {
    if (node == nullptr) return Join(std::move(entry), nullptr, nullptr);
    if (std::less<>()(entry->first, node->entry->first))
      return Balance(node->entry, Insert(node->left, std::move(entry)), node->right);
    if (std::less<>()(node->entry->first, entry->first))
      return Balance(node->entry, node->left, Insert(node->right, std::move(entry)));
    return Join(std::move(entry), node->left, node->right);
  }

  // `key` is there.
  static NodePtr Remove(const NodePtr& node, const Key& key) {
    if (std::less<>()(key, node->entry->first))
      return Balance(node->entry, Remove(node->left, key), node->right);
    if (std::less<>()(node->entry->first, key))
      return Balance(node->entry, node->left, Remove(node->right, key));
    if (node->left == nullptr) return node->right;
    if (node->right == nullptr) return node->left;
    const Node* next = node->right.get();
    while (next->left != nullptr) next = next->left.get();
    return Balance(next->entry, node->left, Remove(node->right, next->entry->first));
  }

  NodePtr root_;
  size_t size_ = 0;
};

}  // namespace sluice::meta
