#include "kv/bitmap_union.h"

#include <array>
#include <bit>

#include "base/bytes.h"
#include "kv/roaring_internal.h"

namespace sluice::kv {
namespace {

using Kind = BitmapContainer::Kind;

constexpr size_t kWords = 1024;

// One container with a bit for each value it may have.
class ContainerBits {
 public:
  void Add(const BitmapContainer& container) {
    const char* at = container.bytes.data();
    switch (container.kind) {
      case Kind::kBits:
        for (size_t i = 0; i < kWords; ++i) words_[i] |= LoadLe<uint64_t>(at + 8 * i);
        break;
      case Kind::kArray:
        for (uint32_t i = 0; i < container.cardinality; ++i) Set(LoadLe<uint16_t>(at + 2 * i));
        break;
      case Kind::kRuns:
        for (uint32_t i = LoadLe<uint16_t>(at); i > 0; --i) {
          const uint32_t first = LoadLe<uint16_t>(at + 4 * i - 2);
          const uint32_t last = first + LoadLe<uint16_t>(at + 4 * i);
          for (uint32_t value = first; value <= last; ++value) Set(value);
        }
        break;
    }
  }

  /// In the shortest of the three kinds.
  BitmapContainer Write(uint64_t key, std::string* out) const {
    BitmapContainer container{.key = key};
    uint32_t runs = 0;
    uint64_t carry = 0;
    for (const uint64_t word : words_) {
      container.cardinality += static_cast<uint32_t>(std::popcount(word));
      runs += static_cast<uint32_t>(std::popcount(word & ~(word << 1 | carry)));
      carry = word >> 63;
    }
    const size_t plain =
        container.cardinality > kBitmapArrayMax ? 8 * kWords : 2 * container.cardinality;
    if (2 + 4 * runs < plain) {
      container.kind = Kind::kRuns;
      WriteRuns(runs, out);
    } else if (container.cardinality > kBitmapArrayMax) {
      container.kind = Kind::kBits;
      for (const uint64_t word : words_) AppendLe(out, word);
    } else {
      Each([out](uint32_t value) { AppendLe(out, static_cast<uint16_t>(value)); });
    }
    container.bytes = *out;
    return container;
  }

 private:
  void Set(uint32_t value) { words_[value / 64] |= uint64_t{1} << (value & 63); }

  template <typename Take>
  void Each(const Take& take) const {
    for (size_t i = 0; i < kWords; ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1)
        take(static_cast<uint32_t>(64 * i + static_cast<size_t>(std::countr_zero(word))));
    }
  }

  void WriteRuns(uint32_t runs, std::string* out) const {
    AppendLe(out, static_cast<uint16_t>(runs));
    uint32_t first = 0;
    uint32_t next = UINT32_MAX;  // Past the run that is open; none is yet.
    const auto close = [&] {
      if (next == UINT32_MAX) return;
      AppendLe(out, static_cast<uint16_t>(first));
      AppendLe(out, static_cast<uint16_t>(next - first - 1));
    };
    Each([&](uint32_t value) {
      if (value != next) {
        close();
        first = value;
      }
      next = value + 1;
    });
    close();
  }

  std::array<uint64_t, kWords> words_{};
};

// Containers of one bitmap alone stay as they are. `room` keeps the bytes of new ones.
BitmapContainers Union(const BitmapContainers& a, const BitmapContainers& b,
                       std::deque<std::string>* room) {
  BitmapContainers both;
  both.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->key < right->key)) {
      both.push_back(*left++);
    } else if (left == a.end() || right->key < left->key) {
      both.push_back(*right++);
    } else {
      ContainerBits bits;
      bits.Add(*left++);
      bits.Add(*right);
      both.push_back(bits.Write(right++->key, &room->emplace_back()));
    }
  }
  return both;
}

template <auto kRead, auto kWrite>
Result<std::string> UnionOf(std::string_view a, std::string_view b) {
  ASSIGN_OR_RAISE(const BitmapContainers left, kRead(a));
  ASSIGN_OR_RAISE(const BitmapContainers right, kRead(b));
  std::deque<std::string> room;
  return kWrite(Union(left, right, &room));
}

}  // namespace

Result<std::string> UnionBitmaps32(std::string_view a, std::string_view b) {
  return UnionOf<ReadBitmap32, WriteBitmap32>(a, b);
}

Result<std::string> UnionBitmaps64(std::string_view a, std::string_view b) {
  return UnionOf<ReadBitmap64, WriteBitmap64>(a, b);
}

}  // namespace sluice::kv
