#include <algorithm>
#include <bit>
#include <map>

#include "base/bytes.h"
#include "base/check.h"
#include "kv/roaring_internal.h"

namespace sluice::kv {
namespace {

using Kind = BitmapContainer::Kind;

constexpr uint32_t kCookie = 12346;
constexpr uint32_t kCookieWithRuns = 12347;  // Low half; the high half is the count less one.
constexpr size_t kContainersMax = 1 << 16;   // Of 32 bits.
constexpr size_t kOffsetsFrom = 4;           // With fewer containers and runs there are no offsets.
constexpr uint32_t kContainerValues = 1 << 16;
constexpr size_t kBitsBytes = 8192;

// Of 64 bits.
constexpr uint8_t kNotEmpty = 1;
constexpr size_t kKeyBytes = 6;
constexpr char kNotTrimmed = -2;
enum class TreeNode : uint8_t { k4, k16, k48, k256, kLeaf };

Result<uint32_t> CountArray(std::string_view bytes) {
  int32_t last = -1;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const int32_t value = LoadLe<uint16_t>(bytes.data() + i);
    if (value <= last) return BadBitmap("values of an array do not increase");
    last = value;
  }
  return static_cast<uint32_t>(bytes.size() / 2);
}

uint32_t CountBits(std::string_view bytes) {
  uint32_t count = 0;
  for (size_t i = 0; i < bytes.size(); i += 8)
    count += static_cast<uint32_t>(std::popcount(LoadLe<uint64_t>(bytes.data() + i)));
  return count;
}

// `bytes` begin with the number of runs.
Result<uint32_t> CountRuns(std::string_view bytes) {
  uint32_t count = 0;
  int32_t last = -1;
  for (size_t i = 2; i < bytes.size(); i += 4) {
    const int32_t first = LoadLe<uint16_t>(bytes.data() + i);
    if (first <= last) return BadBitmap("runs do not increase");
    last = first + LoadLe<uint16_t>(bytes.data() + i + 2);
    if (last >= static_cast<int32_t>(kContainerValues)) return BadBitmap("run is too long");
    count += static_cast<uint32_t>(last - first) + 1;
  }
  return count;
}

void Keep(BitmapContainer container, uint64_t key, BitmapContainers* containers) {
  if (container.cardinality == 0) return;
  container.key = key;
  containers->push_back(container);
}

}  // namespace

// Not as kCorruptRecord, which clients take for damage on the way and send again for ever.
Status BadBitmap(std::string_view what) {
  return Error(ErrorCode::kInvalidTable, "roaring bitmap is damaged: ", what);
}

Result<std::string_view> BitmapReader::Take(size_t size) {
  if (size > rest_.size()) return BadBitmap("it ends early");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

template <typename T>
Result<T> BitmapReader::TakeLe() {
  ASSIGN_OR_RAISE(const std::string_view bytes, Take(sizeof(T)));
  return LoadLe<T>(bytes.data());
}

Result<BitmapContainer> BitmapReader::TakeContainer(Kind kind, uint32_t count) {
  BitmapContainer container{.kind = kind};
  if (kind == Kind::kArray) {
    ASSIGN_OR_RAISE(container.bytes, Take(2 * size_t{count}));
    ASSIGN_OR_RAISE(container.cardinality, CountArray(container.bytes));
  } else if (kind == Kind::kBits) {
    ASSIGN_OR_RAISE(container.bytes, Take(kBitsBytes));
    container.cardinality = CountBits(container.bytes);
  } else {
    const std::string_view whole = rest_;
    ASSIGN_OR_RAISE(const uint16_t runs, TakeLe<uint16_t>());
    RETURN_NOT_OK(Take(4 * size_t{runs}).status());
    container.bytes = whole.substr(0, 2 + 4 * size_t{runs});
    ASSIGN_OR_RAISE(container.cardinality, CountRuns(container.bytes));
  }
  return container;
}

Result<BitmapContainers> ReadBitmap32(std::string_view bytes) {
  BitmapReader reader(bytes);
  ASSIGN_OR_RAISE(const uint32_t cookie, reader.TakeLe<uint32_t>());
  const bool with_runs = (cookie & 0xffff) == kCookieWithRuns;
  size_t count = (cookie >> 16) + 1;
  std::string_view run_flags;
  if (with_runs) {
    ASSIGN_OR_RAISE(run_flags, reader.Take((count + 7) / 8));
  } else {
    if (cookie != kCookie) return BadBitmap("unknown cookie");
    ASSIGN_OR_RAISE(count, reader.TakeLe<uint32_t>());
    if (count > kContainersMax) return BadBitmap("too many containers");
  }
  ASSIGN_OR_RAISE(const std::string_view heads, reader.Take(4 * count));
  if (!with_runs || count >= kOffsetsFrom) RETURN_NOT_OK(reader.Take(4 * count).status());
  BitmapContainers containers;
  int32_t last_key = -1;
  for (size_t i = 0; i < count; ++i) {
    const int32_t key = LoadLe<uint16_t>(heads.data() + 4 * i);
    const uint32_t cardinality = LoadLe<uint16_t>(heads.data() + 4 * i + 2) + uint32_t{1};
    if (key <= last_key) return BadBitmap("keys do not increase");
    last_key = key;
    const bool runs = with_runs && (static_cast<uint8_t>(run_flags[i / 8]) >> (i & 7) & 1) != 0;
    const Kind kind = runs                            ? Kind::kRuns
                      : cardinality > kBitmapArrayMax ? Kind::kBits
                                                      : Kind::kArray;
    ASSIGN_OR_RAISE(const BitmapContainer container, reader.TakeContainer(kind, cardinality));
    if (!runs && container.cardinality != cardinality) return BadBitmap("values are miscounted");
    Keep(container, static_cast<uint64_t>(key), &containers);
  }
  return containers;
}

std::string WriteBitmap32(const BitmapContainers& containers) {
  const size_t count = containers.size();
  CHECK(count <= kContainersMax);
  const bool with_runs =
      std::ranges::find(containers, Kind::kRuns, &BitmapContainer::kind) != containers.end();
  std::string out;
  if (with_runs) {
    AppendLe(&out, static_cast<uint32_t>(kCookieWithRuns | (count - 1) << 16));
    const size_t flags_at = out.size();
    out.append((count + 7) / 8, '\0');
    for (size_t i = 0; i < count; ++i) {
      char& flags = out[flags_at + i / 8];
      if (containers[i].kind == Kind::kRuns) flags = static_cast<char>(flags | 1 << (i & 7));
    }
  } else {
    AppendLe(&out, kCookie);
    AppendLe(&out, static_cast<uint32_t>(count));
  }
  for (const BitmapContainer& container : containers) {
    AppendLe(&out, static_cast<uint16_t>(container.key));
    AppendLe(&out, static_cast<uint16_t>(container.cardinality - 1));
  }
  if (!with_runs || count >= kOffsetsFrom) {
    size_t offset = out.size() + 4 * count;
    for (const BitmapContainer& container : containers) {
      AppendLe(&out, static_cast<uint32_t>(offset));
      offset += container.bytes.size();
    }
  }
  for (const BitmapContainer& container : containers) out.append(container.bytes);
  return out;
}

namespace {

// A leaf of the tree: a key and where its container is.
struct TreeLeaf {
  uint64_t key;
  uint64_t place;
};

// Leaves say their whole key, so branches only say how many nodes follow.
Result<std::vector<TreeLeaf>> ReadLeaves(BitmapReader* reader) {
  constexpr size_t kBodyBytes[] = {4, 16, 256, 32};  // Per kind of branch.
  std::vector<TreeLeaf> leaves;
  for (size_t nodes = 1; nodes > 0; --nodes) {
    ASSIGN_OR_RAISE(const auto kind, reader->TakeLe<uint8_t>());
    ASSIGN_OR_RAISE(const auto children, reader->TakeLe<uint16_t>());
    ASSIGN_OR_RAISE(const auto prefix_bytes, reader->TakeLe<uint8_t>());
    RETURN_NOT_OK(reader->Take(prefix_bytes).status());
    if (kind > static_cast<uint8_t>(TreeNode::kLeaf)) return BadBitmap("unknown kind of node");
    if (kind != static_cast<uint8_t>(TreeNode::kLeaf)) {
      RETURN_NOT_OK(reader->Take(kBodyBytes[kind]).status());
      nodes += children;
      continue;
    }
    ASSIGN_OR_RAISE(const std::string_view key, reader->Take(kKeyBytes));
    ASSIGN_OR_RAISE(const auto place, reader->TakeLe<uint64_t>());
    const uint64_t high = LoadBe<uint32_t>(key.data());
    leaves.push_back({high << 16 | LoadBe<uint16_t>(key.data() + 4), place});
  }
  std::ranges::sort(leaves, {}, &TreeLeaf::key);
  if (std::ranges::adjacent_find(leaves, {}, &TreeLeaf::key) != leaves.end())
    return BadBitmap("key repeats");
  return leaves;
}

// Containers by their places, of which some are empty.
using Places = std::map<uint64_t, BitmapContainer>;

Result<Places> ReadContainers(BitmapReader* reader) {
  Places places;
  ASSIGN_OR_RAISE(const auto arrays, reader->TakeLe<uint32_t>());
  if (arrays > 1) return BadBitmap("too many containers");  // A second follows 2^31 of the first.
  for (uint32_t i = 0; i < arrays; ++i) {
    RETURN_NOT_OK(reader->Take(1).status());  // Whether it is trimmed, which says nothing.
    ASSIGN_OR_RAISE(const auto count, reader->TakeLe<uint32_t>());
    for (uint32_t place = 0; place < count; ++place) {
      ASSIGN_OR_RAISE(const auto present, reader->TakeLe<uint8_t>());
      if (present == 0) continue;
      ASSIGN_OR_RAISE(const auto kind, reader->TakeLe<uint8_t>());
      ASSIGN_OR_RAISE(const auto cardinality, reader->TakeLe<uint32_t>());
      if (kind > static_cast<uint8_t>(Kind::kArray)) return BadBitmap("unknown kind of container");
      if (cardinality > kContainerValues) return BadBitmap("container has too many values");
      ASSIGN_OR_RAISE(places[place], reader->TakeContainer(static_cast<Kind>(kind), cardinality));
    }
  }
  return places;
}

uint8_t ByteOfKey(uint64_t key, size_t at) {
  return static_cast<uint8_t>(key >> (8 * (kKeyBytes - 1 - at)));
}

// Writes the tree over sorted keys, a node before its children.
class TreeWriter {
 public:
  TreeWriter(const BitmapContainers& containers, std::string* out)
      : containers_(containers), out_(out) {}

  // The containers [begin, end), whose keys agree below byte `depth`.
  void Write(size_t begin, size_t end, size_t depth) {
    if (end - begin == 1) return WriteLeaf(begin);
    const uint64_t first = containers_[begin].key;
    const uint64_t last = containers_[end - 1].key;
    size_t at = depth;
    while (ByteOfKey(first, at) == ByteOfKey(last, at)) ++at;
    std::vector<size_t> children;  // Where each begins.
    for (size_t i = begin; i < end; ++i) {
      if (i == begin || ByteOfKey(containers_[i].key, at) != ByteOfKey(containers_[i - 1].key, at))
        children.push_back(i);
    }
    WriteBranch(children, depth, at);
    children.push_back(end);
    for (size_t i = 0; i + 1 < children.size(); ++i) Write(children[i], children[i + 1], at + 1);
  }

 private:
  void WriteHead(TreeNode kind, size_t children, size_t prefix_bytes) {
    out_->push_back(static_cast<char>(kind));
    AppendLe(out_, static_cast<uint16_t>(children));
    out_->push_back(static_cast<char>(prefix_bytes));
  }

  void WriteLeaf(size_t index) {
    WriteHead(TreeNode::kLeaf, 0, 0);
    for (size_t i = 0; i < kKeyBytes; ++i)
      out_->push_back(static_cast<char>(ByteOfKey(containers_[index].key, i)));
    AppendLe(out_, static_cast<uint64_t>(index));
  }

  // Children differ in byte `at` of their keys; the bytes from `depth` to there are the prefix.
  void WriteBranch(const std::vector<size_t>& children, size_t depth, size_t at) {
    const size_t count = children.size();
    const TreeNode kind = count <= 4    ? TreeNode::k4
                          : count <= 16 ? TreeNode::k16
                          : count <= 48 ? TreeNode::k48
                                        : TreeNode::k256;
    WriteHead(kind, count, at - depth);
    const uint64_t first = containers_[children[0]].key;
    for (size_t i = depth; i < at; ++i) out_->push_back(static_cast<char>(ByteOfKey(first, i)));
    // Words in which the first child stands in the highest byte, written with the lowest first.
    std::string body(kind == TreeNode::k4    ? 4
                     : kind == TreeNode::k16 ? 16
                     : kind == TreeNode::k48 ? 256
                                             : 32,
                     kind == TreeNode::k48 ? '\xff' : '\0');
    for (size_t i = 0; i < count; ++i) {
      const size_t byte = ByteOfKey(containers_[children[i]].key, at);
      if (kind == TreeNode::k4) {
        body[3 - i] = static_cast<char>(byte);
      } else if (kind == TreeNode::k16) {
        body[i ^ 7] = static_cast<char>(byte);
      } else if (kind == TreeNode::k48) {
        body[byte ^ 7] = static_cast<char>(i);
      } else {
        body[byte / 8] = static_cast<char>(body[byte / 8] | 1 << (byte & 7));
      }
    }
    out_->append(body);
  }

  const BitmapContainers& containers_;
  std::string* const out_;
};

}  // namespace

Result<BitmapContainers> ReadBitmap64(std::string_view bytes) {
  BitmapReader reader(bytes);
  BitmapContainers containers;
  ASSIGN_OR_RAISE(const auto tag, reader.TakeLe<uint8_t>());
  if (tag != kNotEmpty) return containers;
  RETURN_NOT_OK(reader.TakeLe<uint64_t>().status());  // How many keys, which the tree says.
  ASSIGN_OR_RAISE(const std::vector<TreeLeaf> leaves, ReadLeaves(&reader));
  ASSIGN_OR_RAISE(Places places, ReadContainers(&reader));
  for (const TreeLeaf& leaf : leaves) {
    const auto place = places.extract(leaf.place);
    if (place.empty()) return BadBitmap("key has no container of its own");
    Keep(place.mapped(), leaf.key, &containers);
  }
  return containers;
}

std::string WriteBitmap64(const BitmapContainers& containers) {
  std::string out;
  if (containers.empty()) return std::string(1, '\0');
  out.push_back(static_cast<char>(kNotEmpty));
  AppendLe(&out, static_cast<uint64_t>(containers.size()));
  TreeWriter(containers, &out).Write(0, containers.size(), 0);
  AppendLe(&out, uint32_t{1});
  out.push_back(kNotTrimmed);
  AppendLe(&out, static_cast<uint32_t>(containers.size()));
  for (const BitmapContainer& container : containers) {
    out.push_back('\1');
    out.push_back(static_cast<char>(container.kind));
    AppendLe(&out, container.cardinality);
    out.append(container.bytes);
  }
  AppendLe(&out, static_cast<uint64_t>(containers.size()));
  AppendLe(&out, uint32_t{0});  // Where the last one stands: array and place.
  AppendLe(&out, static_cast<uint32_t>(containers.size() - 1));
  return out;
}

}  // namespace sluice::kv
