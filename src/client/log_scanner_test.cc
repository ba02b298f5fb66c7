#include "client/log_scanner.h"

#include "base/testing.h"
#include "client/client_fixture_testing_internal.h"
#include "client/kv_scanner.h"
#include "wire/damaged_batch_testing.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;

class LogScannerTest : public ClientTest {
 protected:
  LogScannerTest() : table_(fake_->Add(kPath, Descriptor({}, {"id"}, 1))) {}

  types::BucketId bucket() const { return {table_.info.table_id, std::nullopt, 0}; }

  /// Put a batch of three rows at the end of the log, as it is.
  void Store(bool damaged) {
    FakeCluster::Log& log = fake_->log(bucket());
    const auto& descriptor = table_.info.descriptor;
    const Rows rows = Numbered(descriptor, static_cast<int>(log.end_offset), 3);
    std::string batch = wire::BuildLogBatch({}, *rows, {}).ValueOrDie();
    if (damaged) batch = wire::DamageInsideABlock(batch, descriptor.schema.ToArrow());
    ASSERT_FALSE(batch.empty());
    wire::StampBatch(batch.data(), log.end_offset, 1000);
    log.batches.push_back(std::move(batch));
    log.end_offset += 3;
  }

  /// Poll until an error comes; the ids seen before.
  Status ErrorOf(LogScanner* scanner, int64_t* rows) {
    for (int polls = 0; polls < 10; ++polls) {
      const auto batches = Wait(scanner->Poll(milliseconds(500)));
      if (!batches.ok()) return batches.status();
      for (const ScanBatch& batch : *batches) *rows += batch.rows->num_rows();
    }
    return Status::OK();
  }

  const FakeCluster::Table table_;
};

// The stored bytes will not change, so neither does the answer: no retry, and the reader learns
// where it is after the rows in front.
TEST_F(LogScannerTest, ADamagedBatchIsAnErrorAtOnceThatNamesItsPlace) {
  for (const bool damaged : {false, false, false, true, false}) Store(damaged);
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  scanner->Subscribe(bucket(), 0);
  const auto started = loop_.clock().Monotonic();
  int64_t rows = 0;
  const Status error = ErrorOf(scanner.get(), &rows);
  EXPECT_CODE(ErrorCode::kCorruptRecord, error);
  EXPECT_THAT(error.message(), testing::HasSubstr("table=db.t table_id=1 bucket=0 offset=9"));
  EXPECT_EQ(rows, 9);
  EXPECT_EQ(scanner->Position(bucket()), 9);
  EXPECT_LT(loop_.clock().Monotonic() - started, milliseconds(200));
  EXPECT_EQ(fake_->calls(wire::ApiKey::kFetchLog), 2);
  // The caller may go on behind it.
  scanner->Subscribe(bucket(), 12);
  ASSERT_OK_AND_ASSIGN(const auto behind, Wait(scanner->Poll(milliseconds(500))));
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(behind[0].base_offset, 12);
}

TEST_F(LogScannerTest, AnErrorFromTheServerAboutStoredBytesIsNotTriedAgain) {
  Store(/*damaged=*/false);
  fake_->refusal = Corrupt("log batch has buffers out of order base_offset=0");
  fake_->fault = [](wire::ApiKey key) {
    return key == wire::ApiKey::kFetchLog ? FakeCluster::Fault::kRefuse : FakeCluster::Fault::kNone;
  };
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  scanner->Subscribe(bucket(), 0);
  int64_t rows = 0;
  const Status error = ErrorOf(scanner.get(), &rows);
  EXPECT_CODE(ErrorCode::kCorruptRecord, error);
  EXPECT_THAT(error.message(), testing::HasSubstr("table=db.t table_id=1 bucket=0 offset=0"));
  EXPECT_EQ(fake_->calls(wire::ApiKey::kFetchLog), 1);
}

// A storage that is away may come back, and a reader with an end must not wait for ever.
TEST_F(LogScannerTest, AnErrorThatLastsIsToldAndGivenUpByWhoeverHasABound) {
  Store(/*damaged=*/false);
  fake_->refusal = Error(ErrorCode::kLogStorage, "remote segment cannot be read");
  bool away = true;
  fake_->fault = [&](wire::ApiKey key) {
    return away && key == wire::ApiKey::kFetchLog ? FakeCluster::Fault::kRefuse
                                                  : FakeCluster::Fault::kNone;
  };
  ASSERT_OK_AND_ASSIGN(
      const auto bounded,
      Wait(LogScanner::Open(loop_, cluster_, kPath, {.retry_max = milliseconds(2000)})));
  ASSERT_OK_AND_ASSIGN(const auto patient, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  for (LogScanner* scanner : {bounded.get(), patient.get()}) scanner->Subscribe(bucket(), 0);
  int64_t rows = 0;
  const auto started = loop_.clock().Monotonic();
  const Status error = ErrorOf(bounded.get(), &rows);
  EXPECT_CODE(ErrorCode::kLogStorage, error);
  EXPECT_THAT(error.message(), testing::HasSubstr("table=db.t table_id=1 bucket=0 offset=0"));
  EXPECT_GE(loop_.clock().Monotonic() - started, milliseconds(2000));
  EXPECT_OK(ErrorOf(patient.get(), &rows));
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) EXPECT_OK(ErrorOf(patient.get(), &rows));
  const std::string told =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, testing::HasSubstr("log cannot be read, trying again table=db.t"));
  EXPECT_EQ(rows, 0);
  away = false;
  EXPECT_OK(ErrorOf(patient.get(), &rows));
  EXPECT_EQ(rows, 3);
  EXPECT_OK(ErrorOf(bounded.get(), &rows));  // It stayed subscribed.
  EXPECT_EQ(rows, 6);
}

TEST_F(LogScannerTest, LimitScansNameADamagedBatch) {
  for (const bool damaged : {false, true}) Store(damaged);
  const auto scanned = Wait(LimitScan(loop_, cluster_, kPath, bucket(), 10));
  EXPECT_CODE(ErrorCode::kCorruptRecord, scanned);
  EXPECT_THAT(scanned.status().message(),
              testing::HasSubstr("table=db.t table_id=1 bucket=0 offset=3"));
  EXPECT_EQ(fake_->calls(wire::ApiKey::kLimitScan), 1);
}

// Compressed rows can be a hundred times larger than their reply: what is not asked for stays as it
// came.
TEST_F(LogScannerTest, APollDecodesNoMoreThanItMayGive) {
  for (int i = 0; i < 3; ++i) Store(/*damaged=*/false);
  LogScannerOptions options;
  options.max_rows_bytes = 1;
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, options)));
  scanner->Subscribe(bucket(), 1);
  const int64_t ends[] = {3, 6, 9};
  for (const int64_t end : ends) {
    ASSERT_OK_AND_ASSIGN(const auto batches, Wait(scanner->Poll(milliseconds(500))));
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].base_offset + batches[0].rows->num_rows(), end);
    EXPECT_EQ(scanner->Position(bucket()), end);
    if (end == 3) {
      EXPECT_EQ(fake_->calls(wire::ApiKey::kFetchLog), 1);
    }
  }
}

// A server in this process answers before the fetch returns: the poll must not then wait for it.
TEST_F(LogScannerTest, AnAnswerThatComesAtOnceWakesThePoll) {
  Store(/*damaged=*/false);
  ASSERT_OK_AND_ASSIGN(const auto scanner, Wait(LogScanner::Open(loop_, cluster_, kPath, {})));
  fake_->at_once = true;
  scanner->Subscribe(bucket(), 0);
  const auto started = loop_.clock().Monotonic();
  ASSERT_OK_AND_ASSIGN(const auto batches, Wait(scanner->Poll(std::chrono::minutes(1))));
  EXPECT_EQ(batches.size(), 1u);
  EXPECT_LT(loop_.clock().Monotonic() - started, milliseconds(100));
}

}  // namespace
}  // namespace sluice::client
