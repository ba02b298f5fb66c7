#include "meta/store.h"

#include <rocksdb/env.h>

#include <csignal>
#include <cstdlib>

#include "base/check.h"
#include "base/testing.h"
#include "meta/memory_store.h"
#include "meta/rocks_store.h"
#include "rocks/disk_that_fills_testing.h"

namespace sluice::meta {
namespace {

using Op = MetaStore::Op;

/// Opens one kind of store; Reopen stands for a restart of the process.
class StoreTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    if (std::string_view(GetParam()) == "memory") {
      if (store_ == nullptr) store_ = NewMemoryMetaStore();
      return;
    }
    store_.reset();
    ASSERT_OK_AND_ASSIGN(store_, OpenRocksMetaStore(folder_.path()));
  }

  std::string ValueOf(const std::string& path) {
    const auto node = store_->Get(path);
    EXPECT_OK(node);
    return node->has_value() ? (*node)->value : "(none)";
  }

  TempDir folder_;
  std::unique_ptr<MetaStore> store_;
};

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(StoreTest, KeepsValuesAndVersionsAcrossARestart) {
  ASSERT_OK(store_->Apply({MetaStore::Create("/a/b", "one")}));
  ASSERT_OK(store_->Apply({MetaStore::Set("/a/b", std::string("two\0!", 5), 0)}));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto node, store_->Get("/a/b"));
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->value, std::string("two\0!", 5));
  EXPECT_EQ(node->version, 1);
  ASSERT_OK_AND_ASSIGN(const auto parent, store_->Get("/a"));
  EXPECT_EQ(parent->value, "");  // Made on the way.
  EXPECT_EQ(ValueOf("/a/c"), "(none)");
}

TEST_P(StoreTest, RefusesTheWholeBatchWhenOneStepFails) {
  ASSERT_OK(store_->Apply({MetaStore::Create("/a", "1")}));
  EXPECT_TRUE(
      store_->Apply({MetaStore::Set("/a", "2"), MetaStore::Create("/a", "3")}).IsAlreadyExists());
  EXPECT_TRUE(store_->Apply({MetaStore::Create("/b", "2"), MetaStore::Delete("/c")}).IsKeyError());
  EXPECT_CODE(ErrorCode::kInvalidUpdateVersion,
              store_->Apply({MetaStore::Create("/b", "2"), MetaStore::Check("/a", 7)}));
  Reopen();
  EXPECT_EQ(ValueOf("/a"), "1");
  EXPECT_EQ(ValueOf("/b"), "(none)");
}

TEST_P(StoreTest, StepsSeeTheStepsBeforeThem) {
  ASSERT_OK(store_->Apply({MetaStore::Create("/a", "1"), MetaStore::Set("/a", "2", 0),
                           MetaStore::Check("/a", 1), MetaStore::Create("/a/x", ""),
                           MetaStore::DeleteTree("/a"), MetaStore::Create("/a", "3")}));
  Reopen();
  EXPECT_EQ(ValueOf("/a"), "3");
  EXPECT_EQ(ValueOf("/a/x"), "(none)");
}

TEST_P(StoreTest, ListsDirectChildrenOnly) {
  ASSERT_OK(store_->Apply({MetaStore::Create("/t/a", ""), MetaStore::Create("/t/a/deep/er", ""),
                           MetaStore::Create("/t/a-b", ""), MetaStore::Create("/t/a0", ""),
                           MetaStore::Create("/tt", ""), MetaStore::Create("/t/Z$1", "")}));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto names, store_->Children("/t"));
  EXPECT_THAT(names, testing::ElementsAre("Z$1", "a", "a-b", "a0"));
  ASSERT_OK_AND_ASSIGN(const auto none, store_->Children("/nothing"));
  EXPECT_TRUE(none.empty());
}

TEST_P(StoreTest, DeletesLeavesAloneAndTreesWhole) {
  ASSERT_OK(store_->Apply({MetaStore::Create("/a/b/c", ""), MetaStore::Create("/ab", "")}));
  EXPECT_TRUE(store_->Apply({MetaStore::Delete("/a")}).IsInvalid());
  ASSERT_OK(store_->Apply({MetaStore::DeleteTree("/a")}));
  ASSERT_OK(store_->Apply({MetaStore::DeleteTree("/a")}));
  Reopen();
  EXPECT_EQ(ValueOf("/a"), "(none)");
  EXPECT_EQ(ValueOf("/a/b/c"), "(none)");
  EXPECT_EQ(ValueOf("/ab"), "");
}

TEST_P(StoreTest, RefusesMalformedPaths) {
  for (const char* path : {"", "/", "a", "/a/", "//a", "/a//b", "/a\x01"}) {
    EXPECT_TRUE(store_->Apply({MetaStore::Put(path, "")}).IsInvalid()) << path;
  }
}

TEST(RocksStoreTest, ASecondOwnerOfTheFolderIsRefused) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksMetaStore(folder.path()));
  EXPECT_CODE(ErrorCode::kStorage, OpenRocksMetaStore(folder.path()));
}

// The page cache outlives the process, so this proves that nothing waits in memory; the sync is
// RocksDB's own option.
TEST(RocksStoreDeathTest, WhatWasAppliedOutlivesAKill) {
  constexpr int kApplied = 50;
  GTEST_FLAG_SET(
      death_test_style,
      "threadsafe");  // The child is a new process; it finds the folder by the environment.
  const TempDir own;
  setenv("SLUICE_META_TEST_FOLDER", own.path().c_str(), /*overwrite=*/0);
  const std::string folder = getenv("SLUICE_META_TEST_FOLDER");
  const auto apply_and_die = [&] {
    auto store = OpenRocksMetaStore(folder).ValueOrDie();
    for (int i = 0; i < kApplied; ++i) {
      const std::string text = std::to_string(i);
      CHECK(store->Apply({MetaStore::Put("/counter", text), MetaStore::Create("/n/" + text, "")})
                .ok());
    }
    raise(SIGKILL);
  };
  EXPECT_EXIT(apply_and_die(), testing::KilledBySignal(SIGKILL), "");
  unsetenv("SLUICE_META_TEST_FOLDER");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenRocksMetaStore(folder));
  ASSERT_OK_AND_ASSIGN(const auto counter, store->Get("/counter"));
  ASSERT_TRUE(counter.has_value());
  EXPECT_EQ(counter->value, std::to_string(kApplied - 1));
  EXPECT_EQ(counter->version, kApplied - 1);
  ASSERT_OK_AND_ASSIGN(const auto names, store->Children("/n"));
  EXPECT_EQ(names.size(), static_cast<size_t>(kApplied));
}

TEST(RocksStoreTest, TakesChangesAgainWhenAFullDiskHasRoom) {
  const TempDir folder;
  rocks::DiskThatFills disk;
  ASSERT_OK_AND_ASSIGN(auto store, OpenRocksMetaStore(folder.path(), disk.env.get()));
  ASSERT_OK(store->Apply({MetaStore::Create("/a", "before")}));
  disk.full = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_CODE(ErrorCode::kStorage, store->Apply({MetaStore::Set("/a", "while full")}));
    EXPECT_CODE(ErrorCode::kStorage, store->Apply({MetaStore::Create("/b", "while full")}));
  }
  ASSERT_OK_AND_ASSIGN(auto node, store->Get("/a"));
  EXPECT_EQ(node->value, "before");
  disk.full = false;
  ASSERT_OK(store->Apply({MetaStore::Create("/c", "after")}));
  store.reset();
  ASSERT_OK_AND_ASSIGN(store, OpenRocksMetaStore(folder.path()));
  ASSERT_OK_AND_ASSIGN(node, store->Get("/a"));
  EXPECT_EQ(node->value, "before");  // What was answered with an error did not happen.
  ASSERT_OK_AND_ASSIGN(node, store->Get("/b"));
  EXPECT_FALSE(node.has_value());
  ASSERT_OK_AND_ASSIGN(node, store->Get("/c"));
  EXPECT_EQ(node->value, "after");
}

TEST(RocksStoreTest, IsReadBesideItsOwnerAndChangesNothing) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto owner, OpenRocksMetaStore(folder.path()));
  ASSERT_OK(owner->Apply({MetaStore::Create("/a/b", "one")}));
  ASSERT_OK_AND_ASSIGN(const auto reader, ReadRocksMetaStore(folder.path()));
  ASSERT_OK(owner->Apply({MetaStore::Set("/a/b", "two")}));
  ASSERT_OK_AND_ASSIGN(const auto node, reader->Get("/a/b"));
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->value, "one");
  EXPECT_CODE(ErrorCode::kStorage, reader->Apply({MetaStore::Create("/c", "")}));
}

TEST(RocksStoreTest, IsNotMadeByReading) {
  const TempDir folder;
  EXPECT_CODE(ErrorCode::kStorage, ReadRocksMetaStore(folder.path() + "/none"));
}

}  // namespace
}  // namespace sluice::meta
