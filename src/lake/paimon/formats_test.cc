// Manifests, statistics, sort keys and folder names.
#include <arrow/array.h>
#include <arrow/builder.h>

#include "base/bytes.h"
#include "base/testing.h"
#include "io/file.h"
#include "lake/paimon/binary_row.h"
#include "lake/paimon/columns.h"
#include "lake/paimon/commit.h"
#include "lake/paimon/compaction.h"
#include "lake/paimon/manifest.h"
#include "lake/paimon/parquet_schema.h"
#include "lake/paimon/paths.h"
#include "lake/paimon/sort_key.h"
#include "lake/paimon/stats.h"
#include "types/row.h"

namespace sluice::lake::paimon {
namespace {

using types::DataType;
using types::DataTypePtr;
using types::TypeKind;

constexpr std::string_view kSyncMarker = "0123456789abcdef";

std::shared_ptr<arrow::Array> Strings(const std::vector<std::optional<std::string>>& values) {
  arrow::StringBuilder builder;
  for (const auto& value : values)
    EXPECT_OK(value.has_value() ? builder.Append(*value) : builder.AppendNull());
  return builder.Finish().ValueOrDie();
}
std::shared_ptr<arrow::Array> Doubles(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  EXPECT_OK(builder.AppendValues(values));
  return builder.Finish().ValueOrDie();
}
std::shared_ptr<arrow::Array> Ints(const std::vector<int32_t>& values) {
  arrow::Int32Builder builder;
  EXPECT_OK(builder.AppendValues(values));
  return builder.Finish().ValueOrDie();
}

TEST(ManifestTest, ReadsWhatJavaWroteAndWritesItAgain) {
  io::FileSystem& files = io::LocalFileSystem();
  const std::string folder = "lake/testdata/sample.db/pk_part/manifest";
  ASSERT_OK_AND_ASSIGN(const auto listed, files.List(folder));
  size_t entries_seen = 0, deletes_seen = 0;
  for (const auto& entry : listed) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, files.ReadFile(io::JoinPath(folder, entry.name)));
    if (entry.name.starts_with("manifest-list-")) {
      ASSERT_OK_AND_ASSIGN(const auto manifests, ParseManifestList(bytes));
      ASSERT_OK_AND_ASSIGN(const std::string again, WriteManifestList(manifests, kSyncMarker));
      ASSERT_OK_AND_ASSIGN(const auto reread, ParseManifestList(again));
      EXPECT_EQ(reread, manifests);
      for (const ManifestMeta& manifest : manifests) {
        ASSERT_OK_AND_ASSIGN(const auto stat, files.Stat(io::JoinPath(folder, manifest.name)));
        EXPECT_EQ(manifest.size_bytes, static_cast<int64_t>(stat.size_bytes));
      }
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const auto entries, ParseManifest(bytes));
    ASSERT_OK_AND_ASSIGN(const std::string again, WriteManifest(entries, kSyncMarker));
    ASSERT_OK_AND_ASSIGN(const auto reread, ParseManifest(again));
    EXPECT_EQ(reread, entries);
    for (const ManifestEntry& file : entries) {
      ++entries_seen;
      deletes_seen += static_cast<size_t>(file.file.delete_row_count.value_or(0));
      EXPECT_EQ(file.total_buckets, 2);
      EXPECT_EQ(file.file.value_stats.null_counts.size(), 7u);
    }
  }
  EXPECT_GT(entries_seen, 8u);
  EXPECT_GT(deletes_seen, 0u);
}

TEST(ManifestTest, DeletesCancelAddsOfTheSameIdentityOnly) {
  ManifestEntry a, b;
  a.file.name = "a";
  b.file.name = "b";
  ManifestEntry upgraded = a;
  upgraded.file.level = 5;
  ManifestEntry gone = a;
  gone.is_delete = true;
  LiveFiles live{a, b};
  EXPECT_TRUE(ApplyEntries(&live, {gone, upgraded}).empty());
  EXPECT_EQ(live, (LiveFiles{b, upgraded}));
  EXPECT_EQ(ApplyEntries(&live, {gone}).size(), 1u);  // The file of level 0 is not there any more.
}

// Bytes from Java's BinaryRow.
TEST(BinaryRowTest, CarriesItsArityInFront) {
  ASSERT_OK_AND_ASSIGN(const std::string row,
                       EncodeRow({DataType::Of(TypeKind::kInteger, false)}, {Ints({42})}, 0));
  EXPECT_EQ(ToHex(row), "0000000100000000000000002a00000000000000");
  ASSERT_OK_AND_ASSIGN(const std::string two, EncodeRow({DataType::Of(TypeKind::kInteger),
                                                         DataType::Of(TypeKind::kString)},
                                                        {Ints({7}), Strings({"user-0001"})}, 0));
  EXPECT_EQ(ToHex(two),
            "000000020000000000000000070000000000000009000000180000007573"
            "65722d3030303100000000000000");
  EXPECT_EQ(EmptyRow().size(), 12u);
}

TEST(StatsTest, UpperBoundsGrowAtTheirLastPlace) {
  EXPECT_EQ(TruncateUp("short", 16, true), "short");
  EXPECT_EQ(TruncateUp("abcdef", 3, true), "abd");
  EXPECT_EQ(TruncateUp("größe", 3, true), "gr÷");
  EXPECT_EQ(TruncateUp("\xf4\x8f\xbf\xbf"
                       "a",
                       1, true),
            std::nullopt);  // U+10FFFF cannot grow.
  EXPECT_EQ(TruncateUp("a\xf4\x8f\xbf\xbf"
                       "b",
                       2, true),
            "b");
  EXPECT_EQ(TruncateUp("\xed\x9f\xbf"
                       "a",
                       1, true),
            "\xee\x80\x80");  // U+D7FF to U+E000.
  EXPECT_EQ(TruncateUp("a\xff"
                       "b",
                       2, false),
            "b");
  EXPECT_EQ(TruncateUp("\xff\xff\xff", 2, false), std::nullopt);
  EXPECT_EQ(TruncateDown("größe", 3, true), "grö");
}

TEST(StatsTest, CoverAllBatchesAndKnowTheirNulls) {
  StatsCollector stats({DataType::Of(TypeKind::kInteger), DataType::Of(TypeKind::kString)}, 4);
  stats.Update({Ints({3, 9}), Strings({std::nullopt, "mmmmm"})});
  stats.Update({Ints({-2}), Strings({"b"})});
  ASSERT_OK_AND_ASSIGN(const SimpleStats found, stats.Finish());
  EXPECT_EQ(found.null_counts, (std::vector<std::optional<int64_t>>{0, 1}));
  ASSERT_OK_AND_ASSIGN(const std::string least, EncodeRow({DataType::Of(TypeKind::kInteger),
                                                           DataType::Of(TypeKind::kString)},
                                                          {Ints({-2}), Strings({"b"})}, 0));
  ASSERT_OK_AND_ASSIGN(const std::string most, EncodeRow({DataType::Of(TypeKind::kInteger),
                                                          DataType::Of(TypeKind::kString)},
                                                         {Ints({9}), Strings({"mmmn"})}, 0));
  EXPECT_EQ(found.min_values, least);
  EXPECT_EQ(found.max_values, most);
}

TEST(StatsTest, NanMakesBoundsUnknown) {
  ColumnStats stats(DataType::Of(TypeKind::kDouble));
  stats.Update(*Doubles({1.0, std::nan("")}));
  ASSERT_OK_AND_ASSIGN(const auto bounds, stats.MinMax(16));
  EXPECT_TRUE(bounds.first->IsNull(0));
  EXPECT_TRUE(bounds.second->IsNull(0));
}

TEST(SortKeyTest, OrdersAsPaimonDoes) {
  SortKeys keys;
  ASSERT_OK(keys.Append({Doubles({1.5, std::nan(""), -0.0, 0.0, -7})}, 5));
  EXPECT_EQ(SortedRows(keys), (std::vector<uint32_t>{4, 2, 3, 0, 1}));
  SortKeys texts;
  ASSERT_OK(texts.Append({Strings({"b", std::nullopt, "", std::string("a\0b", 3), "a", "\xc3\xa9",
                                   std::string("a\0", 2)})},
                         7));
  EXPECT_EQ(SortedRows(texts), (std::vector<uint32_t>{1, 2, 4, 6, 3, 0, 5}));
  SortKeys pairs;
  ASSERT_OK(pairs.Append({Strings({"a", "ab", "a"}), Ints({5, -1, -6})}, 3));
  EXPECT_EQ(SortedRows(pairs), (std::vector<uint32_t>{2, 0, 1}));
}

TEST(SortKeyTest, EqualKeysStayInRowOrder) {
  SortKeys keys;
  ASSERT_OK(keys.Append({Ints({2, 1, 2, 1})}, 4));
  EXPECT_EQ(SortedRows(keys), (std::vector<uint32_t>{1, 3, 0, 2}));
}

// Names from Java's PartitionPathUtils.
TEST(PathsTest, PartitionFoldersAreJavas) {
  EXPECT_EQ(EscapePathName("a=b/c d%"), "a%3Db%2Fc d%25");
  LakeSchema schema;
  const auto folder = [&](DataTypePtr type, const std::string& text) {
    schema.columns = {{"k", type, ""}};
    schema.partition_keys = {"k"};
    const std::string row = EncodePartition({type}, {text}).ValueOrDie();
    return PartitionFolder(schema, row).ValueOrDie();
  };
  EXPECT_EQ(folder(DataType::Of(TypeKind::kString), "2026-01-01"), "k=2026-01-01/");
  EXPECT_EQ(folder(DataType::Of(TypeKind::kDate), "2024-01-01"), "k=2024-01-01/");
  EXPECT_EQ(folder(DataType::Of(TypeKind::kDate), "40000-02-29"), "k=40000-02-29/");
  EXPECT_EQ(folder(DataType::Of(TypeKind::kInteger), "-3"), "k=-3/");
  EXPECT_EQ(folder(DataType::Of(TypeKind::kBoolean), "true"), "k=true/");
}

TEST(ParquetSchemaTest, RefusesNothingThatAColumnCanBe) {
  const auto nested =
      DataType::Map(DataType::Of(TypeKind::kString, false),
                    DataType::Array(DataType::Row({{"x", DataType::Decimal(38, 2), "", 4}})));
  EXPECT_OK(ParquetSchemaOf({{"m", nested, 3}, {"t", DataType::TimestampLtz(9), 5}}));
}

SortedRun RunAt(int32_t level, int64_t size) { return {level, size, {}}; }

TEST(UniversalCompactionTest, PicksByAmplificationThenRatioThenCount) {
  const auto pick = [](std::vector<SortedRun> runs, int32_t trigger) {
    return PickRuns(runs, trigger, 5);
  };
  EXPECT_FALSE(pick({RunAt(0, 1), RunAt(0, 1), RunAt(0, 1), RunAt(0, 1)}, 5).has_value());
  // Newer runs hold more than twice the oldest: everything goes to the top.
  const auto full = pick({RunAt(0, 10), RunAt(0, 10), RunAt(0, 10), RunAt(0, 10), RunAt(5, 10)}, 5);
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->runs, 5u);
  EXPECT_EQ(full->output_level, 5);
  // A large top level stays; the small ones join below it.
  const auto small = pick({RunAt(0, 1), RunAt(0, 1), RunAt(0, 1), RunAt(0, 1), RunAt(5, 1000)}, 5);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->runs, 4u);
  EXPECT_EQ(small->output_level, 4);
  // Level 0 cannot be an output: a run at level 1 is taken along.
  const auto along =
      pick({RunAt(0, 1), RunAt(0, 1), RunAt(0, 1), RunAt(1, 900), RunAt(5, 10000)}, 5);
  ASSERT_TRUE(along.has_value());
  EXPECT_EQ(along->runs, 4u);
  EXPECT_EQ(along->output_level, 4);
}

}  // namespace
}  // namespace sluice::lake::paimon
