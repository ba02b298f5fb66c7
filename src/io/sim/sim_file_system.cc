#include "io/sim/sim_file_system.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "io/sim/sim_disk_internal.h"

namespace sluice::io {
namespace {

using internal::SimNameChange;
using internal::SimNode;
using internal::SplitPath;

constexpr uint64_t kDiskBytes = uint64_t{1} << 40;

Status SimError(std::string_view what, const std::string& path, std::string_view reason) {
  return Status::IOError("cannot ", what, " path=", path, " reason=", reason)
      .WithDetail(std::make_shared<CodeDetail>(ErrorCode::kStorage));
}

}  // namespace

struct SimFileSystem::State {
  explicit State(Clock& c) : clock(c) {}

  // Counts a changing operation and asks the hook and the faults; called before anything changes,
  // without the lock.
  Status Begin(std::string_view operation, const std::string& path) {
    Hook ask;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return SimError(operation, path, "machine has stopped");
      ++operations;
      if (fail_in > 0 && --fail_in == 0) return SimError(operation, path, "injected fault");
      ask = hook;
    }
    if (ask && !ask(operation, path)) {
      const std::lock_guard lock(mutex);
      stopped = true;
      return SimError(operation, path, "machine has stopped");
    }
    return Status::OK();
  }

  Status TakeSpace(uint64_t bytes, const std::string& path) {
    if (bytes > free_bytes) return SimError("write", path, "no space left on device");
    free_bytes -= bytes;
    return Status::OK();
  }

  struct Place {
    uint64_t folder;
    std::string name;
    std::optional<uint64_t> node;  // What the name stands for, if anything.
  };
  Result<Place> Locate(const std::string& path) {
    const std::vector<std::string> parts = SplitPath(path);
    if (parts.empty()) return SimError("open", path, "is the root");
    const auto folder =
        disk.Find(path.substr(0, path.find_last_not_of('/') + 1 - parts.back().size()));
    if (!folder.has_value() || !disk.at(*folder).is_folder) return NotFound(path);
    const auto& names = disk.at(*folder).names;
    const auto found = names.find(parts.back());
    return Place{*folder, parts.back(),
                 found == names.end() ? std::nullopt : std::optional(found->second)};
  }
  Result<Place> LocateExisting(const std::string& path) {
    ASSIGN_OR_RAISE(Place place, Locate(path));
    if (!place.node.has_value()) return NotFound(path);
    return place;
  }

  Entry ToEntry(std::string name, uint64_t number) {
    const SimNode& node = disk.at(number);
    return {std::move(name), node.is_folder, node.content.bytes().size(), node.modified_ms};
  }

  void Start() {
    ++boots;
    stopped = false;
    fail_in = 0;
    locked.clear();
  }

  Clock& clock;
  mutable std::mutex mutex;  // Guards what follows.
  internal::SimDisk disk;
  Hook hook;
  uint64_t operations = 0;
  uint64_t fail_in = 0;
  uint64_t free_bytes = kDiskBytes;
  uint64_t boots = 0;  // Open files and locks belong to one of them.
  bool stopped = false;
  Renames renames = Renames::kOneStep;
  std::set<std::string> locked;
};

class SimFileSystem::OpenFile : public File {
 public:
  OpenFile(std::shared_ptr<State> state, std::string path, uint64_t node, bool writable)
      : state_(std::move(state)),
        path_(std::move(path)),
        node_(node),
        writable_(writable),
        boot_(state_->boots) {}

  using File::Append;
  Status Append(std::span<const std::string_view> parts) override {
    std::string joined;
    for (const std::string_view part : parts) joined += part;
    return Write("append", std::nullopt, joined);
  }
  Status WriteAt(uint64_t position_bytes, std::string_view bytes) override {
    return Write("write", position_bytes, bytes);
  }

  Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    const std::lock_guard lock(state_->mutex);
    RETURN_NOT_OK(CheckAlive("read"));
    const std::string& bytes = node().content.bytes();
    if (position_bytes >= bytes.size()) return size_t{0};
    return bytes.copy(out, size, position_bytes);
  }
  Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    ASSIGN_OR_RAISE(const size_t got, ReadAt(position_bytes, size, out));
    if (got != size) return SimError("read", path_, "past the end");
    return true;
  }

  Status Truncate(uint64_t size_bytes) override {
    RETURN_NOT_OK(BeginWrite("truncate"));
    const std::lock_guard lock(state_->mutex);
    node().content.Truncate(size_bytes);
    return Status::OK();
  }
  Status Sync() override {
    RETURN_NOT_OK(CheckBoot("sync"));
    RETURN_NOT_OK(state_->Begin("sync", path_));
    const std::lock_guard lock(state_->mutex);
    node().content.Sync();
    return Status::OK();
  }

  uint64_t size_bytes() const override {
    const std::lock_guard lock(state_->mutex);
    return node().content.bytes().size();
  }
  const std::string& path() const override { return path_; }
  int descriptor() const override { return -1; }

 private:
  SimNode& node() const { return state_->disk.at(node_); }

  Status CheckAlive(std::string_view what) const {
    if (state_->stopped || boot_ != state_->boots)
      return SimError(what, path_, "machine has stopped");
    return Status::OK();
  }
  Status CheckBoot(std::string_view what) const {
    const std::lock_guard lock(state_->mutex);
    return CheckAlive(what);
  }
  Status BeginWrite(std::string_view what) const {
    RETURN_NOT_OK(CheckBoot(what));
    if (!writable_) return SimError(what, path_, "opened for reading");
    return state_->Begin(what, path_);
  }

  // Without a position: at the end.
  Status Write(std::string_view what, std::optional<uint64_t> position_bytes,
               std::string_view bytes) {
    RETURN_NOT_OK(BeginWrite(what));
    const std::lock_guard lock(state_->mutex);
    const uint64_t size = node().content.bytes().size();
    const uint64_t start = position_bytes.value_or(size);
    const uint64_t end = start + bytes.size();
    RETURN_NOT_OK(state_->TakeSpace(end > size ? end - size : 0, path_));
    node().content.Write(start, bytes);
    node().modified_ms = state_->clock.NowMs();
    return Status::OK();
  }

  const std::shared_ptr<State> state_;
  const std::string path_;
  const uint64_t node_;
  const bool writable_;
  const uint64_t boot_;
};

class SimFileSystem::HeldLock : public FileSystem::Lock {
 public:
  HeldLock(std::shared_ptr<State> state, std::string path)
      : state_(std::move(state)), path_(std::move(path)), boot_(state_->boots) {}
  ~HeldLock() override {
    const std::lock_guard lock(state_->mutex);
    if (boot_ == state_->boots) state_->locked.erase(path_);
  }
  bool IsInPlace() const override {
    const std::lock_guard lock(state_->mutex);
    return boot_ == state_->boots && state_->locked.contains(path_);
  }
  Status SyncAll() override {
    if (!IsInPlace()) return SimError("sync all", path_, "machine has stopped");
    RETURN_NOT_OK(state_->Begin("sync all", path_));
    const std::lock_guard lock(state_->mutex);
    state_->disk.SyncAll();
    return Status::OK();
  }

 private:
  const std::shared_ptr<State> state_;
  const std::string path_;
  const uint64_t boot_;
};

SimFileSystem::SimFileSystem(Clock& clock) : state_(std::make_shared<State>(clock)) {}
SimFileSystem::~SimFileSystem() = default;

void SimFileSystem::SetHook(Hook hook) {
  const std::lock_guard lock(state_->mutex);
  state_->hook = std::move(hook);
}

void SimFileSystem::FailOperation(uint64_t n) {
  const std::lock_guard lock(state_->mutex);
  state_->fail_in = n;
}

uint64_t SimFileSystem::operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->operations;
}

void SimFileSystem::SetFreeBytes(uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->free_bytes = bytes;
}

void SimFileSystem::SetRenames(Renames renames) {
  const std::lock_guard lock(state_->mutex);
  state_->renames = renames;
}

void SimFileSystem::Crash(Random& random) {
  const std::lock_guard lock(state_->mutex);
  state_->disk.LosePower(random);
  state_->Start();
}

void SimFileSystem::Restart() {
  const std::lock_guard lock(state_->mutex);
  state_->Start();
}

Result<std::unique_ptr<File>> SimFileSystem::Open(const std::string& path, Mode mode) {
  const bool creates = mode == Mode::kCreate || mode == Mode::kCreateNew;
  std::unique_lock lock(state_->mutex);
  if (state_->stopped) return SimError("open", path, "machine has stopped");
  ASSIGN_OR_RAISE(State::Place place, state_->Locate(path));
  if (place.node.has_value() && mode == Mode::kCreateNew)
    return SimError("open", path, "file exists");
  if (place.node.has_value() && state_->disk.at(*place.node).is_folder) {
    return SimError("open", path, "is a folder");
  }
  if (!place.node.has_value()) {
    if (!creates) return NotFound(path);
    lock.unlock();
    RETURN_NOT_OK(state_->Begin("create", path));
    lock.lock();
    place.node = state_->disk.Add(false, state_->clock.NowMs());
    state_->disk.ChangeNames({{{place.folder, place.name, place.node}}});
  }
  return std::make_unique<OpenFile>(state_, path, *place.node, mode != Mode::kRead);
}

Status SimFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_NOT_OK(state_->Begin("rename", to));
  const std::lock_guard lock(state_->mutex);
  ASSIGN_OR_RAISE(const State::Place source, state_->LocateExisting(from));
  ASSIGN_OR_RAISE(const State::Place target, state_->Locate(to));
  if (target.node.has_value()) {
    if (target.node == source.node) return Status::OK();
    const SimNode& replaced = state_->disk.at(*target.node);
    if (replaced.is_folder && !replaced.names.empty())
      return SimError("rename", from, "target is not empty");
  }
  state_->disk.ChangeNames(
      {{{source.folder, source.name, std::nullopt}, {target.folder, target.name, source.node}}});
  return Status::OK();
}

Result<bool> SimFileSystem::RenameIfAbsent(const std::string& from, const std::string& to) {
  Renames renames;
  {
    const std::lock_guard lock(state_->mutex);
    renames = state_->renames;
    ASSIGN_OR_RAISE(const State::Place source, state_->LocateExisting(from));
    ASSIGN_OR_RAISE(const State::Place target, state_->Locate(to));
    if (target.node.has_value() && target.node != source.node) return false;
    if (target.node.has_value()) renames = Renames::kByLink;  // Linked already, not yet removed.
  }
  if (renames == Renames::kNone) return SimError("rename", to, "no exclusive rename");
  if (renames == Renames::kByLink) {
    RETURN_NOT_OK(Link(from, to));
    RETURN_NOT_OK(Remove(from));
    return true;
  }
  RETURN_NOT_OK(Rename(from, to));
  return true;
}

// Give the file a second name; fine when it has that name already.
Status SimFileSystem::Link(const std::string& from, const std::string& to) {
  RETURN_NOT_OK(state_->Begin("link", to));
  const std::lock_guard lock(state_->mutex);
  ASSIGN_OR_RAISE(const State::Place source, state_->LocateExisting(from));
  ASSIGN_OR_RAISE(const State::Place target, state_->Locate(to));
  state_->disk.ChangeNames({{{target.folder, target.name, source.node}}});
  return Status::OK();
}

Status SimFileSystem::Remove(const std::string& path) {
  RETURN_NOT_OK(state_->Begin("remove", path));
  const std::lock_guard lock(state_->mutex);
  ASSIGN_OR_RAISE(const State::Place place, state_->LocateExisting(path));
  if (!state_->disk.at(*place.node).names.empty())
    return SimError("remove", path, "folder is not empty");
  state_->disk.ChangeNames({{{place.folder, place.name, std::nullopt}}});
  return Status::OK();
}

Status SimFileSystem::RemoveTree(const std::string& path) {
  const auto entry = Stat(path);
  if (!entry.ok()) return IsNotFound(entry.status()) ? Status::OK() : entry.status();
  if (entry->is_folder) {
    ASSIGN_OR_RAISE(const auto children, List(path));
    for (const Entry& child : children) RETURN_NOT_OK(RemoveTree(JoinPath(path, child.name)));
  }
  return Remove(path);
}

Status SimFileSystem::MakeFoldersBelow(const std::string& top, const std::string& path) {
  std::string at;
  for (const std::string& part : SplitPath(path)) {
    at += "/" + part;
    if (at.size() <= top.size()) {
      RETURN_NOT_OK(Stat(at));
    } else {
      RETURN_NOT_OK(MakeFolder(at));
    }
    RETURN_NOT_OK(SyncName(at));
  }
  return Status::OK();
}

Status SimFileSystem::MakeFolder(const std::string& path) {
  {
    const std::lock_guard lock(state_->mutex);
    const auto node = state_->disk.Find(path);
    if (node.has_value() && !state_->disk.at(*node).is_folder)
      return SimError("make folder", path, "is a file");
    if (node.has_value()) return Status::OK();
  }
  RETURN_NOT_OK(state_->Begin("make folder", path));
  const std::lock_guard lock(state_->mutex);
  ASSIGN_OR_RAISE(const State::Place place, state_->Locate(path));
  const uint64_t node = state_->disk.Add(true, state_->clock.NowMs());
  state_->disk.ChangeNames({{{place.folder, place.name, node}}});
  return Status::OK();
}

// Make the last name of `path` durable, unless it is.
Status SimFileSystem::SyncName(const std::string& path) {
  {
    const std::lock_guard lock(state_->mutex);
    ASSIGN_OR_RAISE(const State::Place place, state_->LocateExisting(path));
    if (state_->disk.IsDurable(place.folder, place.name)) return Status::OK();
  }
  return SyncFolder(FolderOf(path));
}

Status SimFileSystem::SyncPath(const std::string& path) {
  std::string at;
  for (const std::string& part : SplitPath(path)) {
    at += "/" + part;
    RETURN_NOT_OK(SyncName(at));
  }
  return Status::OK();
}

Status SimFileSystem::SyncFolder(const std::string& path) {
  RETURN_NOT_OK(state_->Begin("sync folder", path));
  const std::lock_guard lock(state_->mutex);
  const auto node = state_->disk.Find(path);
  if (!node.has_value()) return NotFound(path);
  state_->disk.SyncNames(*node);
  return Status::OK();
}

Result<std::vector<FileSystem::Entry>> SimFileSystem::List(const std::string& folder) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopped) return SimError("list", folder, "machine has stopped");
  const auto node = state_->disk.Find(folder);
  if (!node.has_value()) return NotFound(folder);
  if (!state_->disk.at(*node).is_folder) return SimError("list", folder, "not a folder");
  std::vector<Entry> entries;
  for (const auto& [name, child] : state_->disk.at(*node).names)
    entries.push_back(state_->ToEntry(name, child));
  return entries;
}

Result<FileSystem::Entry> SimFileSystem::Stat(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (state_->stopped) return SimError("stat", path, "machine has stopped");
  const auto node = state_->disk.Find(path);
  if (!node.has_value()) return NotFound(path);
  const std::vector<std::string> parts = SplitPath(path);
  return state_->ToEntry(parts.empty() ? "/" : parts.back(), *node);
}

Result<std::unique_ptr<FileSystem::Lock>> SimFileSystem::LockFile(const std::string& path) {
  RETURN_NOT_OK(Open(path, Mode::kCreate).status());
  const std::lock_guard lock(state_->mutex);
  if (!state_->locked.insert(path).second) {
    return Error(ErrorCode::kStorage,
                 "folder is in use by another process folder=", FolderOf(path));
  }
  return std::make_unique<HeldLock>(state_, path);
}

Result<FileSystem::Space> SimFileSystem::SpaceAt(const std::string& path) {
  RETURN_NOT_OK(Stat(path));
  const std::lock_guard lock(state_->mutex);
  return Space{state_->free_bytes, kDiskBytes - std::min(state_->free_bytes, kDiskBytes),
               kDiskBytes};
}

}  // namespace sluice::io
