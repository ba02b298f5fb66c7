#include <arrow/array/array_base.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "base/bytes.h"
#include "base/testing.h"
#include "types/row.h"

namespace sluice::types {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at < hex.size(); at += 2) {
    if (hex[at] == ' ') ++at;
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

/// One row of columns given as JSON text per column.
std::shared_ptr<arrow::RecordBatch> OneRow(const std::vector<DataTypePtr>& types,
                                           const std::vector<std::string>& values) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    fields.push_back(arrow::field("c" + std::to_string(i), types[i]->ToArrow()));
    arrays.push_back(
        arrow::json::ArrayFromJSONString(types[i]->ToArrow(), "[" + values[i] + "]").ValueOrDie());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), 1, arrays);
}

std::vector<int> Positions(size_t count) {
  std::vector<int> positions(count);
  for (size_t i = 0; i < count; ++i) positions[i] = static_cast<int>(i);
  return positions;
}

std::string BinaryRow(const std::vector<DataTypePtr>& types,
                      const std::vector<std::string>& values) {
  std::string row;
  EXPECT_OK(
      BinaryRowEncoder(types).Encode(*OneRow(types, values), Positions(types.size()), 0, &row));
  return row;
}

struct BinaryCase {
  std::vector<DataTypePtr> types;
  std::vector<std::string> values;
  std::string hex;  // Without the arity prefix.
};

const DataTypePtr kInt = DataType::Of(TypeKind::kInteger);
const DataTypePtr kLong = DataType::Of(TypeKind::kBigInt);
const DataTypePtr kText = DataType::Of(TypeKind::kString);

// The table of the Paimon reference, section 4.4.
std::vector<BinaryCase> BinaryCases() {
  return {
      {{kInt}, {"42"}, "00000000000000002a00000000000000"},
      {{kText}, {"\"abc\""}, "00000000000000006162630000000083"},
      {{kText},
       {"\"2024-01-01\""},
       "00000000000000000a00000010000000323032342d30312d3031000000000000"},
      {{kInt, kText},
       {"7", "\"user-0001\""},
       "000000000000000007000000000000000900000018000000757365722d3030303100000000000000"},
      {{kInt}, {"null"}, "00010000000000000000000000000000"},
      {{DataType::Decimal(10, 2)}, {"\"123.45\""}, "00000000000000003930000000000000"},
      {{DataType::Decimal(22, 2)},
       {"\"-12345678901234567890.12\""},
       "00000000000000000900000010000000bd12edc4f427dfc5ec00000000000000"},
      {{DataType::Decimal(22, 2)},
       {"null"},
       "0001000000000000000000001000000000000000000000000000000000000000"},
      {{DataType::Timestamp(3)}, {"1700000000123"}, "00000000000000007b68e5cf8b010000"},
      {{DataType::Timestamp(6)},
       {"1700000000123456"},
       "000000000000000040f50600100000007b68e5cf8b010000"},
      {{DataType::Timestamp(6)}, {"null"}, "000100000000000000000000100000000000000000000000"},
      {{kLong}, {"-5"}, "0000000000000000fbffffffffffffff"},
  };
}

TEST(BinaryRowTest, MatchesPaimonsBytes) {
  EXPECT_EQ(ToHex(BinaryRow({}, {})), "0000000000000000");
  for (const auto& [types, values, hex] : BinaryCases())
    EXPECT_EQ(ToHex(BinaryRow(types, values)), hex) << values[0];
}

TEST(BinaryRowTest, DecodesPaimonsBytes) {
  for (const auto& [types, values, hex] : BinaryCases()) {
    const std::string row = FromHex(hex);
    const std::vector<std::string_view> rows = {row};
    ASSERT_OK_AND_ASSIGN(const auto batch, DecodeBinaryRows(types, rows));
    ASSERT_OK(batch->ValidateFull());
    const auto expected = OneRow(types, values);
    for (int i = 0; i < batch->num_columns(); ++i)
      EXPECT_TRUE(batch->column(i)->Equals(expected->column(i))) << hex;
  }
}

// The table of the Paimon reference, section 7.1.
TEST(BucketTest, HashesAsPaimonDoes) {
  const auto hash = [](const std::vector<DataTypePtr>& types,
                       const std::vector<std::string>& values) {
    return PaimonHash(BinaryRow(types, values));
  };
  EXPECT_EQ(hash({kInt}, {"42"}), 907821237);
  EXPECT_EQ(hash({kText}, {"\"hello paimon\""}), 168916036);
  EXPECT_EQ(hash({kInt, kText}, {"7", "\"user-0001\""}), -371482850);
  EXPECT_EQ(hash({kLong}, {"1"}), 1465514398);
  EXPECT_EQ(hash({kInt}, {"1"}), 1465514398);
  EXPECT_EQ(hash({DataType::Of(TypeKind::kBoolean)}, {"true"}), 1465514398);
  EXPECT_EQ(hash({kLong}, {"-5"}), -716660054);
  EXPECT_EQ(hash({kText}, {"\"abc\""}), -101922419);
  EXPECT_EQ(hash({kInt}, {"null"}), -1748325344);
  EXPECT_EQ(hash({DataType::Decimal(22, 2)}, {"null"}), -1380280760);
  EXPECT_EQ(hash({DataType::Timestamp(6)}, {"null"}), -340882661);
  EXPECT_EQ(hash({DataType::Timestamp(3)}, {"1700000000123"}), -1285420957);
  EXPECT_EQ(hash({DataType::Timestamp(6)}, {"1700000000123456"}), 1196670069);
  EXPECT_EQ(BucketOf("paimon", BinaryRow({kLong}, {"-5"}), 128), 86);
  EXPECT_EQ(BucketOf("paimon", BinaryRow({kText}, {"\"abc\""}), 128), 115);
  EXPECT_EQ(BucketOf("paimon", BinaryRow({kInt, kText}, {"7", "\"user-0001\""}), 16), 2);
}

// Check values of the protocol reference, section 5.6.
TEST(BucketTest, MatchesTheCheckValues) {
  struct Case {
    std::string bytes;
    int32_t count, fluss, paimon, iceberg;
  };
  const std::vector<Case> cases = {
      {FromHex("000a"), 7, 1, 1, 3},
      {FromHex("000a0a0a"), 12, 0, 11, 4},
      {"2bb87d68-baf9-4e64-90f9-f80910419fa6", 16, 6, 12, 12},
      {"The quick brown fox jumps over the lazy dog", 8, 6, 0, 3},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(BucketOf("", c.bytes, c.count), c.fluss) << c.bytes;
    EXPECT_EQ(BucketOf("lance", c.bytes, c.count), c.fluss) << c.bytes;
    EXPECT_EQ(BucketOf("paimon", c.bytes, c.count), c.paimon) << c.bytes;
    EXPECT_EQ(BucketOf("iceberg", c.bytes, c.count), c.iceberg) << c.bytes;
  }
  EXPECT_EQ(BucketOf("", FromHex("01"), 16), 12);
  EXPECT_EQ(BucketOf("", FromHex("ac02"), 16), 5);
  EXPECT_EQ(PaimonHash(""), 0x087fcd5c);
  EXPECT_EQ(PaimonHash("The quick brown fox jumps over the lazy dog"), 0x1bc6f880);
}

std::string Key(KeyFormat format, const std::vector<DataTypePtr>& types,
                const std::vector<std::string>& values, bool null_allowed = false) {
  const auto encoder = KeyEncoder::Make(format, types, null_allowed);
  EXPECT_OK(encoder.status());
  std::vector<std::string> keys;
  EXPECT_OK(encoder->Encode(*OneRow(types, values), Positions(types.size()), &keys));
  return keys.empty() ? "no key" : ToHex(keys[0]);
}

TEST(KeyEncoderTest, CompactedKeysAreValuesWithoutNullBits) {
  const auto key = [](const DataTypePtr& type, const std::string& value) {
    return Key(KeyFormat::kCompacted, {type}, {value});
  };
  EXPECT_EQ(key(kInt, "1"), "01");
  EXPECT_EQ(key(kInt, "300"), "ac02");
  EXPECT_EQ(key(kInt, "-1"), "ffffffff0f");
  EXPECT_EQ(key(kLong, "-1"), "ffffffffffffffffff01");
  EXPECT_EQ(key(DataType::Of(TypeKind::kSmallInt), "-2"), "feff");
  EXPECT_EQ(key(kText, "\"abc\""), "03616263");
  EXPECT_EQ(key(DataType::Of(TypeKind::kBoolean), "true"), "01");
  EXPECT_EQ(key(DataType::Decimal(5, 2), "\"-1.00\""), "9cffffffffffffffff01");
  EXPECT_EQ(key(DataType::Decimal(20, 0), "\"128\""), "020080");
  EXPECT_EQ(key(DataType::Decimal(20, 0), "\"-128\""), "0180");
  EXPECT_EQ(key(DataType::Timestamp(6), "-1"), "ffffffffffffffffff01d8fc3c");
  EXPECT_EQ(Key(KeyFormat::kCompacted, {kInt, kText}, {"1", "\"a\""}), "010161");
}

TEST(KeyEncoderTest, PaimonKeysAreBinaryRows) {
  EXPECT_EQ(Key(KeyFormat::kPaimon, {kInt}, {"42"}), "00000000000000002a00000000000000");
  EXPECT_EQ(Key(KeyFormat::kPaimon, {kInt}, {"null"}, /*null_allowed=*/true),
            "00010000000000000000000000000000");
}

TEST(KeyEncoderTest, IcebergKeysAreSingleValues) {
  const auto key = [](const DataTypePtr& type, const std::string& value) {
    return Key(KeyFormat::kIceberg, {type}, {value});
  };
  EXPECT_EQ(key(kInt, "-2"), "feffffffffffffff");
  EXPECT_EQ(key(DataType::Time(0), "1"), "40420f0000000000");
  EXPECT_EQ(key(DataType::Timestamp(3), "-1"), "18fcffffffffffff");
  EXPECT_EQ(key(DataType::Decimal(10, 0), "\"128\""), "0080");
  EXPECT_EQ(key(DataType::Decimal(10, 0), "\"-129\""), "ff7f");
  EXPECT_EQ(key(DataType::Decimal(10, 0), "\"0\""), "00");
  EXPECT_EQ(key(kText, "\"ab\""), "6162");
  EXPECT_CODE(ErrorCode::kInvalidTable, KeyEncoder::Make(KeyFormat::kIceberg, {kInt, kInt}, false));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              KeyEncoder::Make(KeyFormat::kIceberg, {DataType::Of(TypeKind::kBoolean)}, false));
}

TEST(KeyEncoderTest, RefusesNullAndNestedTypes) {
  for (const auto format : {KeyFormat::kCompacted, KeyFormat::kPaimon}) {
    ASSERT_OK_AND_ASSIGN(const auto encoder, KeyEncoder::Make(format, {kInt}, false));
    std::vector<std::string> keys;
    EXPECT_CODE(ErrorCode::kInvalidTable,
                encoder.Encode(*OneRow({kInt}, {"null"}), Positions(1), &keys));
    EXPECT_CODE(ErrorCode::kInvalidTable, KeyEncoder::Make(format, {DataType::Array(kInt)}, false));
  }
}

TEST(KeyDecoderTest, GivesBackWhatWasEncoded) {
  const std::vector<std::pair<DataTypePtr, std::string>> values = {
      {kInt, "-2"},
      {kLong, "-9000000000"},
      {kText, "\"h\u00e9llo, longer than a slot\""},
      {DataType::Of(TypeKind::kDate), "-1"},
      {DataType::Time(3), "45296789"},
      {DataType::Timestamp(3), "-1"},
      {DataType::Timestamp(6), "-1700000000123456"},
      {DataType::Decimal(10, 2), "\"-1.29\""},
      {DataType::Decimal(30, 2), "\"-12345678901234567890.12\""},
      {DataType::Of(TypeKind::kFloat), "1.5"},
      {DataType::Of(TypeKind::kDouble), "-0.1"},
      {DataType::Of(TypeKind::kBytes), "\"ab\""}};
  for (const auto format : {KeyFormat::kCompacted, KeyFormat::kPaimon, KeyFormat::kIceberg}) {
    for (const auto& [type, value] : values) {
      SCOPED_TRACE(type->ToString());
      const auto row = OneRow({type}, {value});
      ASSERT_OK_AND_ASSIGN(const auto encoder, KeyEncoder::Make(format, {type}, false));
      std::vector<std::string> keys;
      ASSERT_OK(encoder.Encode(*row, Positions(1), &keys));
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      ASSERT_OK_AND_ASSIGN(const auto back, DecodeKeys(format, {type}, views));
      EXPECT_TRUE(back->column(0)->Equals(row->column(0))) << back->ToString();
      const std::string_view cut[] = {views[0].substr(0, views[0].size() - 1)};
      if (type->kind() != TypeKind::kString && type->kind() != TypeKind::kBytes &&
          type->kind() != TypeKind::kDecimal) {
        EXPECT_CODE(ErrorCode::kCorruptRecord, DecodeKeys(format, {type}, cut));
      }
    }
  }
}

TEST(KeyDecoderTest, TimesAtTheEndsAreReadOrRefused) {
  const auto decode = [](int64_t micros) {
    std::string key(8, '\0');
    StoreLe(key.data(), micros);
    const std::string_view keys[] = {key};
    return DecodeKeys(KeyFormat::kIceberg, {DataType::Timestamp(6)}, keys);
  };
  EXPECT_OK(decode(INT64_MAX));
  EXPECT_OK(decode(INT64_MIN + 1000));
  EXPECT_CODE(ErrorCode::kCorruptRecord, decode(INT64_MIN));  // Its whole milliseconds are beyond.
}

TableDescriptor Descriptor(std::map<std::string, std::string> properties,
                           std::vector<std::string> bucket_keys) {
  TableDescriptor table;
  table.schema.columns = {{"p", kText}, {"a", kInt}, {"b", kInt}};
  table.schema.primary_key = {"p", "a", "b"};
  table.partition_keys = {"p"};
  table.bucket_keys = std::move(bucket_keys);
  table.properties = std::move(properties);
  return table;
}

// Rows of the table "Which encoder" of the protocol reference, section 5.5.
TEST(KeyPlanTest, ChoosesTheEncoders) {
  const auto formats = [](const TableDescriptor& table) {
    const KeyPlan plan = PlanKeys(table).ValueOrDie();
    return std::pair(plan.bucket_key_format, plan.primary_key_format);
  };
  const auto both = [](KeyFormat format) { return std::pair(format, format); };
  EXPECT_EQ(formats(Descriptor({}, {"a"})), both(KeyFormat::kCompacted));
  EXPECT_EQ(formats(Descriptor({{"table.datalake.format", "lance"}}, {"a"})),
            both(KeyFormat::kCompacted));
  EXPECT_EQ(formats(Descriptor({{"table.datalake.format", "paimon"}}, {"a"})),
            both(KeyFormat::kPaimon));
  EXPECT_EQ(formats(Descriptor(
                {{"table.datalake.format", "paimon"}, {"table.kv.format-version", "2"}}, {"a"})),
            std::pair(KeyFormat::kPaimon, KeyFormat::kCompacted));
  EXPECT_EQ(
      formats(Descriptor({{"table.datalake.format", "paimon"}, {"table.kv.format-version", "2"}},
                         {"a", "b"})),
      both(KeyFormat::kPaimon));
  EXPECT_EQ(formats(Descriptor(
                {{"table.datalake.format", "iceberg"}, {"table.kv.format-version", "2"}}, {})),
            both(KeyFormat::kIceberg));
  EXPECT_CODE(ErrorCode::kInvalidTable,
              PlanKeys(Descriptor({{"table.datalake.format", "hudi"}}, {})));
  const KeyPlan plan = PlanKeys(Descriptor({}, {})).ValueOrDie();
  EXPECT_EQ(plan.bucket_keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(plan.physical_primary_key, plan.bucket_keys);
}

struct TextCase {
  DataTypePtr type;
  std::string value;
  std::string text;
};

TEST(PartitionTextTest, WritesAndReadsEachType) {
  const std::vector<TextCase> cases = {
      {kText, "\"eu\"", "eu"},
      {DataType::Of(TypeKind::kBoolean), "true", "true"},
      {DataType::Of(TypeKind::kTinyInt), "-128", "-128"},
      {kLong, "-9223372036854775808", "-9223372036854775808"},
      {DataType::Of(TypeKind::kDate), "19723", "2024-01-01"},
      {DataType::Of(TypeKind::kDate), "-1", "1969-12-31"},
      {DataType::Of(TypeKind::kDate), "2932897", "10000-01-01"},
      {DataType::Of(TypeKind::kDate), "11248738", "32768-01-01"},
      {DataType::Of(TypeKind::kDate), "2147483647", "5881580-07-11"},
      {DataType::Of(TypeKind::kDate), "-719529", "-001-12-31"},
      {DataType::Of(TypeKind::kDate), "-2147483648", "-5877641-06-23"},
      {DataType::Timestamp(3), "971890963200000", "32768-01-01-00-00-00_"},
      {DataType::Time(3), "45296789", "12-34-56_789"},
      {DataType::Timestamp(3), "1704112496789", "2024-01-01-12-34-56_789"},
      {DataType::Timestamp(6), "1704112496000120", "2024-01-01-12-34-56_00012"},
      {DataType::TimestampLtz(0), "1704112496", "2024-01-01-12-34-56_"},
      {DataType::Timestamp(9), "-1", "1969-12-31-23-59-59_999999999"},
      {DataType::Of(TypeKind::kDouble), "1.5", "1_5"},
      {DataType::Of(TypeKind::kDouble), "-100", "-100_0"},
      {DataType::Of(TypeKind::kDouble), "1e7", "1_0E7"},
      {DataType::Of(TypeKind::kDouble), "9999999", "9999999_0"},
      {DataType::Of(TypeKind::kDouble), "0.001", "0_001"},
      {DataType::Of(TypeKind::kDouble), "0.00012", "1_2E-4"},
      {DataType::Of(TypeKind::kDouble), "0", "0_0"},
      {DataType::Of(TypeKind::kDouble), "5e-324", "4_9E-324"},
      {DataType::Of(TypeKind::kDouble), "-2e23", "-2_0E23"},
      {DataType::Of(TypeKind::kFloat), "1e-45", "1_4E-45"},
      {DataType::Of(TypeKind::kFloat), "0.1", "0_1"},
      {DataType::Of(TypeKind::kFloat), "123456.7", "123456_7"},
  };
  for (const auto& [type, value, text] : cases) {
    const auto batch = OneRow({type}, {value});
    ASSERT_OK_AND_ASSIGN(const std::string written, PartitionText(*type, *batch->column(0), 0));
    EXPECT_EQ(written, text) << type->ToString();
    ASSERT_OK_AND_ASSIGN(const auto back, PartitionValue(*type, text));
    EXPECT_TRUE(back->Equals(batch->column(0)))
        << type->ToString() << " " << text << " " << back->ToString();
  }
}

TEST(PartitionTextTest, WritesBytesAsHexAndRefusesNull) {
  const auto type = DataType::Of(TypeKind::kBytes);
  const auto batch = OneRow({type}, {"\"\\u0001z\""});
  EXPECT_EQ(PartitionText(*type, *batch->column(0), 0).ValueOrDie(), "017a");
  EXPECT_TRUE(PartitionValue(*type, "017a").ValueOrDie()->Equals(batch->column(0)));
  EXPECT_CODE(ErrorCode::kPartitionSpecInvalid,
              PartitionText(*kInt, *OneRow({kInt}, {"null"})->column(0), 0));
}

TEST(PartitionTextTest, RefusesTextThatIsNoValue) {
  const std::vector<std::pair<DataTypePtr, std::string>> cases = {
      {kInt, ""},
      {kInt, "12x"},
      {kInt, "3000000000"},
      {DataType::Of(TypeKind::kDate), "2024-02-30"},
      {DataType::Of(TypeKind::kDate), "2024-1-1"},
      {DataType::Of(TypeKind::kDate), "024-01-01"},
      {DataType::Of(TypeKind::kDate), "02024-01-01"},
      {DataType::Of(TypeKind::kDate), "-0-01-01"},
      {DataType::Of(TypeKind::kDate), "5881580-07-12"},
      {DataType::Of(TypeKind::kDate), "99999999-01-01"},
      {DataType::Of(TypeKind::kDate), "2024"},
      {DataType::Of(TypeKind::kDate), "-"},
      {DataType::Time(3), "25-00-00_000"},
      {DataType::Of(TypeKind::kBoolean), "yes"},
      {DataType::Of(TypeKind::kBytes), "0"},
      {DataType::Of(TypeKind::kBytes), "0g"},
      {DataType::Timestamp(3), "2024-01-01"},
      {DataType::Of(TypeKind::kDouble), "1_5x"},
  };
  for (const auto& [type, text] : cases) {
    SCOPED_TRACE(text);
    EXPECT_CODE(ErrorCode::kPartitionSpecInvalid, PartitionValue(*type, text));
  }
}

}  // namespace
}  // namespace sluice::types
