// What openings of a table share: pins of snapshots, and what is known of its files; and that
// nobody makes a table's folder anew.
#include "lake/paimon/table_share.h"

#include <set>

#include "base/log.h"
#include "io/sim/sim_file_system.h"
#include "lake/workload_testing.h"

namespace sluice::lake {
namespace {

constexpr const char* kPlace = "/wh/db.db/t";
constexpr int64_t kRenewalMs = 10'000;
const ExpireOptions kKeepNewest{.retained_min = 1, .retained_ms = 0};

class TableShareTest : public testing::Test {
 protected:
  TableShareTest() : random_(7), files_(clock_), catalog_(Open()) { MakeTable(false); }

  std::unique_ptr<LakeCatalog> Open() { return OpenWarehouse(files_, clock_, random_); }
  void MakeTable(bool primary_key) {
    workload_ =
        LakeWorkload::Create(catalog_.get(), {{"db", "t"}, TwoColumnTable(primary_key), 20}, 1)
            .ValueOrDie();
  }
  std::unique_ptr<LakeTable> Table() { return catalog_->OpenTable({"db", "t"}).ValueOrDie(); }
  // As another process does it.
  int64_t ExpireElsewhere() {
    return Open()->OpenTable({"db", "t"}).ValueOrDie()->Expire(kKeepNewest).ValueOrDie();
  }
  size_t Consumers() {
    const auto listed = files_.List(std::string(kPlace) + "/consumer");
    if (!listed.ok()) return 0;
    return static_cast<size_t>(std::ranges::count_if(
        *listed, [](const auto& entry) { return entry.name.starts_with("consumer-"); }));
  }
  // Read what is not the table that was read before.
  void MakeAnewAndRead(bool altered);

  HandClock clock_;
  io::SeededRandom random_;
  io::SimFileSystem files_;
  std::unique_ptr<LakeCatalog> catalog_;
  std::unique_ptr<LakeWorkload> workload_;
};

TEST_F(TableShareTest, ReadersShareOnePinThatIsWrittenOnce) {
  for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
  ASSERT_OK(Table()->Pin(2));
  const uint64_t before = files_.operations();
  for (int i = 0; i < 10; ++i) {
    const auto table = Table();
    for (const int64_t snapshot : {2, 3}) {
      ASSERT_OK(table->Pin(snapshot));
      table->Unpin(snapshot);
    }
    clock_.Advance(100);
  }
  EXPECT_EQ(files_.operations(), before);
  EXPECT_EQ(Consumers(), 1u);
  ASSERT_OK(Table()->Pin(1));  // Older than what is pinned.
  EXPECT_EQ(Consumers(), 1u);
  EXPECT_EQ(ExpireElsewhere(), 0);
}

TEST_F(TableShareTest, APinFollowsItsReadersAndEndsAfterThem) {
  for (int i = 0; i < 4; ++i) ASSERT_OK(workload_->Round(5));
  const auto table = Table();
  ASSERT_OK(table->Pin(1));
  ASSERT_OK(table->Pin(3));
  clock_.Advance(kRenewalMs);
  catalog_->Trim();
  EXPECT_EQ(ExpireElsewhere(), 0);
  table->Unpin(1);
  catalog_->Trim();
  EXPECT_EQ(ExpireElsewhere(), 2);
  table->Unpin(3);
  clock_.Advance(kRenewalMs - 1);
  catalog_->Trim();
  EXPECT_EQ(Consumers(), 1u);
  clock_.Advance(1);
  catalog_->Trim();
  EXPECT_EQ(Consumers(), 0u);
  EXPECT_EQ(ExpireElsewhere(), 1);
  EXPECT_CODE(ErrorCode::kLakeSnapshotNotExist, table->Pin(1));
}

TEST_F(TableShareTest, APinThatIsGoneIsWrittenAnew) {
  for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
  ASSERT_OK(Table()->Pin(2));
  ASSERT_OK(files_.RemoveTree(std::string(kPlace) + "/consumer"));
  ASSERT_OK(files_.RemoveTree(std::string(kPlace) + "/.sluice"));
  ASSERT_OK(Table()->Pin(2));
  EXPECT_EQ(ExpireElsewhere(), 1);
  EXPECT_OK(Table()->SnapshotById(2).status());
}

// Whatever step of a pin's new file fails: no file that nobody names holds up expiry.
TEST_F(TableShareTest, APinThatFailedHalfWayHoldsUpNothing) {
  OpenLog("", LogLevel::kError);
  bool reached = true;
  for (uint64_t step = 1; reached; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_OK(files_.RemoveTree("/wh"));
    catalog_ = Open();
    MakeTable(false);
    for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
    const auto table = Table();
    ASSERT_OK(table->Pin(2));
    const uint64_t before = files_.operations();
    files_.FailOperation(step);
    const bool pinned = table->Pin(1).ok();
    reached = files_.operations() - before >= step;
    files_.FailOperation(0);
    catalog_->Trim();  // Removes again what could not be removed.
    EXPECT_EQ(Consumers(), 1u);
    EXPECT_EQ(ExpireElsewhere(), pinned ? 0 : 1);
    if (pinned) table->Unpin(1);
    table->Unpin(2);
    clock_.Advance(kRenewalMs);
    catalog_->Trim();
    EXPECT_EQ(Consumers(), 0u);
    EXPECT_EQ(ExpireElsewhere(), pinned ? 2 : 1);
  }
}

// Else every sweep would ask about it, and its files' names, for as long as the process lives.
TEST_F(TableShareTest, AFormerPinThatIsRemovedLateLeavesNoRecord) {
  OpenLog("", LogLevel::kError);
  for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
  const auto records = [&] { return files_.List(std::string(kPlace) + "/.sluice")->size(); };
  bool late = false;
  for (uint64_t step = 1; !late; ++step) {
    ASSERT_LT(step, 50u);
    const size_t before = records();
    auto elsewhere = Open();
    auto table = elsewhere->OpenTable({"db", "t"}).ValueOrDie();
    ASSERT_OK(table->Pin(2));
    files_.FailOperation(step);
    const bool pinned = table->Pin(1).ok();
    files_.FailOperation(0);
    late = pinned && Consumers() == 2;
    if (pinned) table->Unpin(1);
    table->Unpin(2);
    elsewhere->Trim();
    clock_.Advance(kRenewalMs);
    elsewhere->Trim();
    EXPECT_EQ(Consumers(), 0u);
    table.reset();
    elsewhere.reset();
    if (late) {
      EXPECT_EQ(records(), before);
    }
  }
}

TEST_F(TableShareTest, WhatAReaderUsesIsNeverExpired) {
  std::multiset<int64_t> held;
  const auto table = Table();
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK(workload_->Round(1));
    ASSERT_OK_AND_ASSIGN(const auto latest, table->LatestSnapshot());
    const int64_t wanted = latest->id - static_cast<int64_t>(random_.Next() % 3);
    if (wanted > 0 && Table()->Pin(wanted).ok()) held.insert(wanted);
    while (held.size() > random_.Next() % 6) {
      auto ends = held.begin();
      std::advance(ends, static_cast<std::ptrdiff_t>(random_.Next() % held.size()));
      table->Unpin(*ends);
      held.erase(ends);
    }
    clock_.Advance(static_cast<int64_t>(random_.Next() % 4000));
    if (step % 3 == 0) catalog_->Trim();
    if (step % 4 == 0) ASSERT_OK(table->Compact({.files_min = 3}).status());
    ExpireElsewhere();
    ASSERT_OK(table->Expire(kKeepNewest));
    for (const int64_t snapshot : held) {
      ASSERT_OK_AND_ASSIGN(const auto read, table->SnapshotById(snapshot));
      ASSERT_OK_AND_ASSIGN(const LakePlan plan, table->Plan(read, {}));
      for (const LakeSplit& split : plan.splits) {
        for (const LakeFile& file : split.files) ASSERT_OK(files_.Stat(file.path).status());
      }
    }
  }
  for (const int64_t snapshot : held) table->Unpin(snapshot);
  clock_.Advance(kRenewalMs);
  catalog_->Trim();
  ExpireElsewhere();
  ASSERT_OK_AND_ASSIGN(const auto left, table->Snapshots());
  EXPECT_EQ(left.size(), 1u);
}

TEST_F(TableShareTest, FilesOfASnapshotAreReadOnceForAllOpenings) {
  for (int i = 0; i < 5; ++i) ASSERT_OK(workload_->Round(5));
  ASSERT_OK_AND_ASSIGN(const auto latest, Table()->LatestSnapshot());
  ASSERT_OK(Table()->Plan(*latest, {}).status());
  ASSERT_OK(files_.Rename(std::string(kPlace) + "/manifest", "/elsewhere"));
  EXPECT_OK(Table()->Plan(*latest, {}).status());
  clock_.Advance(60'000);
  catalog_->Trim();  // Nobody asked for a minute.
  EXPECT_FALSE(Table()->Plan(*latest, {}).ok());
}

// Also when its schema has changed since: then the ids of schemas do not tell.
TEST_F(TableShareTest, ATableMadeAnewIsAnother) { MakeAnewAndRead(false); }
TEST_F(TableShareTest, ATableMadeAnewAndAlteredIsAnother) { MakeAnewAndRead(true); }

void TableShareTest::MakeAnewAndRead(bool altered) {
  for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
  ASSERT_OK_AND_ASSIGN(const auto third, Table()->LatestSnapshot());
  ASSERT_OK(Table()->Plan(*third, {}).status());
  ASSERT_OK(files_.RemoveTree(kPlace));
  clock_.Advance(1);
  const auto other = Open();
  const auto anew =
      LakeWorkload::Create(other.get(), {{"db", "t"}, TwoColumnTable(false), 20}, 2).ValueOrDie();
  for (int i = 0; i < 4; ++i) ASSERT_OK(anew->Round(5));
  if (altered)
    ASSERT_OK(other->AlterTable({"db", "t"},
                                {LakeChange::SetOption("paimon.snapshot.num-retained.min", "3")}));
  ASSERT_OK_AND_ASSIGN(const auto fourth, Table()->LatestSnapshot());
  EXPECT_EQ(fourth->id, third->id + 1);
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*Table(), *fourth, anew->AllColumns()));
  EXPECT_EQ(rows, anew->ExpectedRows());
}

// Another program takes the newest snapshots back, and the next ones get their ids.
TEST_F(TableShareTest, FilesOfSnapshotsThatWereTakenBackAreForgotten) {
  for (int i = 0; i < 4; ++i) ASSERT_OK(workload_->Round(5));
  const auto elsewhere = Open();
  ASSERT_OK_AND_ASSIGN(const auto reader, elsewhere->OpenTable({"db", "t"}));
  for (const int64_t id : {3, 4}) ASSERT_OK(reader->Plan(*reader->SnapshotById(id), {}).status());
  for (const int64_t id : {4, 3})
    ASSERT_OK(files_.Remove(std::string(kPlace) + "/snapshot/snapshot-" + std::to_string(id)));
  for (int i = 0; i < 3; ++i) ASSERT_OK(workload_->Round(5));
  ASSERT_OK_AND_ASSIGN(const auto latest, reader->LatestSnapshot());
  ASSERT_EQ(latest->id, 5);
  const std::vector<std::string> columns = workload_->AllColumns();
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*reader, *latest, columns));
  const auto fresh = Open();
  ASSERT_OK_AND_ASSIGN(const auto wanted,
                       ReadAll(**fresh->OpenTable({"db", "t"}), *latest, columns));
  EXPECT_EQ(rows, wanted);
}

class MovedAwayTest : public TableShareTest, public testing::WithParamInterface<const char*> {};

// The folder goes before each step of a round, a compaction, a read and an expiry in turn.
TEST_P(MovedAwayTest, AFolderThatWasMovedAwayIsNotMadeAnew) {
  OpenLog("", LogLevel::kError);
  bool moved = true;
  for (uint64_t step = 1; moved; step += 13) {  // Of append and key tables in turn.
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_OK(files_.RemoveTree("/wh"));
    ASSERT_OK(files_.RemoveTree("/away"));
    catalog_ = Open();
    MakeTable(step % 2 == 0);
    for (int i = 0; i < 2; ++i) ASSERT_OK(workload_->Round(5));
    uint64_t passed = 0;
    moved = false;
    files_.SetHook([&](std::string_view, const std::string&) {
      if (++passed == step) {
        moved = true;
        EXPECT_OK(files_.Rename(GetParam(), "/away"));
      }
      return true;
    });
    LakeTable& table = workload_->table();
    Status failed = workload_->Round(5).status();
    if (failed.ok()) failed = table.Compact({.full = true}).status();
    if (failed.ok()) failed = table.Pin(1);
    if (failed.ok()) failed = table.Expire(kKeepNewest).status();
    EXPECT_EQ(failed.ok(), !moved) << failed;
    EXPECT_FALSE(workload_->Round(5).ok() && moved);
    EXPECT_FALSE(table.Pin(1).ok() && moved);
    if (moved && std::string(GetParam()) == "/wh") {
      EXPECT_CODE(ErrorCode::kStorage,
                  catalog_->CreateTable({"db", "other"}, TwoColumnTable(false), true));
    }
    files_.SetHook({});
    EXPECT_NE(files_.Exists(GetParam()).ValueOrDie(), moved);
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, MovedAwayTest, testing::Values("/wh", kPlace),
                         [](const auto& info) { return info.index == 0 ? "warehouse" : "table"; });

}  // namespace
}  // namespace sluice::lake
