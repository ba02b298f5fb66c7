#include "kv/bitmap_union.h"

#include <map>
#include <set>

#include "base/bytes.h"
#include "base/testing.h"
#include "kv/roaring_internal.h"

namespace sluice::kv {
namespace {

using Kind = BitmapContainer::Kind;
using Values = std::set<uint64_t>;

// Containers of any kind for `values`; `bytes` keeps what they view.
BitmapContainers Containers(const Values& values, Kind kind, std::deque<std::string>* bytes) {
  std::map<uint64_t, std::vector<uint16_t>> low;
  for (const uint64_t value : values) low[value >> 16].push_back(static_cast<uint16_t>(value));
  BitmapContainers containers;
  for (const auto& [key, lows] : low) {
    std::string& body = bytes->emplace_back();
    if (kind == Kind::kArray) {
      for (const uint16_t value : lows) AppendLe(&body, value);
    } else if (kind == Kind::kBits) {
      body.resize(8192);
      for (const uint16_t value : lows)
        body[value / 8] = static_cast<char>(body[value / 8] | 1 << (value & 7));
    } else {
      AppendLe(&body, static_cast<uint16_t>(lows.size()));  // Runs of one value each.
      for (const uint16_t value : lows) AppendLe(&body, value), AppendLe(&body, uint16_t{0});
    }
    containers.push_back({key, kind, static_cast<uint32_t>(lows.size()), body});
  }
  return containers;
}

Values ValuesOf(const BitmapContainers& containers) {
  Values values;
  for (const BitmapContainer& container : containers) {
    const char* at = container.bytes.data();
    const auto add = [&](uint32_t low) { values.insert(container.key << 16 | low); };
    if (container.kind == Kind::kArray) {
      for (size_t i = 0; i < container.bytes.size(); i += 2) add(LoadLe<uint16_t>(at + i));
    } else if (container.kind == Kind::kBits) {
      for (uint32_t i = 0; i < 65536; ++i) {
        if ((at[i / 8] >> (i & 7) & 1) != 0) add(i);
      }
    } else {
      for (size_t i = 2; i < container.bytes.size(); i += 4) {
        const uint32_t first = LoadLe<uint16_t>(at + i);
        for (uint32_t j = 0; j <= LoadLe<uint16_t>(at + i + 2); ++j) add(first + j);
      }
    }
  }
  return values;
}

Values Every(uint64_t from, uint64_t step, size_t count) {
  Values values;
  for (size_t i = 0; i < count; ++i) values.insert(from + i * step);
  return values;
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// {10, 20} and {20, 30} as Java's Roaring64Bitmap writes them.
constexpr char kTenTwenty[] =
    "010100000000000000040000000000000000000000000000000000"
    "01000000fe010000000102020000000a0014000100000000000000"
    "0000000000000000";
constexpr char kTwentyThirty[] =
    "010100000000000000040000000000000000000000000000000000"
    "01000000fe0100000001020200000014001e000100000000000000"
    "0000000000000000";
constexpr char kTenTwentyThirty[] =
    "010100000000000000040000000000000000000000000000000000"
    "01000000fe010000000102030000000a0014001e00010000000000"
    "00000000000000000000";

TEST(BitmapUnionTest, GivesTheBytesOfJava) {
  ASSERT_OK_AND_ASSIGN(const std::string united,
                       UnionBitmaps64(FromHex(kTenTwenty), FromHex(kTwentyThirty)));
  EXPECT_EQ(ToHex(united), kTenTwentyThirty);
  // {1, 2} and {2, 3} in 32 bits.
  const std::string one_two = FromHex(
      "3a30000001000000"
      "00000100"
      "10000000"
      "01000200");
  const std::string two_three = FromHex(
      "3a30000001000000"
      "00000100"
      "10000000"
      "02000300");
  ASSERT_OK_AND_ASSIGN(const std::string small, UnionBitmaps32(one_two, two_three));
  EXPECT_EQ(ToHex(small),
            "3a30000001000000"
            "00000200"
            "10000000"
            "010002000300");
}

TEST(BitmapUnionTest, AllKindsOfContainersMeet) {
  const Values sets[] = {{}, {0, 65535, 65536}, Every(7, 3, 9000), Every(1, 70'001, 300)};
  for (const Values& a : sets) {
    for (const Values& b : sets) {
      Values expected = a;
      expected.insert(b.begin(), b.end());
      for (const Kind kind : {Kind::kRuns, Kind::kBits, Kind::kArray}) {
        std::deque<std::string> bytes;
        const auto left = Containers(a, kind, &bytes);
        const auto right = Containers(b, Kind::kRuns, &bytes);
        ASSERT_OK_AND_ASSIGN(const std::string wide,
                             UnionBitmaps64(WriteBitmap64(left), WriteBitmap64(right)));
        ASSERT_OK_AND_ASSIGN(const auto wide_read, ReadBitmap64(wide));
        EXPECT_EQ(ValuesOf(wide_read), expected);
        if (kind != Kind::kRuns) continue;  // Of 32 bits the count decides between the others.
        ASSERT_OK_AND_ASSIGN(const std::string narrow,
                             UnionBitmaps32(WriteBitmap32(left), WriteBitmap32(right)));
        ASSERT_OK_AND_ASSIGN(const auto narrow_read, ReadBitmap32(narrow));
        EXPECT_EQ(ValuesOf(narrow_read), expected);
      }
    }
  }
}

// Runs from and to either side of a word's end, and whole words between.
TEST(BitmapUnionTest, RunsOfEveryLengthAreUnited) {
  constexpr uint32_t kEnds[] = {0, 1, 62, 63, 64, 65, 127, 128};
  const Values others{3, 64, 65535};
  std::deque<std::string> bytes;
  const auto right = Containers(others, Kind::kArray, &bytes);
  for (const uint32_t base : {0, 65535 - 128}) {
    for (const uint32_t first : kEnds) {
      for (const uint32_t last : kEnds) {
        if (last < first) continue;
        std::string run;
        AppendLe(&run, uint16_t{1}), AppendLe(&run, static_cast<uint16_t>(base + first));
        AppendLe(&run, static_cast<uint16_t>(last - first));
        const BitmapContainers left{{0, Kind::kRuns, last - first + 1, run}};
        Values expected = Every(base + first, 1, last - first + 1);
        expected.insert(others.begin(), others.end());
        ASSERT_OK_AND_ASSIGN(const std::string united,
                             UnionBitmaps32(WriteBitmap32(left), WriteBitmap32(right)));
        ASSERT_OK_AND_ASSIGN(const auto read, ReadBitmap32(united));
        EXPECT_EQ(ValuesOf(read), expected) << base << " + " << first << " to " << last;
      }
    }
  }
}

// A container of a few bytes that stand for all its values.
TEST(BitmapUnionTest, FullContainersStayAsTheyAre) {
  for (const uint16_t first : {0, 1}) {
    std::string run;
    AppendLe(&run, uint16_t{1}), AppendLe(&run, first);
    AppendLe(&run, static_cast<uint16_t>(65535 - first));
    BitmapContainers containers;
    for (uint64_t key = 0; key < 1000; ++key)
      containers.push_back({key, Kind::kRuns, 65536u - first, run});
    const std::string bitmap = WriteBitmap32(containers);
    ASSERT_OK_AND_ASSIGN(const std::string united, UnionBitmaps32(bitmap, bitmap));
    EXPECT_TRUE(united == bitmap);
  }
}

// Branches of every size, with and without bytes that all keys below share.
TEST(BitmapUnionTest, TreesOfEveryShapeComeBack) {
  for (const size_t children : {1, 2, 4, 5, 16, 17, 48, 49, 256}) {
    for (const int shift : {16, 40, 56}) {
      Values values = Every(5, uint64_t{1} << shift, children);
      values.insert(0xfedcba9876543210);
      std::deque<std::string> bytes;
      const std::string written = WriteBitmap64(Containers(values, Kind::kArray, &bytes));
      ASSERT_OK_AND_ASSIGN(const auto read, ReadBitmap64(written));
      EXPECT_EQ(ValuesOf(read), values) << children << " children, shift " << shift;
    }
  }
}

TEST(BitmapUnionTest, CutAndChangedBytesAreRefusedOrABitmap) {
  std::deque<std::string> bytes;
  const auto containers = Containers(Every(1, 70'001, 40), Kind::kArray, &bytes);
  const std::string narrow = WriteBitmap32(containers);
  const std::string wide = WriteBitmap64(containers);
  for (size_t size = 0; size < narrow.size(); ++size)
    EXPECT_CODE(ErrorCode::kInvalidTable, UnionBitmaps32(narrow.substr(0, size), narrow));
  for (size_t size = 0; size + 16 < wide.size(); ++size)  // The end says nothing new.
    EXPECT_CODE(ErrorCode::kInvalidTable, UnionBitmaps64(wide.substr(0, size), wide));
  for (size_t i = 0; i < wide.size(); ++i) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string damaged = wide;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      if (const auto united = UnionBitmaps64(damaged, wide); united.ok()) {
        EXPECT_OK(ReadBitmap64(*united));
      }
      if (i >= narrow.size()) continue;
      damaged = narrow;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      if (const auto united = UnionBitmaps32(damaged, narrow); united.ok()) {
        EXPECT_OK(ReadBitmap32(*united));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::kv
