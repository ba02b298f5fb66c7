#include "rocks/open_files.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>

#include <memory>
#include <string>

#include "base/testing.h"
#include "rocks/full_disk.h"

namespace sluice::rocks {
namespace {

constexpr int kTables = 60;

std::string KeyOf(int table) { return "key-" + std::to_string(table); }

std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options, const std::string& folder) {
  rocksdb::DB* db = nullptr;
  EXPECT_TRUE(rocksdb::DB::Open(options, folder, &db).ok());
  return std::unique_ptr<rocksdb::DB>(db);
}

void ReadAll(rocksdb::DB& db) {
  for (int i = 0; i < kTables; ++i) {
    std::string value;
    EXPECT_TRUE(db.Get(rocksdb::ReadOptions(), KeyOf(i), &value).ok());
  }
}

// How many tables three passes over all of them open, after the first pass.
uint64_t OpenedAgain(rocksdb::Options options) {
  const TempDir dir;
  options.create_if_missing = true;
  options.disable_auto_compactions = true;
  options.statistics = rocksdb::CreateDBStatistics();
  FailWithoutAborting(&options);
  {
    const auto db = Open(options, dir.path());
    for (int i = 0; i < kTables; ++i) {
      EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), KeyOf(i), "value").ok());
      EXPECT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
    }
  }
  const auto db = Open(options, dir.path());
  ReadAll(*db);
  const uint64_t opened = options.statistics->getTickerCount(rocksdb::NO_FILE_OPENS);
  for (int pass = 0; pass < 3; ++pass) ReadAll(*db);
  return options.statistics->getTickerCount(rocksdb::NO_FILE_OPENS) - opened;
}

TEST(OpenFilesTest, TablesBelowTheLimitAreOpenedOnce) {
  rocksdb::Options options;
  KeepFilesOpen(&options, 64);
  EXPECT_EQ(OpenedAgain(options), 0u);
}

// What KeepFilesOpen is for; should RocksDB's own way become as good, this tells.
TEST(OpenFilesTest, TheDefaultShardsOpenTablesOverAndOver) {
  rocksdb::Options options;
  options.max_open_files = 74;
  const uint64_t opened = OpenedAgain(options);
  RecordProperty("opened_again", std::to_string(opened));
  EXPECT_GT(opened, 0u);
}

}  // namespace
}  // namespace sluice::rocks
