#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace sluice::meta {

/// A tree of small values under paths like "/metadata/databases/fluss": of what ZooKeeper offers
/// the part that one process needs.
///
/// A node has a value and a version, which starts at 0 and grows by one with each Set. Missing
/// parents are made with empty values. Every Apply is durable when it returns, whole or not at all.
/// Names between slashes are not empty and hold no '/' and no byte 0.
/// Threads: confined to one thread.
class MetaStore {
 public:
  static constexpr int64_t kAnyVersion = -1;

  struct Node {
    std::string value;
    int64_t version = 0;
  };
  /// One step of an Apply; steps see what the steps before them did.
  struct Op {
    enum class Kind { kCheck, kCreate, kSet, kPut, kDelete, kDeleteTree };
    Kind kind;
    std::string path;
    std::string value;
    int64_t version = kAnyVersion;  ///< What Check, Set and Delete expect.
  };

  // Makers of steps.
  static Op Check(std::string path, int64_t version) {
    return {Op::Kind::kCheck, std::move(path), "", version};
  }
  static Op Create(std::string path, std::string value) {
    return {Op::Kind::kCreate, std::move(path), std::move(value)};
  }
  static Op Set(std::string path, std::string value, int64_t version = kAnyVersion) {
    return {Op::Kind::kSet, std::move(path), std::move(value), version};
  }
  /// Create or Set, whichever fits.
  static Op Put(std::string path, std::string value) {
    return {Op::Kind::kPut, std::move(path), std::move(value)};
  }
  static Op Delete(std::string path, int64_t version = kAnyVersion) {
    return {Op::Kind::kDelete, std::move(path), "", version};
  }
  /// Delete a node with all below it; fine when it is not there.
  static Op DeleteTree(std::string path) { return {Op::Kind::kDeleteTree, std::move(path), ""}; }

  virtual ~MetaStore() = default;

  virtual Result<std::optional<Node>> Get(const std::string& path) = 0;
  /// Names right below `path`, sorted by bytes; empty when the node is not there.
  virtual Result<std::vector<std::string>> Children(const std::string& path) = 0;
  /// Do all steps, or none.
  /// Errors: AlreadyExists (Create of a node that is there), KeyError (no such node),
  /// kInvalidUpdateVersion (another version), Invalid (Delete of a node with children, a malformed
  /// path), kStorage when the disk refused: then nothing has happened, but a process that stops
  /// before its next Apply may find the steps done at its start.
  virtual Status Apply(std::vector<Op> ops) = 0;
};

}  // namespace sluice::meta
