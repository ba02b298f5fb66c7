#include <algorithm>
#include <set>

#include "io/sim/sim_disk_internal.h"

namespace sluice::io::internal {

void SimContent::Apply(const Change& change, std::string* bytes) {
  if (!change.bytes.has_value()) {
    bytes->resize(change.position_bytes);
    return;
  }
  const uint64_t end = change.position_bytes + change.bytes->size();
  if (bytes->size() < end) bytes->resize(end);
  bytes->replace(change.position_bytes, change.bytes->size(), *change.bytes);
}

void SimContent::Write(uint64_t position_bytes, std::string_view bytes) {
  unsynced_.push_back({position_bytes, std::string(bytes)});
  Apply(unsynced_.back(), &bytes_);
}

void SimContent::Truncate(uint64_t size_bytes) {
  unsynced_.push_back({size_bytes, std::nullopt});
  Apply(unsynced_.back(), &bytes_);
}

void SimContent::Sync() {
  for (const Change& change : unsynced_) Apply(change, &synced_);
  unsynced_.clear();
}

void SimContent::LosePower(Random& random) {
  // Half the time the device kept the order and a first part survives, half the time it kept none.
  const bool in_order = random.Below(2) == 0;
  const uint64_t survive = random.Below(unsynced_.size() + 1);
  for (size_t i = 0; i < unsynced_.size(); ++i) {
    Change& change = unsynced_[i];
    const bool tear = change.bytes.has_value() && random.Below(4) == 0;
    if (in_order && i > survive) break;
    if (in_order ? i == survive && !tear : random.Below(2) == 0) continue;
    if (tear) {
      const uint64_t kept = random.Below(change.bytes->size() + 1);
      const bool zeros_follow =
          random.Below(2) == 0;  // The size reached the disk, the last blocks did not.
      std::string torn = change.bytes->substr(0, kept);
      if (zeros_follow) torn.resize(change.bytes->size());
      change.bytes = std::move(torn);
    }
    Apply(change, &synced_);
  }
  unsynced_.clear();
  bytes_ = synced_;
}

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, slash - at);
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    at = slash + 1;
  }
  return parts;
}

SimDisk::SimDisk() { nodes_[0].is_folder = true; }

std::optional<uint64_t> SimDisk::Find(const std::string& path) const {
  uint64_t node = 0;
  for (const std::string& part : SplitPath(path)) {
    const auto& names = nodes_.at(node).names;
    const auto found = names.find(part);
    if (found == names.end()) return std::nullopt;
    node = found->second;
  }
  return node;
}

uint64_t SimDisk::Add(bool is_folder, int64_t now_ms) {
  SimNode& node = nodes_[next_node_];
  node.is_folder = is_folder;
  node.modified_ms = now_ms;
  return next_node_++;
}

namespace {
using Names = std::map<std::string, uint64_t>;
void ChangeName(const SimNameChange::Part& part, Names* names) {
  if (part.node.has_value()) {
    (*names)[part.name] = *part.node;
  } else {
    names->erase(part.name);
  }
}
}  // namespace

void SimDisk::ChangeNames(SimNameChange change) {
  for (const auto& part : change.parts) ChangeName(part, &at(part.folder).names);
  journal_.push_back(std::move(change));
}

bool SimDisk::IsDurable(uint64_t folder, const std::string& name) const {
  return std::ranges::none_of(journal_, [&](const SimNameChange& change) {
    return std::ranges::any_of(change.parts, [&](const SimNameChange::Part& part) {
      return part.folder == folder && part.name == name;
    });
  });
}

void SimDisk::MakeDurable(const SimNameChange& change) {
  for (const auto& part : change.parts) ChangeName(part, &at(part.folder).synced_names);
}

void SimDisk::SyncNames(uint64_t folder) {
  // Backwards, so that a rename between folders takes with it what happened before in the other
  // folder.
  std::set<uint64_t> touched{folder};
  std::vector<bool> durable(journal_.size());
  for (size_t i = journal_.size(); i-- > 0;) {
    const auto& parts = journal_[i].parts;
    durable[i] =
        std::ranges::any_of(parts, [&](const auto& part) { return touched.contains(part.folder); });
    if (!durable[i]) continue;
    for (const auto& part : parts) touched.insert(part.folder);
  }
  std::vector<SimNameChange> rest;
  for (size_t i = 0; i < journal_.size(); ++i) {
    if (durable[i]) {
      MakeDurable(journal_[i]);
    } else {
      rest.push_back(std::move(journal_[i]));
    }
  }
  journal_ = std::move(rest);
}

void SimDisk::SyncAll() {
  for (auto& [number, node] : nodes_) {
    node.content.Sync();
    if (node.is_folder) SyncNames(number);
  }
}

void SimDisk::LosePower(Random& random) {
  std::set<uint64_t> stopped;  // Folders whose later changes are lost.
  for (const SimNameChange& change : journal_) {
    const bool lost =
        random.Below(2) == 0 || std::ranges::any_of(change.parts, [&](const auto& part) {
          return stopped.contains(part.folder);
        });
    if (!lost) {
      MakeDurable(change);
      continue;
    }
    for (const auto& part : change.parts) stopped.insert(part.folder);
  }
  journal_.clear();
  for (auto& [number, node] : nodes_) {
    node.names = node.synced_names;
    node.content.LosePower(random);
  }
}

}  // namespace sluice::io::internal
