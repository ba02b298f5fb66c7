#include "wire/api.h"

#include <algorithm>

#include "base/testing.h"

namespace sluice::wire {
namespace {

TEST(ApiTest, OffersEveryKeyOnce) {
  ASSERT_EQ(Apis().size(), 65u);
  for (int key = 1000; key <= 1064; ++key) {
    ASSERT_NE(FindApi(static_cast<int16_t>(key)), nullptr) << key;
    EXPECT_EQ(static_cast<int>(FindApi(static_cast<int16_t>(key))->key), key);
  }
}

TEST(ApiTest, KnowsNoOtherKey) {
  for (const int key : {INT16_MIN, -1, 0, 999, 1065, 1066, INT16_MAX}) {
    EXPECT_EQ(FindApi(static_cast<int16_t>(key)), nullptr) << key;
  }
}

TEST(ApiTest, OffersVersionZeroExceptForKeyEncodings) {
  for (const ApiInfo& api : Apis()) {
    const int expected = api.key == ApiKey::kPutKv
                             ? 2
                             : api.key == ApiKey::kLookup || api.key == ApiKey::kPrefixLookup;
    EXPECT_EQ(api.min_version, 0) << api.name;
    EXPECT_EQ(api.max_version, expected) << api.name;
  }
}

// Scopes of the reference, counted: 16 calls on both servers.
TEST(ApiTest, SplitsCallsBetweenServers) {
  EXPECT_EQ(std::ranges::count_if(Apis(), &ApiInfo::coordinator), 49);
  EXPECT_EQ(std::ranges::count_if(Apis(), &ApiInfo::tablet), 34);
  EXPECT_FALSE(FindApi(1014)->OfferedBy(ServerType::kCoordinator));  // PRODUCE_LOG
  EXPECT_TRUE(FindApi(1014)->OfferedBy(ServerType::kTabletServer));
  EXPECT_TRUE(FindApi(1042)->OfferedBy(ServerType::kCoordinator));  // LAKE_TIERING_HEARTBEAT
  EXPECT_FALSE(FindApi(1042)->OfferedBy(ServerType::kTabletServer));
  EXPECT_TRUE(FindApi(1012)->coordinator && FindApi(1012)->tablet);  // GET_METADATA
}

}  // namespace
}  // namespace sluice::wire
