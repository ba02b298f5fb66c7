#include "kv/ordered_entries.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::kv {
namespace {

using Pairs = std::vector<std::pair<std::string, Version>>;

Pairs From(const OrderedEntries& entries, std::string_view key) {
  Pairs pairs;
  for (auto at = entries.LowerBound(key); at != entries.end(); ++at)
    pairs.emplace_back(at->key, at->version);
  return pairs;
}

// Against a map, with keys that are empty, share their first bytes, or hold zeros and high bytes.
void ExpectLikeMap(const std::vector<std::string>& keys) {
  OrderedEntries entries;
  std::map<std::string, Version, std::less<>> expected;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Version version = i % 7 == 0 ? Version() : Version(std::to_string(i));
    if (!expected.emplace(keys[i], version).second) continue;
    const Entry* added = entries.Add(keys[i], version);
    EXPECT_EQ(added->key, keys[i]);
    EXPECT_EQ(added->version, version);
  }
  EXPECT_EQ(entries.size(), expected.size());
  EXPECT_EQ(From(entries, ""), Pairs(expected.begin(), expected.end()));
  for (size_t i = 0; i < keys.size(); i += 97) {
    for (const std::string& key : {keys[i], keys[i] + '\0', keys[i].substr(0, 5)}) {
      const auto found = entries.LowerBound(key);
      const auto wanted = expected.lower_bound(key);
      ASSERT_EQ(found == entries.end(), wanted == expected.end());
      if (found == entries.end()) continue;
      EXPECT_EQ(found->key, wanted->first);
    }
  }
}

TEST(OrderedEntriesTest, EmptyOnesHaveNoFirst) {
  const OrderedEntries entries;
  EXPECT_TRUE(entries.empty());
  EXPECT_TRUE(entries.begin() == entries.end());
  EXPECT_TRUE(entries.LowerBound("a") == entries.end());
}

TEST(OrderedEntriesTest, KeepsKeysInOrderWhateverTheirOrderOfArrival) {
  std::vector<std::string> scattered;
  std::vector<std::string> rising;
  std::vector<std::string> falling;
  for (int i = 0; i < 5000; ++i) {
    scattered.push_back(std::to_string(i * 7919 % 5003));
    rising.push_back("key-" + std::to_string(100'000 + i));
    falling.push_back("key-" + std::to_string(100'000 - i));
  }
  ExpectLikeMap(scattered);
  ExpectLikeMap(rising);
  ExpectLikeMap(falling);
}

TEST(OrderedEntriesTest, ComparesWholeKeysWhereTheirFirstBytesAreOne) {
  std::vector<std::string> keys{"",     std::string(1, '\0'),   std::string(9, '\0'),  "\x7f",
                                "\x80", std::string(8, '\xff'), std::string(9, '\xff')};
  for (int i = 0; i < 3000; ++i) {
    keys.push_back("the same " + std::to_string(i * 31 % 3001));
    keys.push_back(std::string(static_cast<size_t>(i % 40), '\0') + std::to_string(i % 10));
  }
  ExpectLikeMap(keys);
}

TEST(OrderedEntriesTest, EntriesStayWhereTheyAre) {
  OrderedEntries entries;
  Entry* first = entries.Add("m", "1");
  for (int i = 0; i < 2000; ++i) entries.Add("m" + std::to_string(i), "x");
  const OrderedEntries moved = std::move(entries);
  first->version = "2";
  EXPECT_EQ(moved.begin()->version, "2");
  EXPECT_EQ(&*moved.begin(), first);
}

}  // namespace
}  // namespace sluice::kv
