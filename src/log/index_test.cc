#include "base/bytes.h"
#include "base/testing.h"
#include "log/offset_index.h"
#include "log/time_index.h"

namespace sluice::log {

TEST(OffsetIndexTest, EntriesAreEightBigEndianBytes) {
  OffsetIndex index(100);
  EXPECT_EQ(ToHex(index.Append({140, 4096})), "0000002800001000");
  EXPECT_EQ(ToHex(index.Append({180, 8200})), "0000005000002008");
}

TEST(OffsetIndexTest, FindsTheEntryAtOrBelow) {
  OffsetIndex index(100);
  index.Append({140, 4096});
  index.Append({180, 8192});
  EXPECT_EQ(index.Floor(139), (OffsetIndex::Entry{100, 0}));
  EXPECT_EQ(index.Floor(140), (OffsetIndex::Entry{140, 4096}));
  EXPECT_EQ(index.Floor(999), (OffsetIndex::Entry{180, 8192}));
  EXPECT_EQ(index.FloorPosition(4095), (OffsetIndex::Entry{100, 0}));
  EXPECT_EQ(index.FloorPosition(8191), (OffsetIndex::Entry{140, 4096}));
}

TEST(OffsetIndexTest, ComesBackFromItsBytesAndRejectsEveryTornWrite) {
  OffsetIndex index(100);
  std::string image = index.Append({140, 4096});
  image += index.Append({180, 8192});
  for (size_t size = 0; size <= image.size(); ++size) {
    const auto parsed = OffsetIndex::Parse(100, std::string_view(image).substr(0, size));
    ASSERT_EQ(parsed.ok(), size % OffsetIndex::kEntryBytes == 0) << "cut to " << size << " bytes";
  }
  ASSERT_OK_AND_ASSIGN(const auto back, OffsetIndex::Parse(100, image));
  EXPECT_EQ(back.Last(), (OffsetIndex::Entry{180, 8192}));
  EXPECT_FALSE(OffsetIndex::Parse(100, image + std::string(8, '\0')).ok())
      << "zeros after a torn write";
}

TEST(OffsetIndexTest, TruncatesAtTheOffset) {
  OffsetIndex index(100);
  index.Append({140, 4096});
  index.Append({180, 8192});
  index.TruncateTo(180);
  EXPECT_EQ(index.Last(), (OffsetIndex::Entry{140, 4096}));
}

TEST(TimeIndexTest, EntriesAreTwelveBigEndianBytes) {
  TimeIndex index(100);
  EXPECT_EQ(ToHex(index.MaybeAppend({0x0102, 140})), "000000000000010200000028");
  EXPECT_EQ(index.MaybeAppend({0x0102, 150}), "") << "the same timestamp again";
}

TEST(TimeIndexTest, FindsWhereEverythingBeforeIsOlder) {
  TimeIndex index(100);
  index.MaybeAppend({1000, 140});
  index.MaybeAppend({2000, 180});
  EXPECT_EQ(index.LastBefore(1000), 100);
  EXPECT_EQ(index.LastBefore(1001), 140);
  EXPECT_EQ(index.LastBefore(9999), 180);
  index.TruncateTo(180);
  EXPECT_EQ(index.largest_timestamp_ms(), 1000);
}

TEST(TimeIndexTest, RejectsEveryTornWrite) {
  TimeIndex index(0);
  std::string image = index.MaybeAppend({1000, 1});
  image += index.MaybeAppend({2000, 2});
  for (size_t size = 0; size <= image.size(); ++size) {
    const auto parsed = TimeIndex::Parse(0, std::string_view(image).substr(0, size));
    EXPECT_EQ(parsed.ok(), size % TimeIndex::kEntryBytes == 0) << "cut to " << size << " bytes";
  }
}

}  // namespace sluice::log
