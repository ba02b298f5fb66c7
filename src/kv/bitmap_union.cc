#include "kv/bitmap_union.h"

#include <algorithm>
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
          SetRange(first, last);
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

  void SetRange(uint32_t first, uint32_t last) {
    const uint64_t from_first = ~uint64_t{0} << (first & 63);
    const uint64_t to_last = ~uint64_t{0} >> (63 - (last & 63));
    if (first / 64 == last / 64) {
      words_[first / 64] |= from_first & to_last;
      return;
    }
    words_[first / 64] |= from_first;
    std::fill(words_.begin() + first / 64 + 1, words_.begin() + last / 64, ~uint64_t{0});
    words_[last / 64] |= to_last;
  }

  template <typename Take>
  void Each(const Take& take) const {
    for (size_t i = 0; i < kWords; ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1)
        take(static_cast<uint32_t>(64 * i + static_cast<size_t>(std::countr_zero(word))));
    }
  }

  void WriteRuns(uint32_t runs, std::string* out) const {
    AppendLe(out, static_cast<uint16_t>(runs));
    for (uint32_t end = 0; runs > 0; --runs) {
      const uint32_t first = Next(end, /*set=*/true);
      end = Next(first, /*set=*/false);
      AppendLe(out, static_cast<uint16_t>(first));
      AppendLe(out, static_cast<uint16_t>(end - first - 1));
    }
  }

  // The first value from `from` on that is or is not there, else one past the last.
  uint32_t Next(uint32_t from, bool set) const {
    uint64_t mask = ~uint64_t{0} << (from & 63);
    for (size_t i = from / 64; i < kWords; ++i, mask = ~uint64_t{0}) {
      const uint64_t word = (set ? words_[i] : ~words_[i]) & mask;
      if (word != 0)
        return static_cast<uint32_t>(64 * i + static_cast<size_t>(std::countr_zero(word)));
    }
    return 64 * kWords;
  }

  std::array<uint64_t, kWords> words_{};
};

// All values in one run: nothing can be added, and it is as short as can be.
bool IsFull(const BitmapContainer& container) {
  return container.kind == Kind::kRuns && container.cardinality == 64 * kWords &&
         LoadLe<uint16_t>(container.bytes.data()) == 1;
}

// Containers of one bitmap alone, and full ones, stay as they are. `room` keeps the bytes of new
// ones.
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
    } else if (IsFull(*left) || IsFull(*right)) {
      both.push_back(IsFull(*left) ? *left : *right);
      ++left, ++right;
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

Status CheckBitmap32(std::string_view bytes) { return ReadBitmap32(bytes).status(); }

Status CheckBitmap64(std::string_view bytes) { return ReadBitmap64(bytes).status(); }

}  // namespace sluice::kv
