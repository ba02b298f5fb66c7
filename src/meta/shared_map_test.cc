#include "meta/shared_map.h"

#include <map>
#include <string>

#include "base/testing.h"

namespace sluice::meta {
namespace {

using Map = SharedMap<std::string, int>;

std::map<std::string, int> Copy(const Map& map) {
  std::map<std::string, int> out;
  std::string last;
  for (const auto& [key, value] : map) {
    EXPECT_TRUE(out.empty() || last < key);
    last = key;
    out[key] = value;
  }
  EXPECT_EQ(out.size(), map.size());
  return out;
}

TEST(SharedMapTest, DoesAsAStandardMapAndOldCopiesStay) {
  uint32_t state = 7;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  Map map;
  std::map<std::string, int> expected;
  std::vector<std::pair<Map, std::map<std::string, int>>> kept;
  for (int step = 0; step < 4000; ++step) {
    const std::string key = "k" + std::to_string(random() % 300);
    if (random() % 5 < 3) {
      map.Set(key, step);
      expected[key] = step;
    } else {
      map.Erase(key);
      expected.erase(key);
    }
    ASSERT_EQ(map.contains(key), expected.contains(key));
    if (step % 400 == 0) kept.emplace_back(map, expected);
  }
  EXPECT_EQ(Copy(map), expected);
  for (const auto& [old, then] : kept) EXPECT_EQ(Copy(old), then);
}

/// Counts how often keys were looked at.
struct CountedKey {
  int value = 0;
  static inline int looks = 0;
  bool operator<(const CountedKey& other) const {
    ++looks;
    return value < other.value;
  }
};

TEST(SharedMapTest, AChangeOfACopyTouchesAFewEntries) {
  SharedMap<CountedKey, int> map;
  for (int i = 0; i < 100'000; ++i) map.Set({i}, i);  // Rising keys: the worst for a plain tree.
  SharedMap<CountedKey, int> copy = map;
  CountedKey::looks = 0;
  copy.Set({1'000'000}, 1);
  copy.Erase({50'000});
  EXPECT_LT(CountedKey::looks, 400);
  EXPECT_EQ(*map.Find(CountedKey{50'000}), 50'000);
  EXPECT_EQ(copy.Find(CountedKey{50'000}), nullptr);
  EXPECT_EQ(map.size(), copy.size());
}

TEST(SharedMapTest, FindsByAView) {
  Map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.Find(std::string_view("a")), nullptr);
  map.Set("a", 1);
  map.Set("a", 2);
  EXPECT_EQ(*map.Find(std::string_view("a")), 2);
  EXPECT_EQ(map.size(), 1u);
}

}  // namespace
}  // namespace sluice::meta
