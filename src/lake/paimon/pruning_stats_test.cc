// What statistics of files tell, and what they do not: cut texts, unknown counts, older schemas.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <cmath>

#include "lake/lake_testing.h"
#include "lake/paimon/columns.h"
#include "lake/paimon/pruning.h"
#include "lake/paimon/schema_json.h"
#include "lake/paimon/stats.h"

namespace sluice::lake::paimon {
namespace {

using types::Column;
using types::DataType;
using types::DataTypePtr;
using types::TypeKind;
using Op = Predicate::Op;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;

constexpr size_t kUncut = 10'000;

ScalarPtr Text(std::string value) {
  return std::make_shared<arrow::StringScalar>(std::move(value));
}
ScalarPtr Int(int32_t value) { return std::make_shared<arrow::Int32Scalar>(value); }
ScalarPtr Decimal(int64_t value, int32_t precision, int32_t scale) {
  return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(value),
                                                   arrow::decimal128(precision, scale));
}

std::shared_ptr<arrow::Array> ArrayOf(const DataTypePtr& type,
                                      const std::vector<ScalarPtr>& values) {
  auto builder = arrow::MakeBuilder(type->ToArrow()).ValueOrDie();
  for (const ScalarPtr& value : values) {
    EXPECT_OK(value == nullptr ? builder->AppendNull() : builder->AppendScalar(*value));
  }
  return builder->Finish().ValueOrDie();
}

class PruningStatsTest : public testing::Test {
 protected:
  // A schema version of these columns, as a file that entries may name.
  LakeSchema Version(int64_t id, std::vector<Column> columns) {
    LakeSchema schema{.id = id, .columns = std::move(columns)};
    for (const Column& column : schema.columns)
      schema.highest_field_id = std::max(schema.highest_field_id, column.id);
    EXPECT_OK(files_.MakeFolders(paths_.SchemaFolder()));
    EXPECT_OK(files_.ReplaceFile(paths_.Schema(id), SchemaToJson(schema)));
    return schema;
  }

  // A file with these values of the schema's columns, in that order.
  static ManifestEntry FileOf(const LakeSchema& schema,
                              const std::vector<std::vector<ScalarPtr>>& values,
                              size_t truncate = kUncut) {
    std::vector<DataTypePtr> types;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (size_t i = 0; i < values.size(); ++i) {
      const DataTypePtr& type = schema.columns[i].type;
      types.push_back(type);
      columns.push_back(Conform(ArrayOf(type, values[i]), FileArrowType(*type)).ValueOrDie());
    }
    StatsCollector collector(types, truncate);
    collector.Update(columns);
    ManifestEntry entry;
    entry.file.schema_id = schema.id;
    entry.file.row_count = static_cast<int64_t>(values.front().size());
    entry.file.value_stats = collector.Finish().ValueOrDie();
    return entry;
  }

  bool May(const LakeSchema& newest, const ManifestEntry& entry, const Predicate& predicate) {
    const std::vector<Predicate> predicates{predicate};
    return Pruner(schemas_, newest, predicates).MayHoldRows(entry).ValueOrDie();
  }
  bool May(const LakeSchema& newest, const ManifestEntry& entry, Op op, ScalarPtr value = nullptr,
           const std::string& column = "a") {
    return May(newest, entry,
               {column, op, value == nullptr ? std::vector<ScalarPtr>{} : std::vector{value}});
  }

  TempDir folder_;
  io::FileSystem& files_ = io::LocalFileSystem();
  TablePaths paths_{folder_.path()};
  SchemaStore schemas_{files_, paths_};
};

// Units of times, scales of decimals, signs: one value is both bounds of its file.
TEST_F(PruningStatsTest, BoundsAndValuesOfEveryTypeAreInOneUnit) {
  io::SeededRandom random(4);
  std::vector<Column> columns = AllTypeColumns(true);
  int32_t highest = -1;
  AssignIds(&columns, &highest);
  const LakeSchema schema = Version(0, columns);
  const auto rows = RandomRows(columns, 12, random);
  int told = 0;
  for (int64_t row = 0; row < rows->num_rows(); ++row) {
    std::vector<std::vector<ScalarPtr>> values;
    for (const auto& column : rows->columns())
      values.push_back({column->GetScalar(row).ValueOrDie()});
    const ManifestEntry file = FileOf(schema, values);
    for (size_t i = 0; i < columns.size(); ++i) {
      SCOPED_TRACE(columns[i].name);
      const ScalarPtr value = values[i].front();
      const bool nested = arrow::is_nested(value->type->id());
      EXPECT_EQ(May(schema, file, Op::kIsNull, nullptr, columns[i].name),
                nested || !value->is_valid);
      EXPECT_EQ(May(schema, file, Op::kIsNotNull, nullptr, columns[i].name),
                nested || value->is_valid);
      if (!value->is_valid) continue;
      EXPECT_TRUE(May(schema, file, Op::kEqual, value, columns[i].name));
      EXPECT_TRUE(May(schema, file, Op::kIn, value, columns[i].name));
      EXPECT_TRUE(May(schema, file, Op::kLessOrEqual, value, columns[i].name));
      EXPECT_TRUE(May(schema, file, Op::kGreaterOrEqual, value, columns[i].name));
      const bool ordered = OrderedValueOf(*value).has_value();
      EXPECT_EQ(May(schema, file, Op::kLess, value, columns[i].name), !ordered);
      EXPECT_EQ(May(schema, file, Op::kGreater, value, columns[i].name), !ordered);
      told += ordered ? 1 : 0;
    }
  }
  EXPECT_GT(told, 100);
}

TEST_F(PruningStatsTest, TextsThatWereCutAreStillBounds) {
  const LakeSchema schema = Version(0, {{"a", DataType::Of(TypeKind::kString), "", 0}});
  const std::string same = "sixteen letters, and ";
  const auto cut = FileOf(schema, {{Text(same + "b"), Text(same + "c")}}, 16);
  for (const char* end : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(May(schema, cut, Op::kEqual, Text(same + end)));
    EXPECT_TRUE(May(schema, cut, Op::kGreater, Text(same + end)));
    EXPECT_TRUE(May(schema, cut, Op::kLess, Text(same + end)));
  }
  EXPECT_FALSE(May(schema, cut, Op::kEqual, Text("sixteen letters")));
  EXPECT_FALSE(May(schema, cut, Op::kLess, Text("sixteen letters")));
  EXPECT_FALSE(May(schema, cut, Op::kGreater, Text("sixteen letters.")));
  EXPECT_FALSE(May(schema, cut, Op::kEqual, Text("")));

  // The last character below the surrogates grows past them; one that cannot grow leaves no bound.
  const std::string below = "fifteen letters\xED\x9F\xBF";
  const auto grown = FileOf(schema, {{Text(below + "x")}}, 16);
  EXPECT_TRUE(May(schema, grown, Op::kEqual, Text(below + "x")));
  EXPECT_TRUE(May(schema, grown, Op::kGreater, Text(below)));
  std::string last;
  for (int i = 0; i < 20; ++i) last += "\xF4\x8F\xBF\xBF";
  const auto endless = FileOf(schema, {{Text("a"), Text(last)}}, 16);
  EXPECT_TRUE(May(schema, endless, Op::kEqual, Text(last)));
  EXPECT_TRUE(May(schema, endless, Op::kLess, Text("a")));
}

// Text is ordered by its bytes, as in Paimon and in the engine: neither signed nor by UTF-16 units.
TEST_F(PruningStatsTest, TextIsOrderedByUnsignedBytes) {
  const LakeSchema schema = Version(0, {{"a", DataType::Of(TypeKind::kString), "", 0}});
  const auto file = FileOf(schema, {{Text("z"), Text("\xEF\xBF\xBD")}});
  EXPECT_TRUE(May(schema, file, Op::kEqual, Text("\xC3\xA4")));
  EXPECT_FALSE(May(schema, file, Op::kGreaterOrEqual, Text("\xF0\x90\x80\x80")));
  EXPECT_FALSE(May(schema, file, Op::kEqual, Text("a  ")));
  // Blanks at the end count.
  EXPECT_FALSE(May(schema, FileOf(schema, {{Text("b")}}), Op::kEqual, Text("b ")));
}

TEST_F(PruningStatsTest, CountsOfNullsMayBeUnknown) {
  const LakeSchema schema = Version(0, {{"a", DataType::Of(TypeKind::kInteger), "", 0}});
  auto some = FileOf(schema, {{Int(1), nullptr}});
  auto none = FileOf(schema, {{Int(1), Int(2)}});
  auto all = FileOf(schema, {{nullptr, nullptr}});
  EXPECT_TRUE(May(schema, some, Op::kIsNull));
  EXPECT_TRUE(May(schema, some, Op::kIsNotNull));
  EXPECT_FALSE(May(schema, none, Op::kIsNull));
  EXPECT_FALSE(May(schema, all, Op::kIsNotNull));
  EXPECT_FALSE(May(schema, all, Op::kEqual, Int(1)));
  for (ManifestEntry* entry : {&some, &none, &all}) {
    entry->file.value_stats.null_counts = {std::nullopt};
    EXPECT_TRUE(May(schema, *entry, Op::kIsNull));
    EXPECT_TRUE(May(schema, *entry, Op::kIsNotNull));
    EXPECT_TRUE(May(schema, *entry, Op::kEqual, Int(1)));
    entry->file.value_stats.null_counts.clear();
    EXPECT_TRUE(May(schema, *entry, Op::kIsNull));
    EXPECT_TRUE(May(schema, *entry, Op::kEqual, Int(1)));
  }
  EXPECT_FALSE(May(schema, none, Op::kGreater, Int(2)));
}

TEST_F(PruningStatsTest, AFileWithoutStatisticsMayHoldAnything) {
  const LakeSchema schema = Version(0, {{"a", DataType::Of(TypeKind::kInteger), "", 0},
                                        {"b", DataType::Of(TypeKind::kInteger), "", 1}});
  ManifestEntry bare = FileOf(schema, {{Int(1)}, {Int(2)}});
  bare.file.value_stats = SimpleStats();
  for (const auto& names : {std::optional<std::vector<std::string>>(),
                            std::optional<std::vector<std::string>>(std::vector<std::string>())}) {
    bare.file.value_stats_columns = names;
    EXPECT_TRUE(May(schema, bare, Op::kEqual, Int(9)));
    EXPECT_TRUE(May(schema, bare, Op::kIsNull));
  }
  // Statistics of some columns: by name, in an order of their own.
  const LakeSchema only_b = Version(1, {schema.columns[1]});
  ManifestEntry some = FileOf(only_b, {{Int(2)}});
  some.file.schema_id = 0;
  some.file.value_stats_columns = {"b"};
  EXPECT_TRUE(May(schema, some, Op::kEqual, Int(9), "a"));
  EXPECT_TRUE(May(schema, some, Op::kEqual, Int(2), "b"));
  EXPECT_FALSE(May(schema, some, Op::kEqual, Int(9), "b"));
  some.file.value_stats_columns = {"c"};
  EXPECT_TRUE(May(schema, some, Op::kEqual, Int(9), "b"));
}

TEST_F(PruningStatsTest, ColumnsOfOlderFilesAreFoundByTheirId) {
  const auto integer = DataType::Of(TypeKind::kInteger);
  const LakeSchema old = Version(0, {{"a", integer, "", 0}, {"b", integer, "", 1}});
  const ManifestEntry file = FileOf(old, {{Int(1)}, {Int(2)}});
  // "a" is now called "x", and another column came that is called "a": NULL in the file.
  const LakeSchema renamed =
      Version(1, {{"x", integer, "", 0}, {"b", integer, "", 1}, {"a", integer, "", 2}});
  EXPECT_FALSE(May(renamed, file, Op::kEqual, Int(2), "x"));
  EXPECT_TRUE(May(renamed, file, Op::kEqual, Int(1), "x"));
  EXPECT_TRUE(May(renamed, file, Op::kIsNull, nullptr, "a"));
  EXPECT_TRUE(May(renamed, file, Op::kEqual, Int(2), "a"));
  EXPECT_FALSE(May(renamed, file, Op::kEqual, Int(3), "b"));
  // Moved, and of another type: values are converted when they are read.
  const LakeSchema moved = Version(2, {{"b", DataType::Of(TypeKind::kBigInt), "", 1},
                                       {"x", DataType::Of(TypeKind::kString), "", 0}});
  EXPECT_TRUE(May(moved, file, Op::kEqual, std::make_shared<arrow::Int64Scalar>(9), "b"));
  EXPECT_TRUE(May(moved, file, Op::kEqual, Text("9"), "x"));
  // A version that nobody has is an error, not a guess.
  ManifestEntry lost = file;
  lost.file.schema_id = 7;
  const std::vector<Predicate> predicates{{"b", Op::kEqual, {Int(3)}}};
  EXPECT_FALSE(Pruner(schemas_, renamed, predicates).MayHoldRows(lost).ok());
}

TEST_F(PruningStatsTest, RealsTellNothing) {
  const LakeSchema schema = Version(0, {{"a", DataType::Of(TypeKind::kDouble), "", 0}});
  const auto real = [](double value) { return std::make_shared<arrow::DoubleScalar>(value); };
  for (const double value : {0.0, -0.0, 1.0, std::nan("")}) {
    const auto file = FileOf(schema, {{real(value)}});
    for (const double wanted : {0.0, -0.0, 1.0, 7.0, std::nan("")}) {
      for (const Op op : {Op::kEqual, Op::kLess, Op::kGreater, Op::kIn})
        EXPECT_TRUE(May(schema, file, op, real(wanted)));
    }
  }
}

TEST_F(PruningStatsTest, DecimalsCompareOnlyInTheColumnsOwnScale) {
  for (const int32_t precision : {10, 30}) {  // Compact, and not.
    const LakeSchema schema = Version(precision, {{"a", DataType::Decimal(precision, 2), "", 0}});
    const auto file = FileOf(schema, {{Decimal(-150, precision, 2), Decimal(1, precision, 2)}});
    EXPECT_TRUE(May(schema, file, Op::kEqual, Decimal(-150, precision, 2)));
    EXPECT_FALSE(May(schema, file, Op::kLess, Decimal(-150, precision, 2)));
    EXPECT_FALSE(May(schema, file, Op::kEqual, Decimal(2, precision, 2)));
    EXPECT_TRUE(May(schema, file, Op::kEqual, Decimal(10, precision, 3)));
  }
}

}  // namespace
}  // namespace sluice::lake::paimon
