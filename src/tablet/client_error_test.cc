// What clients learn of what goes wrong: the bucket, and nothing of this machine's folders.
#include "tablet/client_error.h"

#include "base/log.h"
#include "tablet/testing_internal.h"

namespace sluice::tablet {
namespace {

using internal::kKeyTable;
using internal::kLogTable;

TEST(ForClientTest, TakesPathsOut) {
  const types::BucketId id{3, std::nullopt, 1};
  const auto warnings = WarningCount();
  const auto told = [&](const std::string& message) {
    const Status status =
        ForClient(Error(ErrorCode::kLogStorage, message), &id, "/data dir/sluice/");
    EXPECT_EQ(CodeOf(status), ErrorCode::kLogStorage);
    return status.message();
  };
  EXPECT_EQ(told("offset is outside the log offset=9"),
            "offset is outside the log offset=9 table_id=3 bucket=1");
  EXPECT_EQ(told("no such bucket table_id=3 bucket=1"), "no such bucket table_id=3 bucket=1");
  EXPECT_EQ(WarningCount(), warnings);
  EXPECT_EQ(
      told("read failed file=/data dir/sluice/a/0.log offset=4: /data dir/sluice/a/0.log: no"),
      "read failed offset=4: no table_id=3 bucket=1");
  EXPECT_EQ(WarningCount(), warnings + 1);
  EXPECT_OK(ForClient(Status::OK(), &id, "/data"));
}

class ClientErrorTest : public internal::TabletTest {
 protected:
  void SetUp() override {
    TabletTest::SetUp();
    LeadAll();
  }
  void ExpectTold(const std::string& message) {
    EXPECT_EQ(message.find(folder.path()), std::string::npos) << message;
    EXPECT_NE(message.find("bucket="), std::string::npos) << message;
    EXPECT_NE(message.find("table_id="), std::string::npos) << message;
  }
  std::string FetchError(int64_t offset) {
    return Fetch({{0, offset}}).ValueOrDie()[0].error_message();
  }
};

TEST_F(ClientErrorTest, OffsetsOutsideTheLog) {
  ASSERT_OK(Produce(0, LogBatch({{1, "a", 1}})));
  const auto warnings = WarningCount();
  const std::string message = FetchError(99);
  EXPECT_NE(message.find("offset=99"), std::string::npos) << message;
  ExpectTold(message);
  EXPECT_EQ(WarningCount(), warnings) << "a client's mistake is no news";
}

TEST_F(ClientErrorTest, DamagedFiles) {
  for (int i = 0; i < 3; ++i) ASSERT_OK(Produce(0, LogBatch({{i, "a", 1}})));
  auto& files = io::LocalFileSystem();
  const std::string log = io::JoinPath(folder.path(), "db/log-3/log-0/00000000000000000000.log");
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open(log, io::FileSystem::Mode::kCreate));
  ASSERT_OK(file->Truncate(70));
  const auto warnings = WarningCount();
  const std::string message = FetchError(1);
  ExpectTold(message);
  EXPECT_GT(WarningCount(), warnings) << "the path is in the log";
}

}  // namespace
}  // namespace sluice::tablet
