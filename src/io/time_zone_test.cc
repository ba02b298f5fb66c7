#include "io/time_zone.h"

#include "base/testing.h"

namespace sluice::io {
namespace {

constexpr int64_t kWinter = 1767225600000;  // 2026-01-01 00:00 UTC
constexpr int64_t kSummer = 1782864000000;  // 2026-07-01 00:00 UTC

int64_t HoursAt(const std::string& name, int64_t utc_ms) {
  const auto zone = TimeZone::Find(name);
  EXPECT_OK(zone);
  return zone.ok() ? zone->OffsetAt(utc_ms).count() / 3600 : -99;
}

TEST(TimeZoneTest, ZonesOfTheDatabaseKnowSummer) {
  EXPECT_EQ(HoursAt("Europe/Paris", kWinter), 1);
  EXPECT_EQ(HoursAt("Europe/Paris", kSummer), 2);
  EXPECT_EQ(HoursAt("America/New_York", kWinter), -5);
  EXPECT_EQ(HoursAt("America/New_York", kSummer), -4);
  EXPECT_EQ(HoursAt("Asia/Shanghai", kSummer), 8);
}

TEST(TimeZoneTest, OffsetsAndNamesOfUtc) {
  for (const char* name : {"UTC", "GMT", "Z"}) EXPECT_EQ(HoursAt(name, kSummer), 0) << name;
  for (const char* name : {"GMT+8", "UTC+08:00", "+8", "+0800", "+08:00"})
    EXPECT_EQ(HoursAt(name, kSummer), 8) << name;
  EXPECT_EQ(TimeZone::Find("-05:30").ValueOrDie().OffsetAt(0).count(), -19800);
}

TEST(TimeZoneTest, RefusesWhatIsNoZone) {
  for (const char* name :
       {"", "Mars/Phobos", "GMT+", "+19:00", "+8:0", "+08:60", "../zoneinfo/UTC", "+1:2:3", "+-8"})
    EXPECT_FALSE(TimeZone::Find(name).ok()) << name;
}

}  // namespace
}  // namespace sluice::io
