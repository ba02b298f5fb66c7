#include "log/folder_check.h"

#include <map>

#include "log/log_state.h"
#include "log/log_testing.h"

namespace sluice::log {
namespace {

using internal::LogFixture;

class FolderCheckTest : public LogFixture {
 protected:
  io::FileSystem& files() { return io::LocalFileSystem(); }
  // Several segments, all saved.
  void MakeLog() {
    ASSERT_OK(Reopen());
    Fill(40);
    ASSERT_OK(log_->Close());
    ASSERT_GT(log_->Segments().size(), 3u);
    log_.reset();
  }
  FolderCheck Check(FolderCheckOptions options = {.clean_stop = true}) {
    const auto before = Content();
    auto check = CheckFolder(files(), folder_, options);
    EXPECT_TRUE(check.ok()) << check.status().ToString();
    EXPECT_EQ(Content(), before);
    return std::move(check).ValueOrDie();
  }
  std::map<std::string, std::string> Content() {
    std::map<std::string, std::string> content;
    for (const auto& entry : files().List(folder_).ValueOrDie())
      content[entry.name] = files().ReadFile(io::JoinPath(folder_, entry.name)).ValueOrDie();
    return content;
  }
  // Overwrite a file, without waiting for the device.
  void Put(const std::string& path, const std::string& bytes) {
    ASSERT_OK_AND_ASSIGN(const auto file, files().Open(path, io::FileSystem::Mode::kCreate));
    ASSERT_OK(file->Truncate(0));
    ASSERT_OK(file->Append(bytes));
  }
  static size_t Count(const FolderCheck& check, Finding::Kind kind) {
    size_t count = 0;
    for (const Finding& finding : check.findings) count += finding.kind == kind ? 1 : 0;
    return count;
  }
  static size_t Damages(const FolderCheck& check) { return Count(check, Finding::Kind::kDamage); }
  static size_t Notes(const FolderCheck& check) { return Count(check, Finding::Kind::kNote); }
};

TEST_F(FolderCheckTest, AClosedLogIsInOrder) {
  MakeLog();
  const FolderCheck check = Check();
  EXPECT_TRUE(check.findings.empty()) << check.findings[0].text;
  EXPECT_EQ(check.end_offset, 80);
  EXPECT_EQ(check.batches, 40u);
  EXPECT_EQ(check.records, 80u);
  EXPECT_EQ(check.recovery_point, 80);
}

TEST_F(FolderCheckTest, ALogOfAKilledProcessIsInOrder) {
  ASSERT_OK(Reopen());
  Fill(10);
  ASSERT_OK(log_->Flush());
  Fill(30);
  log_.reset();
  const FolderCheck check = Check({});
  EXPECT_TRUE(check.findings.empty()) << check.findings[0].text;
  EXPECT_EQ(check.end_offset, 80);
  EXPECT_EQ(check.recovery_point, 20);
}

TEST_F(FolderCheckTest, ATornTailIsANoteUnlessTheStopWasClean) {
  ASSERT_OK(Reopen());
  Fill(40);
  const std::string last = PathOf(log_->Segments().back().base_offset, ".log");
  log_.reset();
  ASSERT_OK_AND_ASSIGN(const std::string image, files().ReadFile(last));
  Put(last, image.substr(0, image.size() - 5));
  const FolderCheck check = Check({});
  EXPECT_EQ(Damages(check), 0u);
  EXPECT_EQ(Notes(check), 1u);
  EXPECT_EQ(check.end_offset, 78);
  EXPECT_GE(Damages(Check()), 1u);
  // The start agrees.
  ASSERT_OK(Reopen());
  EXPECT_EQ(log_->end_offset(), 78);
}

TEST_F(FolderCheckTest, EveryFlippedBitIsFound) {
  MakeLog();
  const auto content = Content();
  for (const auto& [name, bytes] : content) {
    const bool is_log = name.ends_with(".log");
    if (!is_log && !name.ends_with(".index") && !name.ends_with(".timeindex")) continue;
    size_t at = 0;
    size_t batch_at = 0;
    while (at < bytes.size()) {
      if (is_log) {
        // The timestamp lies outside the CRC.
        const size_t size = static_cast<size_t>(LoadLe<int32_t>(&bytes[batch_at + 8])) + 12;
        if (at >= batch_at + size) batch_at += size;
        if (at >= batch_at + 13 && at < batch_at + 21) {
          at = batch_at + 21;
          continue;
        }
      }
      std::string damaged = bytes;
      damaged[at] ^= 0x04;
      Put(io::JoinPath(folder_, name), damaged);
      ASSERT_OK_AND_ASSIGN(const FolderCheck check,
                           CheckFolder(files(), folder_, {.clean_stop = true}));
      EXPECT_GE(Damages(check), 1u) << name << " at " << at;
      for (const Finding& finding : check.findings)
        EXPECT_TRUE(finding.file.ends_with(name)) << finding.file << ": " << finding.text;
      at += 11;  // No field is missed in all batches.
    }
    Put(io::JoinPath(folder_, name), bytes);
  }
}

TEST_F(FolderCheckTest, AMissingSegmentIsAHole) {
  MakeLog();
  const auto content = Content();
  std::vector<std::string> logs;
  for (const auto& [name, bytes] : content) {
    if (name.ends_with(".log")) logs.push_back(name);
  }
  for (const std::string& name : logs) {
    const std::string path = io::JoinPath(folder_, name);
    ASSERT_OK(files().Remove(path));
    EXPECT_GE(Damages(Check()), 1u) << name;
    Put(path, content.at(name));
  }
  EXPECT_TRUE(Check().findings.empty());
}

TEST_F(FolderCheckTest, StateAndSnapshotsMustLieInsideTheLog) {
  MakeLog();
  const std::string snapshot = PathOf(80, ".writer_snapshot");
  ASSERT_OK_AND_ASSIGN(const std::string writers, files().ReadFile(snapshot));
  Put(PathOf(90, ".writer_snapshot"), writers);
  EXPECT_EQ(Damages(Check()), 1u);
  Put(PathOf(90, ".writer_snapshot"), "{");
  EXPECT_EQ(Damages(Check()), 1u);
  ASSERT_OK(files().Remove(PathOf(90, ".writer_snapshot")));
  const std::string state = io::JoinPath(folder_, kLogStateFile);
  const auto write = [&](const std::string& epochs, int64_t start) {
    ASSERT_OK(
        files().ReplaceFile(state, "{\"version\":1,\"start_offset\":" + std::to_string(start) +
                                       ",\"restarting\":false,\"epochs\":" + epochs + "}"));
  };
  write("[[1,0],[2,40]]", 0);
  EXPECT_EQ(Damages(Check()), 0u);
  for (const char* epochs : {"[[1,0],[2,81]]", "[[2,0],[1,40]]", "[[1,40],[2,0]]", "[[1]]"}) {
    write(epochs, 0);
    EXPECT_EQ(Damages(Check()), 1u) << epochs;
  }
  write("[]", 81);
  EXPECT_EQ(Damages(Check()), 1u);
}

TEST_F(FolderCheckTest, ACheckpointBehindTheEndCountsWithoutASnapshot) {
  ASSERT_OK(Reopen());
  Fill(5);
  log_.reset();
  EXPECT_EQ(Damages(Check({.recovery_point = 10})), 0u);
  EXPECT_EQ(Damages(Check({.recovery_point = 11})), 1u);
}

}  // namespace
}  // namespace sluice::log
