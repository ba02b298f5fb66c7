// The changelog files of a key table hold what its log holds: kinds and rows, in the log's order.
#include <arrow/array.h>

#include "io/random.h"
#include "lake/paimon/file_rows.h"
#include "tiering/round_testing.h"

namespace sluice::tiering {
namespace {

using lake::RowKind;
using testing::ElementsAre;
using wire::ChangeType;

// A changelog record as a reader of the lake finds it.
struct LakeChange {
  RowKind kind;
  int32_t id;
  std::string name;
  int64_t offset;
  bool operator==(const LakeChange&) const = default;
};

void PrintTo(const LakeChange& change, std::ostream* out) {
  constexpr const char* kNames[] = {"+I", "-U", "+U", "-D"};
  *out << '{' << kNames[static_cast<size_t>(change.kind)] << ',' << change.id << ',' << change.name
       << ",o" << change.offset << '}';
}

class TiersChangesTest : public RoundTest {
 protected:
  using Sequenced = std::map<int64_t, LakeChange>;  // By Paimon's sequence number.

  // The changelog of one bucket over all snapshots, by way of their manifests.
  std::vector<LakeChange> InLake(int32_t bucket) {
    const auto table = lake_.catalog().OpenTable(table_.path).ValueOrDie();
    const lake::paimon::TablePaths paths(table->location());
    io::FileSystem& files = io::LocalFileSystem();
    lake::paimon::SchemaStore schemas(files, paths);
    lake::paimon::WriterSession session(files, io::SystemRandom(), paths);
    const lake::paimon::ManifestStore manifests(files, io::SystemRandom(), paths, schemas, session);
    const lake::paimon::ReadContext context{.files = files, .schemas = schemas};
    Sequenced changes;
    for (const lake::LakeSnapshot& snapshot : table->Snapshots().ValueOrDie()) {
      if (snapshot.changelog_manifest_list.empty()) continue;
      for (const auto& entry :
           manifests.ReadEntries(snapshot.changelog_manifest_list).ValueOrDie()) {
        if (entry.bucket != bucket) continue;
        EXPECT_TRUE(entry.file.name.starts_with("changelog-")) << entry.file.name;
        const std::string path = io::JoinPath(paths.Bucket("", bucket), entry.file.name);
        const auto reader = lake::paimon::FileRowsReader::Open(
                                context, table->schema(), table->schema().columns, entry, path,
                                /*with_keys=*/true, lake::paimon::BatchSize{.rows = 1000})
                                .ValueOrDie();
        while (const auto rows = reader->Next().ValueOrDie()) Add(*table, *rows, &changes);
      }
    }
    std::vector<LakeChange> ordered;
    for (const auto& [sequence, change] : changes) ordered.push_back(change);
    return ordered;
  }

  // The same from the log.
  std::vector<LakeChange> InLog(int32_t bucket) {
    std::vector<LakeChange> changes;
    for (const auto& batch : cluster_.LogOf(table_.path, bucket)) {
      int64_t offset = batch.base_offset;
      for (const LogRow& row : batch.rows) {
        changes.push_back({lake::KindOfChange(static_cast<uint8_t>(row.change)), row.id,
                           row.name.value_or("null"), offset++});
      }
    }
    return changes;
  }

 private:
  static void Add(lake::LakeTable& table, const lake::paimon::FileRows& rows, Sequenced* changes) {
    const auto column = [&](const char* name) {
      return rows.columns[static_cast<size_t>(table.schema().IndexOf(name))];
    };
    const auto ids = std::static_pointer_cast<arrow::Int32Array>(column("id"));
    const auto names = std::static_pointer_cast<arrow::StringArray>(column("name"));
    const auto offsets = std::static_pointer_cast<arrow::Int64Array>(column("__offset"));
    for (int64_t i = 0; i < rows.count; ++i) {
      const LakeChange change{static_cast<RowKind>(rows.kinds->Value(i)), ids->Value(i),
                              names->GetString(i), offsets->Value(i)};
      EXPECT_TRUE(changes->emplace(rows.sequences->Value(i), change).second)
          << "sequence number " << rows.sequences->Value(i) << " comes twice";
    }
  }
};

TEST_F(TiersChangesTest, ChangelogFilesSayWhatTheLogSays) {
  const auto& path = Make("keyed", true, 1);
  cluster_.Append(path, 0, {{ChangeType::kInsert, 2, "b"}, {ChangeType::kInsert, 1, "a"}});
  ASSERT_OK(Run());
  cluster_.Append(path, 0,
                  {{ChangeType::kUpdateBefore, 1, "a"},
                   {ChangeType::kUpdateAfter, 1, "a2"},
                   {ChangeType::kDelete, 2, "b"}});
  cluster_.Append(path, 0,
                  {{ChangeType::kInsert, 2, "c"},
                   {ChangeType::kUpdateBefore, 2, "c"},
                   {ChangeType::kUpdateAfter, 2, "d"}});
  ASSERT_OK(Run());
  EXPECT_THAT(
      InLake(0),
      ElementsAre(LakeChange{RowKind::kInsert, 2, "b", 0}, LakeChange{RowKind::kInsert, 1, "a", 1},
                  LakeChange{RowKind::kUpdateBefore, 1, "a", 2},
                  LakeChange{RowKind::kUpdateAfter, 1, "a2", 3},
                  LakeChange{RowKind::kDelete, 2, "b", 4}, LakeChange{RowKind::kInsert, 2, "c", 5},
                  LakeChange{RowKind::kUpdateBefore, 2, "c", 6},
                  LakeChange{RowKind::kUpdateAfter, 2, "d", 7}));
  EXPECT_EQ(lake_.Read(path), ExpectedRows());
}

TEST_F(TiersChangesTest, EveryBucketsChangelogIsItsLog) {
  const auto& path = Make("keyed", true, 2);
  io::SeededRandom random(1);
  std::map<int32_t, std::string> live;
  for (int step = 0; step < 60; ++step) {
    const auto id = static_cast<int32_t>(random.Below(12));
    const std::string name = "s" + std::to_string(step);
    const auto old = live.find(id);
    std::vector<LogRow> rows;
    if (old == live.end()) {
      rows = {{ChangeType::kInsert, id, name}};
      live[id] = name;
    } else if (random.Below(3) == 0) {
      rows = {{ChangeType::kDelete, id, old->second}};
      live.erase(old);
    } else {
      rows = {{ChangeType::kUpdateBefore, id, old->second}, {ChangeType::kUpdateAfter, id, name}};
      old->second = name;
    }
    cluster_.Append(path, id % 2, std::move(rows));
    if (step % 20 == 19) ASSERT_OK(Run());
  }
  for (const int32_t bucket : {0, 1}) {
    const auto expected = InLog(bucket);
    for (const RowKind kind :
         {RowKind::kInsert, RowKind::kUpdateBefore, RowKind::kUpdateAfter, RowKind::kDelete})
      EXPECT_TRUE(std::ranges::count(expected, kind, &LakeChange::kind) > 0);
    EXPECT_EQ(InLake(bucket), expected);
  }
}

}  // namespace
}  // namespace sluice::tiering
