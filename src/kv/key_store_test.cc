#include "kv/key_store.h"

#include "kv/tablet_fixture.h"

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
  EXPECT_THAT(Walk(**store_->NewCursor()), ElementsAre());
  EXPECT_FALSE(*io::LocalFileSystem().Exists(io::JoinPath(dir_.path(), "kv-3")));
}

TEST_P(KeyStoreTest, WritesSurviveWithTheirOffsetWithoutAClose) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "2"}, {"", "empty key"}}, {5, 3}));
  ASSERT_OK(Write({{"b", std::nullopt}, {"c", ""}}, {9, 3}));
  Open();
  EXPECT_EQ(*store_->applied(), (Applied{9, 3}));
  const std::vector<std::string_view> keys{"c", "b", "a"};
  EXPECT_THAT(*store_->Get(keys), ElementsAre("", std::nullopt, "1"));
  EXPECT_THAT(Walk(**store_->NewCursor()), ElementsAre("=empty key", "a=1", "c="));
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

TEST_P(KeyStoreTest, CursorKeepsWhatItSaw) {
  ASSERT_OK(Write({{"a", "1"}, {"b", "1"}}, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto cursor, store_->NewCursor());
  ASSERT_OK(Write({{"a", "2"}, {"b", std::nullopt}, {"c", "2"}}, {2, 2}));
  EXPECT_THAT(Walk(*cursor), ElementsAre("a=1", "b=1"));
  EXPECT_THAT(Walk(**store_->NewCursor(), "aa"), ElementsAre("c=2"));
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

}  // namespace
}  // namespace sluice::kv
