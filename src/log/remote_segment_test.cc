#include "log/remote_segment.h"

#include <filesystem>

#include "log/log_testing.h"

namespace sluice::log {
namespace {

using internal::BytesOf;

class RemoteSegmentTest : public internal::LogFixture {
 protected:
  void SetUp() override {
    ASSERT_OK(Reopen());
    Fill(40);
    root_ = io::JoinPath(dir_.path(), "remote");
    std::filesystem::create_directories(root_);
  }
  // The first closed segment, copied.
  RemoteSegment CopyFirst() {
    const Log::SegmentInfo info = log_->Segments()[0];
    RemoteSegment segment{.id = "b5d9b2f4-6d3e-4a70-9c36-0f9f0a3b8c11",
                          .start_offset = info.base_offset,
                          .end_offset = info.end_offset,
                          .size_bytes = info.size_bytes};
    segment.largest_timestamp_ms = log_->LargestTimestampOfSegment(info.base_offset).ValueOrDie();
    EXPECT_OK(CopyOf(segment).Run());
    return segment;
  }
  SegmentCopy CopyOf(const RemoteSegment& segment) const {
    return {.files = &io::LocalFileSystem(),
            .from_folder = folder_,
            .remote = remote_,
            .root = root_,
            .bucket_folder = BucketFolder(),
            .segment = segment,
            .stop = nullptr};
  }
  std::string BucketFolder() const {
    return RemoteBucketFolder(root_, {"db", "t"}, "", {.table_id = 1, .bucket = 0});
  }
  Result<std::shared_ptr<const RemoteSegmentReader>> OpenRemote(const RemoteSegment& segment) {
    return RemoteSegmentReader::Open(io::LocalFileSystem(), BucketFolder(), segment);
  }

  std::string root_;
  io::RemoteFolder remote_;
};

TEST_F(RemoteSegmentTest, ACopyReadsAsTheLogDoes) {
  const RemoteSegment segment = CopyFirst();
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenRemote(segment));
  for (int64_t offset = segment.start_offset; offset < segment.end_offset; ++offset) {
    for (const uint64_t max_bytes : {0, 150, 500, 1 << 20}) {
      ASSERT_OK_AND_ASSIGN(const Log::Slice here,
                           log_->Read(offset, max_bytes, segment.end_offset, true));
      ASSERT_OK_AND_ASSIGN(const Log::Slice there, reader->Read(offset, max_bytes));
      EXPECT_EQ(BytesOf(there), BytesOf(here)) << "offset " << offset << " bytes " << max_bytes;
      EXPECT_EQ(there.first_offset, here.first_offset);
      EXPECT_EQ(there.next_offset, here.next_offset);
    }
    // Where a reader that has the file alone starts.
    ASSERT_OK_AND_ASSIGN(const auto file,
                         io::LocalFileSystem().ReadFile(BucketFolder() + "/" + segment.id +
                                                        "/00000000000000000000.log"));
    const auto head = std::string_view(file).substr(reader->PositionOf(offset));
    ASSERT_OK_AND_ASSIGN(const auto batch, wire::LogBatchView::Parse(head));
    EXPECT_LE(batch.header().base_offset, offset);
  }
}

TEST_F(RemoteSegmentTest, FindsTimestamps) {
  const RemoteSegment segment = CopyFirst();
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenRemote(segment));
  ASSERT_OK_AND_ASSIGN(const auto first, log_->TimestampOf(0));
  for (int64_t at = *first - 5; at <= segment.largest_timestamp_ms; at += 5) {
    ASSERT_OK_AND_ASSIGN(const int64_t here, log_->OffsetOfTimestamp(at));
    ASSERT_OK_AND_ASSIGN(const int64_t there, reader->OffsetOfTimestamp(at));
    EXPECT_EQ(there, here) << "timestamp " << at;
  }
  ASSERT_OK_AND_ASSIGN(const int64_t beyond,
                       reader->OffsetOfTimestamp(segment.largest_timestamp_ms + 1));
  EXPECT_EQ(beyond, segment.end_offset);
}

TEST_F(RemoteSegmentTest, FilesThatAreNotThereAreARetriableError) {
  const RemoteSegment segment = CopyFirst();
  for (const char* suffix : {".timeindex", ".index", ".log"}) {
    std::filesystem::remove(BucketFolder() + "/" + segment.id + "/00000000000000000000" + suffix);
    EXPECT_CODE(ErrorCode::kLogStorage, OpenRemote(segment).status());
  }
}

// A reader that is told so does not try again for ever.
TEST_F(RemoteSegmentTest, DamageIsNotARetriableError) {
  const RemoteSegment segment = CopyFirst();
  const std::string path = BucketFolder() + "/" + segment.id + "/00000000000000000000.log";
  for (const uint64_t size : {segment.size_bytes - 1, uint64_t{0}, segment.size_bytes + 1}) {
    std::filesystem::resize_file(path, size);
    EXPECT_CODE(ErrorCode::kCorruptRecord, OpenRemote(segment).status());
  }
  std::filesystem::resize_file(path, segment.size_bytes);  // Zeros, by now.
  ASSERT_OK_AND_ASSIGN(const auto reader, OpenRemote(segment));
  const auto read = reader->Read(segment.start_offset, 1 << 20);
  EXPECT_CODE(ErrorCode::kCorruptRecord, read.status());
  EXPECT_THAT(read.status().message(), testing::HasSubstr("file=" + path));
}

TEST_F(RemoteSegmentTest, ACopyNeverMakesTheRoot) {
  RemoteSegment segment = CopyFirst();
  segment.id = "another";
  std::filesystem::remove_all(root_);
  EXPECT_FALSE(CopyOf(segment).Run().ok());
  EXPECT_FALSE(std::filesystem::exists(root_));
}

TEST_F(RemoteSegmentTest, NothingIsWrittenToAnEmptyMountPoint) {
  RemoteSegment segment = CopyFirst();
  segment.id = "another";
  remote_ = io::RemoteFolder(root_);
  EXPECT_CODE(ErrorCode::kStorage, CopyOf(segment).Run());
  EXPECT_FALSE(std::filesystem::exists(RemoteSegmentFolder(BucketFolder(), segment)));
  ASSERT_OK(remote_.Open(io::LocalFileSystem(), /*may_make=*/true));
  EXPECT_OK(CopyOf(segment).Run());
}

TEST_F(RemoteSegmentTest, ACopyCanBeStopped) {
  RemoteSegment segment = CopyFirst();
  segment.id = "another";
  SegmentCopy copy = CopyOf(segment);
  copy.stop = std::make_shared<const std::atomic<bool>>(true);
  EXPECT_TRUE(copy.Run().IsCancelled());
}

TEST_F(RemoteSegmentTest, OnlyClosedSegmentsHaveALargestTimestamp) {
  const auto segments = log_->Segments();
  EXPECT_OK(log_->LargestTimestampOfSegment(segments[1].base_offset));
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange,
              log_->LargestTimestampOfSegment(segments.back().base_offset).status());
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange,
              log_->LargestTimestampOfSegment(segments[1].base_offset + 1).status());
}

RemoteManifest TwoSegments() {
  RemoteManifest manifest;
  manifest.path = {"db", "t"};
  manifest.partition_name = "2024";
  manifest.bucket = {.table_id = 3, .partition_id = 4, .bucket = 5};
  manifest.copied_end_offset = 30;
  manifest.segments = {{"a", 10, 20, 1000, 77}, {"b", 20, 30, 2000, 88}};
  return manifest;
}

TEST(RemoteManifestTest, ComesBackFromItsDocument) {
  const RemoteManifest manifest = TwoSegments();
  ASSERT_OK_AND_ASSIGN(const RemoteManifest read, RemoteManifest::FromJson(manifest.ToJson()));
  EXPECT_EQ(read.path, manifest.path);
  EXPECT_EQ(read.partition_name, manifest.partition_name);
  EXPECT_EQ(read.bucket, manifest.bucket);
  EXPECT_EQ(read.copied_end_offset, 30);
  EXPECT_EQ(read.segments, manifest.segments);
  EXPECT_EQ(read.size_bytes(), 165u);
}

TEST(RemoteManifestTest, ReadsTheDocumentOfFluss) {
  // Members as the Java server 0.9.1 writes them.
  ASSERT_OK_AND_ASSIGN(
      const RemoteManifest read,
      RemoteManifest::FromJson(
          R"({"version":1,"database":"db","table":"t","table_id":0,"bucket_id":1,)"
          R"("remote_log_segments":[{"segment_id":"5d6e","start_offset":0,"end_offset":9,)"
          R"("max_timestamp":12,"size_in_bytes":34}]})"));
  EXPECT_EQ(read.copied_end_offset, 9);
  EXPECT_EQ(read.segments, (std::vector<RemoteSegment>{{"5d6e", 0, 9, 12, 34}}));
}

TEST(RemoteManifestTest, FindsSegments) {
  const RemoteManifest manifest = TwoSegments();
  const std::vector<std::pair<int64_t, size_t>> by_offset = {{9, 2},  {10, 0}, {19, 0},
                                                             {20, 1}, {29, 1}, {30, 2}};
  for (const auto& [offset, index] : by_offset) EXPECT_EQ(manifest.IndexOf(offset), index);
  const std::vector<std::pair<int64_t, size_t>> by_time = {
      {0, 0}, {1000, 0}, {1001, 1}, {2000, 1}, {2001, 2}};
  for (const auto& [at, index] : by_time) EXPECT_EQ(manifest.IndexOfTimestamp(at), index);
}

TEST(RemoteManifestTest, RefusesWhatIsDamaged) {
  RemoteManifest gap = TwoSegments();
  gap.segments[1].start_offset = 21;
  RemoteManifest elsewhere = TwoSegments();
  elsewhere.segments[0].id = "../../etc";
  RemoteManifest empty = TwoSegments();
  empty.segments[0].end_offset = 10;
  for (const std::string& text : {gap.ToJson(), elsewhere.ToJson(), empty.ToJson(),
                                  std::string("{}"), std::string("nonsense")}) {
    SCOPED_TRACE(text);
    EXPECT_CODE(ErrorCode::kCorruptRecord, RemoteManifest::FromJson(text).status());
  }
}

}  // namespace
}  // namespace sluice::log
