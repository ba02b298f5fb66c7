#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/random.h"

namespace sluice::io::internal {

/// Content of one simulated file: what reads see, and what a power loss can leave of it.
class SimContent {
 public:
  const std::string& bytes() const { return bytes_; }
  void Write(uint64_t position_bytes, std::string_view bytes);
  void Truncate(uint64_t size_bytes);
  void Sync();
  /// Keep, drop or tear each unsynced change; what is left is durable.
  void LosePower(Random& random);

 private:
  struct Change {
    uint64_t position_bytes;
    std::optional<std::string> bytes;  // Absent: truncated to the position.
  };
  static void Apply(const Change& change, std::string* bytes);

  std::string bytes_;
  std::string synced_;
  std::vector<Change> unsynced_;
};

/// A file or a folder. Folders hold names by number, so that a removed one can come back after a
/// power loss.
struct SimNode {
  bool is_folder = false;
  int64_t modified_ms = 0;
  SimContent content;
  std::map<std::string, uint64_t> names;         // As seen now.
  std::map<std::string, uint64_t> synced_names;  // After a power loss that loses all it can.
};

/// One change of names; a rename touches two at once, perhaps in two folders.
struct SimNameChange {
  struct Part {
    uint64_t folder;
    std::string name;
    std::optional<uint64_t> node;  // Absent: removed.
  };
  std::vector<Part> parts;
};

/// The tree: nodes by number (0 is the root) and the journal of unsynced name changes.
class SimDisk {
 public:
  SimDisk();
  SimNode& at(uint64_t node) { return nodes_.at(node); }
  /// Number of the node at a path, by its names as seen now.
  std::optional<uint64_t> Find(const std::string& path) const;
  uint64_t Add(bool is_folder, int64_t now_ms);
  void ChangeNames(SimNameChange change);
  /// Whether a power loss would leave `name` in `folder` as it is now.
  bool IsDurable(uint64_t folder, const std::string& name) const;
  /// Make the name changes that touch `folder` durable, with those before them that touch the same
  /// folders.
  void SyncNames(uint64_t folder);
  void SyncAll();
  void LosePower(Random& random);

 private:
  void MakeDurable(const SimNameChange& change);
  std::map<uint64_t, SimNode> nodes_;
  std::vector<SimNameChange> journal_;
  uint64_t next_node_ = 1;
};

/// "a/b" of any spelling as its parts.
std::vector<std::string> SplitPath(const std::string& path);

}  // namespace sluice::io::internal
