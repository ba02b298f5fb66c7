#include "log/checkpoint.h"

#include "base/testing.h"

namespace sluice::log {

// Layout: docs/formats/log.md.
TEST(CheckpointTest, WritesTheTextForm) {
  const TempDir dir;
  const std::string path = io::JoinPath(dir.path(), kRecoveryPointFile);
  const Checkpoint offsets = {{{.table_id = 3, .bucket = 1}, 42},
                              {{.table_id = 3, .partition_id = 7, .bucket = 0}, 9}};
  ASSERT_OK(WriteCheckpoint(io::LocalFileSystem(), path, offsets));
  ASSERT_OK_AND_ASSIGN(const std::string text, io::LocalFileSystem().ReadFile(path));
  EXPECT_EQ(text, "0\n2\n3 1 42\n3 7 0 9\n");
  ASSERT_OK_AND_ASSIGN(const Checkpoint back, ReadCheckpoint(io::LocalFileSystem(), path));
  EXPECT_EQ(back, offsets);
}

TEST(CheckpointTest, IsEmptyWithoutAFile) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const Checkpoint none,
                       ReadCheckpoint(io::LocalFileSystem(), dir.path() + "/absent"));
  EXPECT_TRUE(none.empty());
}

TEST(CheckpointTest, RefusesDamage) {
  const TempDir dir;
  const std::string path = io::JoinPath(dir.path(), "checkpoint");
  for (const std::string text : {"", "1\n0\n", "0\n", "0\n2\n3 1 42\n", "0\n1\n3 1 4x\n",
                                 "0\n1\n3 42\n", "0\n1\n1 2 3 4 5\n"}) {
    ASSERT_OK(io::LocalFileSystem().ReplaceFile(path, text));
    EXPECT_EQ(CodeOf(ReadCheckpoint(io::LocalFileSystem(), path).status()),
              ErrorCode::kCorruptRecord)
        << text;
  }
}

TEST(CheckpointTest, TheCleanMarkerIsTakenOnce) {
  const TempDir dir;
  ASSERT_OK(WriteCleanShutdown(io::LocalFileSystem(), dir.path()));
  ASSERT_OK_AND_ASSIGN(const bool first, TakeCleanShutdown(io::LocalFileSystem(), dir.path()));
  ASSERT_OK_AND_ASSIGN(const bool second, TakeCleanShutdown(io::LocalFileSystem(), dir.path()));
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

}  // namespace sluice::log
