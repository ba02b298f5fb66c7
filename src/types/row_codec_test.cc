#include <arrow/array/array_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/testing.h"
#include "types/row.h"

namespace sluice::types {
namespace {

DataTypePtr K(TypeKind kind, bool nullable = true) { return DataType::Of(kind, nullable); }

std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<DataTypePtr>& types,
                                            arrow::ArrayVector arrays) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < types.size(); ++i) {
    fields.push_back(
        arrow::field("f" + std::to_string(i), types[i]->ToArrow(), types[i]->nullable()));
  }
  const int64_t rows = arrays.empty() ? 0 : arrays[0]->length();
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, std::move(arrays));
}

std::shared_ptr<arrow::RecordBatch> FromJson(const std::vector<DataTypePtr>& types,
                                             const std::vector<std::string>& columns) {
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    arrays.push_back(
        arrow::json::ArrayFromJSONString(types[i]->ToArrow(), columns[i]).ValueOrDie());
  }
  return BatchOf(types, std::move(arrays));
}

/// splitmix64.
struct Numbers {
  uint64_t state;
  uint64_t Next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t Small() {  // Spread over all sizes and both signs.
    return static_cast<int64_t>(Next()) >> Next() % 64;
  }
  std::string Bytes(size_t size) {
    std::string bytes;
    while (bytes.size() < size) bytes.push_back(static_cast<char>('a' + Next() % 26));
    return bytes;
  }
};

arrow::Status AppendRandom(const DataType& type, Numbers* numbers, arrow::ArrayBuilder* out);

template <typename Builder>
arrow::Status Put(arrow::ArrayBuilder* out, auto value) {
  return static_cast<Builder*>(out)->Append(static_cast<typename Builder::value_type>(value));
}

arrow::Status AppendRandomTimestamp(const DataType& type, Numbers* numbers,
                                    arrow::ArrayBuilder* out) {
  // Years 1678 to 2261 fit nanoseconds.
  const int64_t ns = numbers->Small();
  const int precision = type.precision();
  const int64_t divisor = precision == 0   ? 1000000000
                          : precision <= 3 ? 1000000
                          : precision <= 6 ? 1000
                                           : 1;
  return Put<arrow::TimestampBuilder>(out, ns / divisor);
}

arrow::Status AppendRandomTime(const DataType& type, Numbers* numbers, arrow::ArrayBuilder* out) {
  const auto ms = static_cast<int64_t>(numbers->Next() % 86400000);
  if (type.precision() == 0) return Put<arrow::Time32Builder>(out, ms / 1000);
  if (type.precision() <= 3) return Put<arrow::Time32Builder>(out, ms);
  return Put<arrow::Time64Builder>(out, ms * (type.precision() <= 6 ? 1000 : 1000000));
}

arrow::Status AppendRandomDecimal(const DataType& type, Numbers* numbers,
                                  arrow::ArrayBuilder* out) {
  const auto limit = arrow::Decimal128(arrow::Decimal128::GetScaleMultiplier(type.precision()));
  const arrow::Decimal128 wide(numbers->Small(), numbers->Next());
  const arrow::Decimal128 value =
      numbers->Next() % 2 == 0 ? wide % limit : arrow::Decimal128(numbers->Small()) % limit;
  return static_cast<arrow::Decimal128Builder*>(out)->Append(value);
}

arrow::Status AppendRandomNested(const DataType& type, Numbers* numbers, arrow::ArrayBuilder* out) {
  const auto count = numbers->Next() % 5 == 0 ? numbers->Next() % 40 : numbers->Next() % 3;
  if (type.kind() == TypeKind::kArray) {
    auto* list = static_cast<arrow::ListBuilder*>(out);
    RETURN_NOT_OK(list->Append());
    for (uint64_t i = 0; i < count; ++i)
      RETURN_NOT_OK(AppendRandom(*type.element(), numbers, list->value_builder()));
  } else if (type.kind() == TypeKind::kMap) {
    auto* map = static_cast<arrow::MapBuilder*>(out);
    RETURN_NOT_OK(map->Append());
    for (uint64_t i = 0; i < count; ++i) {
      RETURN_NOT_OK(AppendRandom(*type.key(), numbers, map->key_builder()));
      RETURN_NOT_OK(AppendRandom(*type.value(), numbers, map->item_builder()));
    }
  } else {
    auto* row = static_cast<arrow::StructBuilder*>(out);
    RETURN_NOT_OK(row->Append());
    for (size_t i = 0; i < type.fields().size(); ++i) {
      RETURN_NOT_OK(
          AppendRandom(*type.fields()[i].type, numbers, row->field_builder(static_cast<int>(i))));
    }
  }
  return arrow::Status::OK();
}

arrow::Status AppendRandom(const DataType& type, Numbers* numbers, arrow::ArrayBuilder* out) {
  if (type.nullable() && numbers->Next() % 4 == 0) return out->AppendNull();
  switch (type.kind()) {
    case TypeKind::kChar:
      return static_cast<arrow::StringBuilder*>(out)->Append(
          numbers->Bytes(numbers->Next() % (type.length() + 1)));
    case TypeKind::kString:
      return static_cast<arrow::StringBuilder*>(out)->Append(numbers->Bytes(numbers->Next() % 20));
    case TypeKind::kBytes:
      return static_cast<arrow::BinaryBuilder*>(out)->Append(numbers->Bytes(numbers->Next() % 20));
    case TypeKind::kBinary:
      return static_cast<arrow::FixedSizeBinaryBuilder*>(out)->Append(
          numbers->Bytes(type.length()));
    case TypeKind::kBoolean:
      return static_cast<arrow::BooleanBuilder*>(out)->Append(numbers->Next() % 2 == 0);
    case TypeKind::kTinyInt:
      return Put<arrow::Int8Builder>(out, numbers->Next());
    case TypeKind::kSmallInt:
      return Put<arrow::Int16Builder>(out, numbers->Next());
    case TypeKind::kInteger:
      return Put<arrow::Int32Builder>(out, numbers->Small());
    case TypeKind::kBigInt:
      return Put<arrow::Int64Builder>(out, numbers->Small());
    case TypeKind::kFloat:
      return Put<arrow::FloatBuilder>(out, static_cast<double>(numbers->Small()) / 3);
    case TypeKind::kDouble:
      return Put<arrow::DoubleBuilder>(out, static_cast<double>(numbers->Small()) / 3);
    case TypeKind::kDate:
      return Put<arrow::Date32Builder>(out, numbers->Small() % 100000);
    case TypeKind::kTime:
      return AppendRandomTime(type, numbers, out);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return AppendRandomTimestamp(type, numbers, out);
    case TypeKind::kDecimal:
      return AppendRandomDecimal(type, numbers, out);
    default:
      return AppendRandomNested(type, numbers, out);
  }
}

/// Every kind, the variants of those that have some, and nesting of each in each.
std::vector<DataTypePtr> AllTypes() {
  std::vector<DataTypePtr> types = {
      DataType::Char(5),         K(TypeKind::kString),      K(TypeKind::kBoolean),
      DataType::Binary(6),       K(TypeKind::kBytes),       DataType::Decimal(7, 2),
      DataType::Decimal(18, 0),  DataType::Decimal(19, 4),  DataType::Decimal(38, 10),
      K(TypeKind::kTinyInt),     K(TypeKind::kSmallInt),    K(TypeKind::kInteger),
      K(TypeKind::kBigInt),      K(TypeKind::kFloat),       K(TypeKind::kDouble),
      K(TypeKind::kDate),        DataType::Time(0),         DataType::Time(3),
      DataType::Time(6),         DataType::Time(9),         DataType::Timestamp(0),
      DataType::Timestamp(3),    DataType::Timestamp(6),    DataType::Timestamp(9),
      DataType::TimestampLtz(0), DataType::TimestampLtz(3), DataType::TimestampLtz(6),
      DataType::TimestampLtz(9),
  };
  const std::vector<DataTypePtr> scalars = types;
  for (const DataTypePtr& scalar : scalars) types.push_back(DataType::Array(scalar));
  std::vector<RowField> fields;
  for (const DataTypePtr& scalar : scalars)
    fields.push_back({"s" + std::to_string(fields.size()), scalar});
  const auto row = DataType::Row(fields);
  const auto map = DataType::Map(K(TypeKind::kString, false), DataType::Decimal(25, 3));
  types.push_back(row);
  types.push_back(map);
  types.push_back(DataType::Array(row));
  types.push_back(DataType::Array(DataType::Array(K(TypeKind::kString))));
  types.push_back(DataType::Map(K(TypeKind::kInteger, false), row));
  types.push_back(DataType::Row({{"a", DataType::Array(K(TypeKind::kInteger, false))},
                                 {"m", map},
                                 {"r", row},
                                 {"n", K(TypeKind::kString, false)}}));
  types.push_back(K(TypeKind::kInteger, false));
  types.push_back(DataType::Timestamp(6, false));
  return types;
}

std::shared_ptr<arrow::RecordBatch> RandomBatch(const std::vector<DataTypePtr>& types, int64_t rows,
                                                uint64_t seed) {
  Numbers numbers{seed};
  arrow::ArrayVector arrays;
  for (const DataTypePtr& type : types) {
    auto builder = arrow::MakeBuilder(type->ToArrow()).ValueOrDie();
    for (int64_t i = 0; i < rows; ++i) CHECK(AppendRandom(*type, &numbers, builder.get()).ok());
    arrays.push_back(builder->Finish().ValueOrDie());
  }
  return BatchOf(types, std::move(arrays));
}

std::vector<std::string_view> Views(const std::vector<std::string>& rows) {
  return {rows.begin(), rows.end()};
}

class RowCodecTest : public testing::TestWithParam<RowFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, RowCodecTest,
                         testing::Values(RowFormat::kCompacted, RowFormat::kIndexed));

TEST_P(RowCodecTest, RandomRowsOfAllTypesComeBack) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto batch = RandomBatch(types, 40, seed);
    std::vector<std::string> rows;
    ASSERT_OK(codec.Encode(*batch, 0, batch->num_rows(), &rows));
    ASSERT_OK_AND_ASSIGN(const auto back, codec.Decode(Views(rows)));
    ASSERT_OK(back->ValidateFull());
    for (int i = 0; i < batch->num_columns(); ++i) {
      ASSERT_TRUE(back->column(i)->Equals(batch->column(i)))
          << types[i]->ToString() << " seed=" << seed << "\n"
          << batch->column(i)->ToString() << "\n"
          << back->column(i)->ToString();
    }
  }
}

TEST_P(RowCodecTest, EncodesSlicesAsTheWhole) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  const auto batch = RandomBatch(types, 40, 7);
  std::vector<std::string> whole;
  ASSERT_OK(codec.Encode(*batch, 0, 40, &whole));
  std::vector<std::string> part;
  ASSERT_OK(codec.Encode(*batch->Slice(13, 20), 3, 10, &part));
  EXPECT_EQ(part, std::vector<std::string>(whole.begin() + 16, whole.begin() + 26));
}

TEST_P(RowCodecTest, SplitAndJoinKeepTheBytes) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  const auto batch = RandomBatch(types, 40, 8);
  std::vector<std::string> rows;
  ASSERT_OK(codec.Encode(*batch, 0, 40, &rows));
  for (size_t row = 0; row < rows.size(); ++row) {
    ASSERT_OK_AND_ASSIGN(const auto parts, codec.Split(rows[row]));
    for (int i = 0; i < batch->num_columns(); ++i)
      EXPECT_EQ(parts[i].has_value(), batch->column(i)->IsValid(row));
    EXPECT_EQ(codec.Join(parts), rows[row]);
  }
}

TEST_P(RowCodecTest, PartsDecodeAsTheirRows) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  const auto batch = RandomBatch(types, 40, 12);
  std::vector<std::string> rows;
  ASSERT_OK(codec.Encode(*batch, 0, 40, &rows));
  std::vector<std::optional<std::string_view>> parts(rows.size() * types.size(), "left over");
  for (size_t row = 0; row < rows.size(); ++row)
    ASSERT_OK(
        codec.SplitInto(rows[row], std::span(parts).subspan(row * types.size(), types.size())));
  ASSERT_OK_AND_ASSIGN(const auto decoded, codec.DecodeParts(parts));
  const std::vector<std::string_view> views(rows.begin(), rows.end());
  ASSERT_OK_AND_ASSIGN(const auto expected, codec.Decode(views));
  EXPECT_TRUE(decoded->Equals(*expected));
  std::string joined = "left over";
  codec.JoinInto(std::span(parts).first(types.size()), &joined);
  EXPECT_EQ(joined, rows[0]);
}

// The row lies in a block of its exact size, so that reading beyond it is an error under
// AddressSanitizer.
TEST_P(RowCodecTest, RowsCutAnywhereAreRefused) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  const auto batch = RandomBatch(types, 4, 9);
  std::vector<std::string> rows;
  ASSERT_OK(codec.Encode(*batch, 0, 4, &rows));
  for (const std::string& row : rows) {
    for (size_t size = 0; size < row.size(); ++size) {
      const std::unique_ptr<char[]> copy(new char[size]);
      std::memcpy(copy.get(), row.data(), size);
      const std::string_view cut(copy.get(), size);
      SCOPED_TRACE(testing::Message() << "cut to " << size);
      EXPECT_CODE(ErrorCode::kCorruptRecord, codec.Decode(std::span(&cut, 1)));
      SCOPED_TRACE(testing::Message() << "cut to " << size);
      EXPECT_CODE(ErrorCode::kCorruptRecord, codec.Split(cut));
    }
  }
}

TEST_P(RowCodecTest, ChangedBytesNeverReadOutOfBounds) {
  const auto types = AllTypes();
  const RowCodec codec(GetParam(), types);
  const auto batch = RandomBatch(types, 2, 10);
  std::vector<std::string> rows;
  ASSERT_OK(codec.Encode(*batch, 0, 2, &rows));
  Numbers numbers{11};
  for (int round = 0; round < 2000; ++round) {
    std::string row = rows[round % 2];
    for (uint64_t i = 0; i <= numbers.Next() % 3; ++i) {
      row[numbers.Next() % row.size()] = static_cast<char>(numbers.Next());
    }
    const std::unique_ptr<char[]> copy(new char[row.size()]);
    std::memcpy(copy.get(), row.data(), row.size());
    const std::string_view view(copy.get(), row.size());
    const auto decoded = codec.Decode(std::span(&view, 1));
    if (decoded.ok()) {
      EXPECT_OK((*decoded)->Validate());
    } else {
      EXPECT_CODE(ErrorCode::kCorruptRecord, decoded);
    }
  }
}

std::string Encoded(RowFormat format, const std::vector<DataTypePtr>& types,
                    const std::vector<std::string>& columns) {
  std::vector<std::string> rows;
  EXPECT_OK(RowCodec(format, types).Encode(*FromJson(types, columns), 0, 1, &rows));
  return rows.empty() ? "none" : ToHex(rows[0]);
}

// Laid out by hand from the protocol reference, section 5.4.
TEST(RowBytesTest, CompactedRows) {
  EXPECT_EQ(Encoded(RowFormat::kCompacted,
                    {K(TypeKind::kInteger), K(TypeKind::kString), K(TypeKind::kBigInt)},
                    {"[300]", "[\"ab\"]", "[null]"}),
            "04"
            "ac02"
            "026162");
  EXPECT_EQ(Encoded(RowFormat::kCompacted, {K(TypeKind::kInteger)}, {"[-1]"}), "00ffffffff0f");
  EXPECT_EQ(Encoded(RowFormat::kCompacted, {DataType::Timestamp(6)}, {"[1001]"}), "0001e807");
  EXPECT_EQ(Encoded(RowFormat::kCompacted, {DataType::Time(6)}, {"[1000]"}), "0001");
  EXPECT_EQ(
      Encoded(RowFormat::kCompacted, {DataType::Array(K(TypeKind::kInteger))}, {"[[1, null]]"}),
      "00"
      "10"
      "02000000"
      "02000000"
      "01000000"
      "00000000");
  EXPECT_EQ(Encoded(RowFormat::kCompacted,
                    {DataType::Row({{"a", K(TypeKind::kInteger)}, {"b", K(TypeKind::kString)}})},
                    {"[{\"a\": 5, \"b\": \"x\"}]"}),
            "00"
            "04"
            "00"
            "05"
            "0178");
  EXPECT_EQ(Encoded(RowFormat::kCompacted,
                    {DataType::Map(K(TypeKind::kTinyInt, false), K(TypeKind::kString))},
                    {"[[[7, \"x\"]]]"}),
            "00"
            "24"
            "10000000"
            "01000000"
            "00000000"
            "07"
            "00000000000000"
            "01000000"
            "00000000"
            "7800000000000081");
}

TEST(RowBytesTest, IndexedRows) {
  EXPECT_EQ(Encoded(RowFormat::kIndexed,
                    {K(TypeKind::kInteger), K(TypeKind::kString), K(TypeKind::kString),
                     DataType::Char(3), K(TypeKind::kBytes)},
                    {"[300]", "[null]", "[\"ab\"]", "[\"c\"]", "[\"d\"]"}),
            "02"
            "02000000"
            "01000000"
            "00000000"
            "2c010000"
            "6162"
            "630000"
            "64");
  EXPECT_EQ(Encoded(RowFormat::kIndexed, {DataType::Timestamp(9), DataType::Decimal(20, 0)},
                    {"[-1]", "[\"-1\"]"}),
            "00"
            "01000000"
            "ffffffffffffffff"
            "3f420f00"
            "ff");
}

TEST(RowBytesTest, IndexedRefusesTextLongerThanItsColumn) {
  std::vector<std::string> rows;
  const std::vector<DataTypePtr> types = {DataType::Char(2)};
  EXPECT_CODE(
      ErrorCode::kInvalidTable,
      RowCodec(RowFormat::kIndexed, types).Encode(*FromJson(types, {"[\"abc\"]"}), 0, 1, &rows));
}

TEST(RowCodecErrorTest, NamesTheColumnThatDoesNotFit) {
  const std::vector<DataTypePtr> types = {K(TypeKind::kInteger), K(TypeKind::kString)};
  const auto batch = FromJson({K(TypeKind::kInteger), K(TypeKind::kInteger)}, {"[1]", "[2]"});
  std::vector<std::string> rows;
  const Status status = RowCodec(RowFormat::kCompacted, types).Encode(*batch, 0, 1, &rows);
  EXPECT_CODE(ErrorCode::kInvalidTable, status);
  EXPECT_THAT(status.message(), testing::HasSubstr("position=1"));
  const std::string_view cut("\0\x05", 2);
  const Status corrupt = RowCodec(RowFormat::kCompacted, types).Decode(std::span(&cut, 1)).status();
  EXPECT_CODE(ErrorCode::kCorruptRecord, corrupt);
  EXPECT_THAT(corrupt.message(), testing::HasSubstr("column=1"));
}

// Ten thousand slots that all point to one big piece must not become gigabytes.
TEST(RowCodecErrorTest, OverlappingPiecesAreRefused) {
  const int32_t count = 10000;
  std::string array;
  AppendLe(&array, count);
  array.append((count + 31) / 32 * 4, '\0');
  const uint64_t piece_at = (array.size() + count * 8 + 7) & ~size_t{7};
  for (int i = 0; i < count; ++i) AppendLe<uint64_t>(&array, piece_at << 32 | 50000);
  array.resize(piece_at + 50000, 'x');
  std::string row(1, '\0');
  AppendVarint(&row, array.size());
  row += array;
  const std::string_view view = row;
  EXPECT_CODE(ErrorCode::kCorruptRecord,
              RowCodec(RowFormat::kCompacted, {DataType::Array(K(TypeKind::kString))})
                  .Decode(std::span(&view, 1)));
}

// A NULL of one bit takes the whole length in memory.
TEST(RowCodecErrorTest, NullsOfLongBinariesAreBounded) {
  const RowCodec codec(RowFormat::kCompacted, {DataType::Binary(100'000'000)});
  const std::string row = codec.Join(std::vector<std::optional<std::string_view>>{std::nullopt});
  const std::vector<std::string_view> rows(5, row);
  EXPECT_OK(codec.Decode(std::span(rows).first(2)).status());
  EXPECT_CODE(ErrorCode::kRecordTooLarge, codec.Decode(rows));
}

TEST(BinaryRowRoundTripTest, RandomRowsOfAllTypesComeBack) {
  const auto types = AllTypes();
  const BinaryRowEncoder encoder(types);
  std::vector<int> positions(types.size());
  for (size_t i = 0; i < types.size(); ++i) positions[i] = static_cast<int>(i);
  const auto batch = RandomBatch(types, 20, 12);
  std::vector<std::string> rows(20);
  for (int i = 0; i < 20; ++i) ASSERT_OK(encoder.Encode(*batch, positions, i, &rows[i]));
  ASSERT_OK_AND_ASSIGN(const auto back, DecodeBinaryRows(types, Views(rows)));
  ASSERT_OK(back->ValidateFull());
  for (int i = 0; i < batch->num_columns(); ++i)
    EXPECT_TRUE(back->column(i)->Equals(batch->column(i))) << types[i]->ToString();
  for (size_t size = 0; size < rows[0].size() / 3; ++size) {
    const std::string cut(rows[0].data(), size);
    const std::string_view view = cut;
    SCOPED_TRACE(testing::Message() << "cut to " << size);
    EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeBinaryRows(types, std::span(&view, 1)));
  }
}

}  // namespace
}  // namespace sluice::types
