#include "kv/snapshot_upload.h"

#include <rocksdb/db.h>

#include <map>

#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"
#include "kv/tablet_fixture.h"

namespace sluice::kv {
namespace {

using testing::ElementsAre;

// The rows of a snapshot as a client reads them: its files in one folder, opened for reading with
// the default column family alone.
std::map<std::string, std::string> OpenAsAClient(const types::KvSnapshot& snapshot) {
  const TempDir folder;
  io::FileSystem& files = io::LocalFileSystem();
  for (const auto* list : {&snapshot.shared_files, &snapshot.private_files}) {
    for (const auto& file : *list) {
      const auto bytes = files.ReadFile(types::RemotePath(file.remote_path));
      EXPECT_OK(bytes);
      EXPECT_EQ(bytes->size(), file.size_bytes);
      EXPECT_OK(files.ReplaceFile(io::JoinPath(folder.path(), file.local_name), *bytes));
    }
  }
  rocksdb::DB* raw = nullptr;
  const auto opened = rocksdb::DB::OpenForReadOnly(rocksdb::Options(), folder.path(), &raw);
  EXPECT_TRUE(opened.ok()) << opened.ToString();
  std::map<std::string, std::string> rows;
  if (!opened.ok()) return rows;
  const std::unique_ptr<rocksdb::DB> db(raw);
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  for (at->SeekToFirst(); at->Valid(); at->Next())
    rows[at->key().ToString()] = at->value().ToString();
  EXPECT_TRUE(at->status().ok());
  return rows;
}

class SnapshotOfAStoreTest : public testing::Test {
 protected:
  SnapshotOfAStoreTest() {
    upload_.files = &io::LocalFileSystem();
    upload_.checkpoint_folder = io::JoinPath(dir_.path(), "kv-0/checkpoint");
    upload_.bucket = {.table_id = 7, .bucket = 0};
    upload_.root = io::JoinPath(dir_.path(), "remote");
    EXPECT_OK(upload_.files->MakeFolders(upload_.root));
    upload_.bucket_folder = upload_.root + "/kv/db/t-7/0";
    Open();
  }
  void Open() {
    store_.reset();
    store_ = stores_->Open(io::JoinPath(dir_.path(), "kv-0")).ValueOrDie();
  }
  Result<types::KvSnapshot> Make(int64_t id) {
    upload_.snapshot_id = id;
    ASSIGN_OR_RAISE(const auto checkpoint, store_->MakeCheckpoint(upload_.checkpoint_folder));
    if (!checkpoint) return Status::Invalid("the store is empty");
    upload_.checkpoint = *checkpoint;
    ASSIGN_OR_RAISE(auto snapshot, UploadSnapshot(upload_));
    upload_.base_metadata_path = snapshot.location + "/" + types::kKvSnapshotMetadataFile;
    return snapshot;
  }

  TempDir dir_;
  std::unique_ptr<KeyStores> stores_ = MakeRocksStores(io::LocalFileSystem(), RocksOptions{});
  std::shared_ptr<KeyStore> store_;
  SnapshotUpload upload_;
};

TEST_F(SnapshotOfAStoreTest, AnEmptyStoreHasNone) {
  ASSERT_OK_AND_ASSIGN(const auto made, store_->MakeCheckpoint(upload_.checkpoint_folder));
  EXPECT_FALSE(made.has_value());
}

TEST_F(SnapshotOfAStoreTest, ClientsReadTheRowsOfItsOffset) {
  const std::vector<KeyStore::Change> changes{{"a", "1"}, {"b", "2"}};
  ASSERT_OK(store_->Write(changes, {5, 2}));
  ASSERT_OK_AND_ASSIGN(const auto snapshot, Make(0));
  EXPECT_EQ(snapshot.log_offset, 5);
  EXPECT_EQ(snapshot.row_count, 2);
  EXPECT_TRUE(snapshot.location.starts_with("file:/")) << snapshot.location;
  // What is written later, or is moved away below it, does not reach it.
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", std::nullopt}, {"c", "3"}}, {6, 2}));
  EXPECT_THAT(OpenAsAClient(snapshot),
              ElementsAre(testing::Pair("a", "1"), testing::Pair("b", "2")));
  ASSERT_OK_AND_ASSIGN(const auto next, Make(1));
  EXPECT_EQ(next.log_offset, 6);
  EXPECT_THAT(OpenAsAClient(next), ElementsAre(testing::Pair("b", "2"), testing::Pair("c", "3")));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       upload_.files->ReadFile(types::RemotePath(*upload_.base_metadata_path)));
  ASSERT_OK_AND_ASSIGN(const auto stored, types::KvSnapshot::FromJson(text));
  EXPECT_EQ(stored.ToJson(), next.ToJson());
}

TEST_F(SnapshotOfAStoreTest, SortedTablesGoOnce) {
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", std::string(50'000, 'x')}}, {1, 1}));
  ASSERT_OK_AND_ASSIGN(const auto first, Make(0));
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"b", "2"}}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(const auto second, Make(1));
  EXPECT_GT(second.shared_files.size(), first.shared_files.size());
  for (const auto& file : first.shared_files)
    EXPECT_THAT(second.shared_files, testing::Contains(file));
  for (const auto& file : second.private_files)
    EXPECT_TRUE(file.remote_path.starts_with(second.location)) << file.remote_path;
  EXPECT_EQ(OpenAsAClient(second).size(), 2u);

  // After a restart of the store too; not when somebody took a file away.
  Open();
  ASSERT_OK(upload_.files->Remove(types::RemotePath(first.shared_files[0].remote_path)));
  ASSERT_OK_AND_ASSIGN(const auto third, Make(2));
  EXPECT_EQ(OpenAsAClient(third).size(), 2u);
  EXPECT_THAT(third.shared_files, testing::Contains(second.shared_files.back()));
}

// A store that was lost and made anew gives its files the same names.
TEST_F(SnapshotOfAStoreTest, FilesOfAnotherStoreAreNotTakenForKnown) {
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", "old"}}, {1, 1}));
  ASSERT_OK_AND_ASSIGN(const auto first, Make(0));
  store_.reset();
  ASSERT_OK(stores_->Remove(io::JoinPath(dir_.path(), "kv-0")));
  Open();
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", "new"}}, {2, 1}));
  ASSERT_OK_AND_ASSIGN(const auto second, Make(1));
  EXPECT_NE(first.store_id, second.store_id);
  EXPECT_THAT(OpenAsAClient(second), ElementsAre(testing::Pair("a", "new")));
}

TEST_F(SnapshotOfAStoreTest, AMissingRemoteFolderIsNotMadeAnew) {
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", "1"}}, {1, 1}));
  ASSERT_OK(upload_.files->RemoveTree(upload_.root));
  EXPECT_FALSE(Make(0).ok());
  EXPECT_FALSE(*upload_.files->Exists(upload_.root));
}

TEST_F(SnapshotOfAStoreTest, AStopEndsIt) {
  ASSERT_OK(store_->Write(std::vector<KeyStore::Change>{{"a", "1"}}, {1, 1}));
  upload_.stop = std::make_shared<std::atomic<bool>>(true);
  EXPECT_TRUE(Make(0).status().IsCancelled());
}

// An upload over simulated files.
struct SimUpload {
  static constexpr char kFolder[] = "/remote/kv/db/t-7/0";
  SimUpload() {
    upload.files = &files;
    upload.checkpoint_folder = "/local/checkpoint";
    upload.checkpoint = {.applied = {5, 2}, .store_id = "s"};
    upload.bucket = {.table_id = 7, .bucket = 0};
    upload.root = "/remote";
    upload.bucket_folder = kFolder;
    EXPECT_OK(files.MakeFolders("/remote"));
    EXPECT_OK(files.MakeFolders(upload.checkpoint_folder));
    for (const auto& [name, bytes] : Content())
      EXPECT_OK(files.ReplaceFile(io::JoinPath(upload.checkpoint_folder, name), bytes));
  }
  static std::map<std::string, std::string> Content() {
    return {{"000009.sst", std::string(3000, 'a')},
            {"000011.sst", std::string(10, 'b')},
            {"000012.log", ""},
            {"CURRENT", "MANIFEST-000005\n"},
            {"MANIFEST-000005", std::string(200, 'm')}};
  }
  bool HasMetadata() { return *files.Exists(std::string(kFolder) + "/snap-0/_METADATA"); }
  // Every file that the metadata names is there with its bytes.
  void ExpectWhole(const std::string& when) {
    SCOPED_TRACE(when);
    ASSERT_OK_AND_ASSIGN(const std::string text,
                         files.ReadFile(std::string(kFolder) + "/snap-0/_METADATA"));
    ASSERT_OK_AND_ASSIGN(const auto snapshot, types::KvSnapshot::FromJson(text));
    std::map<std::string, std::string> found;
    for (const auto* list : {&snapshot.shared_files, &snapshot.private_files}) {
      for (const auto& file : *list) {
        ASSERT_OK_AND_ASSIGN(found[file.local_name],
                             files.ReadFile(types::RemotePath(file.remote_path)));
      }
    }
    auto expected = Content();
    expected.erase("000012.log");
    EXPECT_EQ(found, expected);
  }

  io::SimClock clock;
  io::SimFileSystem files{clock};
  SnapshotUpload upload;
};

TEST(CutUploadTest, AFailureAtAnyOperationIsToldAndTheNextTryIsWhole) {
  SimUpload sim;
  for (uint64_t n = 1; n < 1000; ++n) {
    sim.files.FailOperation(n);
    const uint64_t before = sim.files.operations();
    const bool failed = !UploadSnapshot(sim.upload).ok();
    if (!failed && sim.files.operations() - before < n) return;  // It had fewer operations.
    EXPECT_TRUE(failed) << n;
    ASSERT_OK(UploadSnapshot(sim.upload));
    sim.ExpectWhole("after failure " + std::to_string(n));
  }
  FAIL() << "an upload has no end";
}

TEST(CutUploadTest, NothingIsWrittenToAnEmptyMountPoint) {
  SimUpload sim;
  sim.upload.remote = io::RemoteFolder("/remote");
  EXPECT_CODE(ErrorCode::kStorage, UploadSnapshot(sim.upload));
  EXPECT_TRUE(sim.files.List("/remote")->empty());
  ASSERT_OK(sim.upload.remote.Open(sim.files, /*may_make=*/true));
  ASSERT_OK(UploadSnapshot(sim.upload));
  sim.ExpectWhole("once it is there");
}

TEST(CutUploadTest, MetadataThatSurvivesAPowerLossNamesWholeFiles) {
  io::SeededRandom random(7);
  uint64_t whole = 0;
  for (uint64_t n = 1; n < 1000; ++n) {
    SimUpload sim;
    uint64_t left = n;
    sim.files.SetHook([&](std::string_view, const std::string&) { return --left > 0; });
    const bool done = UploadSnapshot(sim.upload).ok();
    sim.files.SetHook({});
    sim.files.Crash(random);
    if (sim.HasMetadata()) {
      ++whole;
      sim.ExpectWhole("stopped at " + std::to_string(n));
    }
    EXPECT_TRUE(!done || sim.HasMetadata());
    if (done) break;
  }
  EXPECT_GT(whole, 0u);
}

}  // namespace
}  // namespace sluice::kv
