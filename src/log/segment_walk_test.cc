#include "log/segment_walk.h"

#include "log/log_testing.h"

namespace sluice::log {
namespace {

using internal::LogFixture;

class SegmentWalkTest : public LogFixture {
 protected:
  struct Seen {
    std::vector<int64_t> whole, broken;  // Base offsets.
    std::vector<SegmentDamage> damages;
    SegmentExtent extent;
  };

  void SetUp() override {
    options_.segment_bytes = 1 << 20;  // One segment.
    ASSERT_OK(Reopen());
    Fill(8);
    path_ = PathOf(0, ".log");
    ASSERT_OK_AND_ASSIGN(image_, io::LocalFileSystem().ReadFile(path_));
    batch_bytes_ = image_.size() / 8;
  }
  Seen Walk(const std::string& image) {
    const std::string path = io::JoinPath(dir_.path(), "segment");
    const auto file = io::LocalFileSystem().Open(path, io::FileSystem::Mode::kCreate).ValueOrDie();
    EXPECT_TRUE(file->Truncate(0).ok() && file->Append(image).ok());
    Seen seen;
    const SegmentVisitor visitor{
        [&](const BatchScan::Batch& batch, std::string_view bytes, bool whole) {
          EXPECT_EQ(bytes, std::string_view(image).substr(batch.position_bytes,
                                                          batch.header.size_bytes()));
          (whole ? seen.whole : seen.broken).push_back(batch.header.base_offset);
          return Status::OK();
        },
        [&](const SegmentDamage& damage) {
          seen.damages.push_back(damage);
          return Status::OK();
        }};
    const auto extent = WalkSegment(io::LocalFileSystem(), path, 0, visitor);
    EXPECT_TRUE(extent.ok()) << extent.status().ToString();
    if (extent.ok()) seen.extent = *extent;
    EXPECT_EQ(io::LocalFileSystem().ReadFile(path).ValueOrDie(), image);
    return seen;
  }
  std::string Flipped(size_t at) const {
    std::string image = image_;
    image[at] ^= 0x10;
    return image;
  }

  std::string path_, image_;
  size_t batch_bytes_ = 0;  // All have the same size.
};

TEST_F(SegmentWalkTest, EveryBatchIsSeenOnce) {
  const Seen seen = Walk(image_);
  EXPECT_EQ(seen.whole, (std::vector<int64_t>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_TRUE(seen.broken.empty() && seen.damages.empty());
  EXPECT_EQ(seen.extent.next_offset, 16);
  EXPECT_EQ(seen.extent.size_bytes, image_.size());
}

TEST_F(SegmentWalkTest, AFlippedBitInABodyBreaksThatBatchAlone) {
  const Seen seen = Walk(Flipped(2 * batch_bytes_ + 60));
  EXPECT_EQ(seen.broken, std::vector<int64_t>{4});
  EXPECT_EQ(seen.whole.size(), 7u);
  EXPECT_TRUE(seen.damages.empty());
}

TEST_F(SegmentWalkTest, BehindADamagedHeaderTheWalkGoesOnAtTheNextWholeBatch) {
  for (const size_t field : {0u, 8u, 12u, 28u}) {  // Base offset, length, magic, last offset.
    const Seen seen = Walk(Flipped(2 * batch_bytes_ + field));
    ASSERT_EQ(seen.damages.size(), 1u) << field;
    EXPECT_FALSE(seen.damages[0].torn);
    EXPECT_EQ(seen.damages[0].next_offset, 6 + 2 * (seen.damages[0].offset > 4)) << field;
    EXPECT_EQ(seen.extent.next_offset, 16);
    EXPECT_NE(seen.damages[0].reason.find("position="), std::string::npos);
  }
}

TEST_F(SegmentWalkTest, AWriteThatDidNotEndIsTorn) {
  for (size_t size = 0; size <= image_.size(); size += size % batch_bytes_ < 60 ? 1 : 7) {
    const Seen seen = Walk(image_.substr(0, size));
    EXPECT_EQ(seen.whole.size(), size / batch_bytes_) << size;
    EXPECT_EQ(seen.damages.size(), size % batch_bytes_ == 0 ? 0u : 1u) << size;
    for (const SegmentDamage& damage : seen.damages) EXPECT_TRUE(damage.torn) << size;
  }
  const Seen zeros = Walk(image_ + std::string(5000, '\0'));
  ASSERT_EQ(zeros.damages.size(), 1u);
  EXPECT_TRUE(zeros.damages[0].torn);
  const Seen other = Walk(image_ + std::string(5000, 'x'));
  ASSERT_EQ(other.damages.size(), 1u);
  EXPECT_FALSE(other.damages[0].torn);
}

}  // namespace
}  // namespace sluice::log
