#include "kv/key_store.h"

#include <rocksdb/env.h>

#include <map>

#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"
#include "kv/tablet_fixture.h"
#include "rocks/disk_that_fills_testing.h"

namespace sluice::kv {
namespace {

using testing::ElementsAre;

class KeyStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  KeyStoreTest() : stores_(MakeStores(GetParam())) { Open(); }
  void Open() {
    store_.reset();
    store_ = stores_->Open(io::JoinPath(dir_.path(), "kv-3")).ValueOrDie();
  }
  Status Write(std::vector<KeyStore::Change> changes, Applied applied) {
    return store_->Write(changes, applied);
  }
  std::vector<std::string> Walk(KeyStore::Cursor& cursor, std::string_view from = "") {
    std::vector<std::string> seen;
    for (cursor.Seek(from); cursor.valid(); cursor.Next()) {
      seen.push_back(std::string(cursor.key()) + "=" + std::string(cursor.value()));
    }
    return seen;
  }

  TempDir dir_;
  std::unique_ptr<KeyStores> stores_;
  std::shared_ptr<KeyStore> store_;
};

TEST_P(KeyStoreTest, NewStoreIsEmptyAndMakesNoFiles) {
  EXPECT_EQ(*store_->applied(), Applied{});
  const std::vector<std::string_view> keys{"a"};
  EXPECT_THAT(*store_->Get(keys), ElementsAre(std::nullopt));
  ASSERT_OK_AND_ASSIGN(const auto cached, store_->GetCached(keys));
  ASSERT_TRUE(cached.has_value());  // Nothing to wait for.
  EXPECT_THAT(*cached, ElementsAre(std::nullopt));
  EXPECT_THAT(Walk(**store_->NewCursor(KeyStore::CursorUse::kWhole)), ElementsAre());
  EXPECT_FALSE(*io::LocalFileSystem().Exists(io::JoinPath(dir_.path(), "kv-3")));
}

TEST_P(KeyStoreTest, WritesSurviveWithTheirOffsetWithoutAClose) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "2"}, {"", "empty key"}}, {5, 3}));
  ASSERT_OK(Write({{"b", std::nullopt}, {"c", ""}}, {9, 3}));
  Open();
  EXPECT_EQ(*store_->applied(), (Applied{9, 3}));
  const std::vector<std::string_view> keys{"c", "b", "a"};
  EXPECT_THAT(*store_->Get(keys), ElementsAre("", std::nullopt, "1"));
  EXPECT_THAT(Walk(**store_->NewCursor(KeyStore::CursorUse::kWhole)),
              ElementsAre("=empty key", "a=1", "c="));
}

TEST_P(KeyStoreTest, CleanCloseIsReadWithoutOpeningAndForgottenByTheNextWrite) {
  ASSERT_OK(Write({{"a", "1"}}, {5, std::nullopt}));
  ASSERT_OK(store_->Close());
  Open();
  EXPECT_EQ(*store_->applied(), (Applied{5, std::nullopt}));
  ASSERT_OK(Write({{"a", "2"}}, {6, 1}));
  Open();
  EXPECT_EQ(*store_->applied(), (Applied{6, 1}));
}

// Seeks on a shard stop where the device would be needed, until the blocks are in memory.
TEST_P(KeyStoreTest, CachedCursorNeverReadsTheDevice) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "2"}}, {1, 2}));
  ASSERT_OK(store_->Close());
  stores_ = GetParam().rocks ? MakeStores(GetParam()) : std::move(stores_);  // An empty cache.
  Open();
  const auto cached = [&] {
    auto cursor = store_->NewCursor(KeyStore::CursorUse::kCached).ValueOrDie();
    const auto seen = Walk(*cursor);
    EXPECT_OK(cursor->status());
    EXPECT_EQ(seen.empty(), cursor->missed());
    return seen;
  };
  if (GetParam().rocks) {
    EXPECT_THAT(cached(), ElementsAre());  // Not even open.
    EXPECT_FALSE(store_->GetCached({}).ValueOrDie().has_value());
    ASSERT_OK(store_->Get({}).status());
    EXPECT_TRUE(store_->GetCached({}).ValueOrDie().has_value());
    EXPECT_THAT(cached(), ElementsAre());
  }
  const auto range = store_->NewCursor(KeyStore::CursorUse::kRange).ValueOrDie();
  EXPECT_THAT(Walk(*range), ElementsAre("a=1", "b=2"));
  EXPECT_THAT(cached(), ElementsAre("a=1", "b=2"));
}

TEST_P(KeyStoreTest, CursorKeepsWhatItSaw) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "1"}}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto cursor, store_->NewCursor(KeyStore::CursorUse::kWhole));
  ASSERT_OK(Write({{"a", "2"}, {"b", std::nullopt}, {"c", "2"}}, {2, 2}));
  EXPECT_THAT(Walk(*cursor), ElementsAre("a=1", "b=1"));
  EXPECT_THAT(Walk(**store_->NewCursor(KeyStore::CursorUse::kWhole), "aa"), ElementsAre("c=2"));
}

// What a walk leaves behind for the next one is brought to the newest state.
TEST_P(KeyStoreTest, CachedCursorsInTurnSeeWhatWasWrittenBetween) {
  const auto cached = [&] { return Walk(**store_->NewCursor(KeyStore::CursorUse::kCached)); };
  ASSERT_EQ(*store_->applied(), Applied{});
  EXPECT_THAT(cached(), ElementsAre());
  ASSERT_OK(Write({{"a", "1"}}, {1, 1}));
  EXPECT_THAT(cached(), ElementsAre("a=1"));
  EXPECT_THAT(cached(), ElementsAre("a=1"));
  ASSERT_OK_AND_ASSIGN(const auto before, store_->NewCursor(KeyStore::CursorUse::kCached));
  ASSERT_OK(Write({{"a", "2"}, {"b", "1"}}, {2, 2}));
  EXPECT_THAT(Walk(*before), ElementsAre("a=1"));
  EXPECT_THAT(cached(), ElementsAre("a=2", "b=1"));
  ASSERT_OK(Write({{"a", std::nullopt}}, {3, 1}));
  EXPECT_THAT(cached(), ElementsAre("b=1"));
  store_.reset();  // `before` holds the database.
  EXPECT_THAT(Walk(*before), ElementsAre("a=1"));
}

TEST_P(KeyStoreTest, MoreStoresThanKeptCursors) {
  constexpr int kStores = 70;
  std::vector<std::shared_ptr<KeyStore>> many;
  for (int i = 0; i < kStores; ++i) {
    const std::string folder = io::JoinPath(dir_.path(), "many-" + std::to_string(i));
    ASSERT_OK_AND_ASSIGN(auto store, stores_->Open(folder));
    const std::string value = std::to_string(i);
    const std::vector<KeyStore::Change> changes{{"a", value}};
    ASSERT_OK(store->Write(changes, {1, 1}));
    many.push_back(std::move(store));
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kStores; ++i) {
      EXPECT_THAT(Walk(**many[i]->NewCursor(KeyStore::CursorUse::kCached)),
                  ElementsAre("a=" + std::to_string(i)));
    }
  }
}

TEST_P(KeyStoreTest, WhatWasJustWrittenIsReadWithoutWaiting) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "2"}}, {2, 2}));
  const std::vector<std::string_view> keys{"b", "x", "a"};
  ASSERT_OK_AND_ASSIGN(const auto cached, store_->GetCached(keys));
  ASSERT_TRUE(cached.has_value());
  EXPECT_THAT(*cached, ElementsAre("2", std::nullopt, "1"));
}

TEST_P(KeyStoreTest, RemovedStoreStartsAnew) {
  ASSERT_OK(Write({{"a", "1"}}, {1, 1}));
  store_.reset();
  ASSERT_OK(stores_->Remove(io::JoinPath(dir_.path(), "kv-3")));
  Open();
  EXPECT_EQ(*store_->applied(), Applied{});
}

INSTANTIATE_TEST_SUITE_P(Stores, KeyStoreTest, testing::ValuesIn(kStoreKinds),
                         [](const auto& info) { return info.param.name; });

// RocksDB is on the machine's disk here, the names of the folders that we make for it on a
// simulated one, which can lose them.
TEST(RocksKeyStoreTest, WrittenStoreKeepsItsFoldersThoughAKilledProcessMadeThem) {
  const TempDir dir;
  const std::string folder = io::JoinPath(dir.path(), "t-1/kv-0");
  ASSERT_OK(io::LocalFileSystem().MakeFolders(folder));
  for (uint64_t seed = 0; seed < 24; ++seed) {
    io::SimClock clock;
    io::SimFileSystem files(clock);
    const auto stores = MakeRocksStores(files, {});
    const auto store = stores->Open(folder).ValueOrDie();
    const uint64_t stop_at = 1 + seed % 12;
    files.SetHook(
        [&](std::string_view, const std::string&) { return files.operations() < stop_at; });
    const Status killed = store->Write({}, {1, 0});
    files.SetHook(nullptr);
    files.Restart();
    if (!killed.ok()) ASSERT_OK(store->Write({}, {1, 0}));
    io::SeededRandom random(seed);
    files.Crash(random);
    EXPECT_TRUE(*files.Exists(io::JoinPath(folder, "db"))) << "stopped at " << stop_at;
  }
}

TEST(RocksKeyStoreTest, StoreThatIsNotOpenIsToBeWaitedFor) {
  const TempDir dir;
  const auto stores = MakeRocksStores(io::LocalFileSystem(), RocksOptions{});
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  const std::vector<KeyStore::Change> changes{{"a", "1"}};
  ASSERT_OK((*stores->Open(folder))->Write(changes, {7, 1}));
  const auto store = stores->Open(folder).ValueOrDie();
  const std::vector<std::string_view> keys{"a"};
  EXPECT_EQ(*store->GetCached(keys), std::nullopt);
  EXPECT_THAT(*store->Get(keys), ElementsAre("1"));
}

// RocksDB calls a key found, with an empty value, when it may lie in a file that is not open.
TEST(RocksKeyStoreTest, KeysInFilesThatAreNotOpenAreToBeWaitedFor) {
  const TempDir dir;
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  const std::vector<std::string_view> present{"a", "b", "c"};
  {
    const auto stores = MakeRocksStores(io::LocalFileSystem(), RocksOptions{});
    const auto store = stores->Open(folder).ValueOrDie();
    for (int i = 0; i < 3; ++i) {  // A file each.
      const std::vector<KeyStore::Change> changes{{present[i], "1"}};
      ASSERT_OK(store->Write(changes, {i + 1, i + 1}));
    }
  }
  const auto stores = MakeRocksStores(io::LocalFileSystem(), {.open_files_max = 1});
  const auto store = stores->Open(folder).ValueOrDie();
  ASSERT_OK(store->applied());
  for (const std::string_view key : present) {
    SCOPED_TRACE(key);
    const std::vector<std::string_view> keys{key};
    ASSERT_OK_AND_ASSIGN(const auto cached, store->GetCached(keys));
    if (cached.has_value()) {
      EXPECT_THAT(*cached, ElementsAre("1"));
    }
    EXPECT_THAT(*store->Get(keys), ElementsAre("1"));
  }
}

TEST(RocksKeyStoreTest, OnlyShortWalksStayInTheCache) {
  const TempDir dir;
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  const std::vector<KeyStore::Change> changes{{"a", "1"}};
  const std::vector<std::string_view> keys{"a"};
  ASSERT_OK((*MakeRocksStores(io::LocalFileSystem(), RocksOptions{})->Open(folder))
                ->Write(changes, {7, 1}));
  const auto stores = MakeRocksStores(io::LocalFileSystem(), RocksOptions{});  // A cold cache.
  const auto store = stores->Open(folder).ValueOrDie();
  for (const auto use : {KeyStore::CursorUse::kWhole, KeyStore::CursorUse::kRange}) {
    ASSERT_OK_AND_ASSIGN(const auto cursor, store->NewCursor(use));
    cursor->Seek("");
    EXPECT_EQ(cursor->value(), "1");
    EXPECT_EQ(store->GetCached(keys)->has_value(), use == KeyStore::CursorUse::kRange);
  }
}

TEST(RocksKeyStoreTest, DamagedCloseMarkFallsBackToTheStore) {
  const TempDir dir;
  const auto stores = MakeRocksStores(io::LocalFileSystem(), RocksOptions{});
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  auto store = stores->Open(folder).ValueOrDie();
  const std::vector<KeyStore::Change> changes{{"a", "1"}};
  ASSERT_OK(store->Write(changes, {7, 1}));
  ASSERT_OK(store->Close());
  store.reset();
  ASSERT_OK(io::LocalFileSystem().ReplaceFile(io::JoinPath(folder, "applied"), "short"));
  EXPECT_EQ(*(*stores->Open(folder))->applied(), (Applied{7, 1}));
}

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() : stores_(MakeRocksStores(io::LocalFileSystem(), {.env = disk_.env.get()})) {}

  TempDir dir_;
  rocks::DiskThatFills disk_;
  std::unique_ptr<KeyStores> stores_;
};

TEST_F(FullDiskTest, TakesWritesAgainWhenThereIsRoom) {
  const std::string folder = io::JoinPath(dir_.path(), "kv-0");
  ASSERT_OK_AND_ASSIGN(auto store, stores_->Open(folder));
  const std::vector<KeyStore::Change> first{{"a", "1"}};
  const std::vector<KeyStore::Change> second{{"a", "2"}, {"b", "2"}};
  ASSERT_OK(store->Write(first, {1, 1}));
  disk_.full = true;
  for (int i = 0; i < 3; ++i) EXPECT_CODE(ErrorCode::kKvStorage, store->Write(second, {2, 2}));
  const std::vector<std::string_view> absent{"c"};
  EXPECT_OK(store->Get(absent));  // Reads go on.
  disk_.full = false;
  ASSERT_OK(store->Write(second, {2, 2}));
  ASSERT_OK(store->Close());
  ASSERT_OK_AND_ASSIGN(store, stores_->Open(folder));
  EXPECT_EQ(*store->applied(), (Applied{2, 2}));
  const std::vector<std::string_view> keys{"a", "b"};
  EXPECT_THAT(*store->Get(keys), ElementsAre("2", "2"));
}

TEST_F(FullDiskTest, WaitsForItsReadersBeforeItOpensAgain) {
  ASSERT_OK_AND_ASSIGN(const auto store, stores_->Open(io::JoinPath(dir_.path(), "kv-0")));
  const std::vector<KeyStore::Change> changes{{"a", "1"}};
  ASSERT_OK(store->Write(changes, {1, 1}));
  ASSERT_OK_AND_ASSIGN(auto cursor, store->NewCursor(KeyStore::CursorUse::kWhole));
  disk_.full = true;
  EXPECT_CODE(ErrorCode::kKvStorage, store->Write(changes, {2, 1}));
  disk_.full = false;
  EXPECT_CODE(ErrorCode::kKvStorage, store->Write(changes, {2, 1}));
  cursor->Seek("");
  EXPECT_TRUE(cursor->valid());
  cursor.reset();
  EXPECT_OK(store->Write(changes, {2, 1}));
}

// The mark of a clean close that came back would hide what the store has moved to since.
TEST(RocksKeyStoreTest, APowerLossDoesNotBringTheCloseMarkBack) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TempDir dir;
    const std::string folder = io::JoinPath(dir.path(), "kv-0");
    ASSERT_OK(io::LocalFileSystem().MakeFolders(folder));  // RocksDB's own files are real.
    io::SimClock clock;
    io::SimFileSystem files(clock);
    const auto stores = MakeRocksStores(files, RocksOptions{});
    for (int64_t offset : {1, 2}) {
      const auto store = stores->Open(folder).ValueOrDie();
      const std::vector<KeyStore::Change> changes{{"a", "1"}};
      ASSERT_OK(store->Write(changes, {offset, 1}));
      if (offset == 1) ASSERT_OK(store->Close());
    }
    io::SeededRandom random(seed);
    files.Crash(random);
    ASSERT_OK(files.MakeFolders(io::JoinPath(folder, "db")));  // As it is on the real disk.
    ASSERT_OK(files.ReplaceFile(io::JoinPath(folder, "db/CURRENT"), ""));
    EXPECT_EQ(*stores->Open(folder).ValueOrDie()->applied(), (Applied{2, 1})) << seed;
  }
}

// All files below a folder with their bytes.
std::map<std::string, std::string> ContentOf(const std::string& folder) {
  std::map<std::string, std::string> content;
  const auto entries = io::LocalFileSystem().List(folder);
  if (!entries.ok()) return content;
  for (const auto& entry : *entries) {
    const std::string path = io::JoinPath(folder, entry.name);
    if (entry.is_folder) {
      content.merge(ContentOf(path));
    } else {
      content[path] = io::LocalFileSystem().ReadFile(path).ValueOrDie();
    }
  }
  return content;
}

TEST(CheckRocksStoreTest, ReadsAStoreWholeAndChangesNothing) {
  const TempDir dir;
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  io::FileSystem& files = io::LocalFileSystem();
  ASSERT_OK_AND_ASSIGN(const StoreContent none, CheckRocksStore(files, folder));
  EXPECT_FALSE(none.exists);
  const auto stores = MakeRocksStores(files, RocksOptions{});
  for (const bool clean : {false, true}) {
    auto store = stores->Open(folder).ValueOrDie();
    const std::string large(9000, 'x');
    const std::vector<KeyStore::Change> changes{{"a", "1"}, {"b", large}};
    ASSERT_OK(store->Write(changes, {4, 2}));
    if (clean) ASSERT_OK(store->Close());
    store.reset();
    const auto before = ContentOf(folder);
    ASSERT_OK_AND_ASSIGN(const StoreContent content, CheckRocksStore(files, folder));
    EXPECT_TRUE(content.exists);
    EXPECT_EQ(content.applied, (Applied{4, 2}));
    EXPECT_EQ(content.closed.has_value(), clean);
    EXPECT_EQ(content.keys, 2);
    EXPECT_EQ(ContentOf(folder), before);
  }
}

TEST(CheckRocksStoreTest, FindsAFlippedBitOfEveryKindOfFile) {
  const TempDir dir;
  const std::string folder = io::JoinPath(dir.path(), "kv-0");
  io::FileSystem& files = io::LocalFileSystem();
  {
    const auto store = MakeRocksStores(files, RocksOptions{})->Open(folder).ValueOrDie();
    const std::vector<KeyStore::Change> changes{{"a", "1"}, {"b", "2"}};
    ASSERT_OK(store->Write(changes, {4, 2}));
    ASSERT_OK(store->Close());
  }
  for (const auto& [path, bytes] : ContentOf(folder)) {
    const bool matters = path.ends_with(".sst") || path.ends_with("/CURRENT") ||
                         path.find("/MANIFEST") != std::string::npos || path.ends_with("/applied");
    if (!matters) continue;
    std::string damaged = bytes;
    damaged[3] ^= 1;
    ASSERT_OK(files.ReplaceFile(path, damaged));
    EXPECT_FALSE(CheckRocksStore(files, folder).ok()) << path;
    ASSERT_OK(files.ReplaceFile(path, bytes));
  }
  EXPECT_OK(CheckRocksStore(files, folder));
}

}  // namespace
}  // namespace sluice::kv
