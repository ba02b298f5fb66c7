#include "lake/lake_testing.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "types/data_type.h"

namespace sluice::lake {
namespace {

using types::Column;
using types::DataType;
using types::DataTypePtr;
using types::TypeKind;

std::string Quote(const std::string& text) { return JsonText(nlohmann::json(text)); }

// As Java prints it: "2.0", "1.0E300".
template <typename T>
std::string RealText(T value) {
  std::string text = fmt::format("{}", value);
  const size_t exponent = text.find('e');
  if (exponent != std::string::npos) {
    std::string digits = text.substr(0, exponent);
    if (digits.find('.') == std::string::npos) digits += ".0";
    return digits + "E" + text.substr(exponent + (text[exponent + 1] == '+' ? 2 : 1));
  }
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string DayText(int64_t days) {
  const auto date = std::chrono::year_month_day(std::chrono::sys_days(std::chrono::days(days)));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  static constexpr int64_t kUnits[] = {1, 1000, 1'000'000, 1'000'000'000};
  return kUnits[static_cast<int>(unit)];
}

std::string MomentText(const arrow::Array& array, int64_t row, const DataType& type) {
  const int64_t per_second =
      UnitsPerSecond(static_cast<const arrow::TimestampType&>(*array.type()).unit());
  const int64_t value = static_cast<const arrow::TimestampArray&>(array).Value(row);
  int64_t seconds = value / per_second, rest = value % per_second;
  if (rest < 0) --seconds, rest += per_second;
  int64_t days = seconds / 86400, of_day = seconds % 86400;
  if (of_day < 0) --days, of_day += 86400;
  std::string text = fmt::format("{} {:02}:{:02}:{:02}", DayText(days), of_day / 3600,
                                 of_day / 60 % 60, of_day % 60);
  const std::string fraction = fmt::format("{:09}", rest * (1'000'000'000 / per_second));
  if (type.precision() > 0) text += "." + fraction.substr(0, static_cast<size_t>(type.precision()));
  return Quote(text + (type.kind() == TypeKind::kTimestampLtz ? "Z" : ""));
}

std::string TimeOfDayText(const arrow::Array& array, int64_t row) {
  int64_t millis = 0;
  if (array.type_id() == arrow::Type::TIME32) {
    const int64_t per_second =
        UnitsPerSecond(static_cast<const arrow::Time32Type&>(*array.type()).unit());
    millis = int64_t{static_cast<const arrow::Time32Array&>(array).Value(row)} * 1000 / per_second;
  } else {
    const int64_t per_second =
        UnitsPerSecond(static_cast<const arrow::Time64Type&>(*array.type()).unit());
    millis = static_cast<const arrow::Time64Array&>(array).Value(row) / (per_second / 1000);
  }
  return Quote(fmt::format("{:02}:{:02}:{:02}.{:03}", millis / 3600000, millis / 60000 % 60,
                           millis / 1000 % 60, millis % 1000));
}

// Never with an exponent, unlike Arrow's own text.
std::string DecimalText(const arrow::Decimal128& value, int32_t scale) {
  std::string digits = value.ToIntegerString();
  const bool negative = digits.starts_with("-");
  if (negative) digits.erase(0, 1);
  const auto places = static_cast<size_t>(scale);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, ".");
  return (negative ? "-" : "") + digits;
}

std::string BytesText(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::FIXED_SIZE_BINARY) {
    return Quote("0x" + ToHex(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row)));
  }
  return Quote("0x" + ToHex(static_cast<const arrow::BinaryArray&>(array).GetView(row)));
}

std::string CellText(const arrow::Array& array, int64_t row, const DataType& type);

std::string ListText(const arrow::Array& array, int64_t row, const DataType& type) {
  const auto& list = static_cast<const arrow::ListArray&>(array);
  std::string text;
  for (int64_t i = list.value_offset(row); i < list.value_offset(row) + list.value_length(row);
       ++i) {
    text += (text.empty() ? "" : ",") + CellText(*list.values(), i, *type.element());
  }
  return "[" + text + "]";
}

std::string MapText(const arrow::Array& array, int64_t row, const DataType& type) {
  const auto& map = static_cast<const arrow::MapArray&>(array);
  std::vector<std::string> pairs;
  for (int64_t i = map.value_offset(row); i < map.value_offset(row) + map.value_length(row); ++i) {
    pairs.push_back("[" + CellText(*map.keys(), i, *type.key()) + "," +
                    CellText(*map.items(), i, *type.value()) + "]");
  }
  return "[" + fmt::format("{}", fmt::join(pairs, ",")) + "]";
}

std::string RowText(const arrow::Array& array, int64_t row, const DataType& type) {
  const auto& fields = static_cast<const arrow::StructArray&>(array);
  std::string text;
  for (size_t i = 0; i < type.fields().size(); ++i) {
    text += (text.empty() ? "" : ",") + Quote(type.fields()[i].name) + ":" +
            CellText(*fields.field(static_cast<int>(i)), row, *type.fields()[i].type);
  }
  return "{" + text + "}";
}

std::string CellText(const arrow::Array& array, int64_t row, const DataType& type) {
  if (array.IsNull(row)) return "null";
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case TypeKind::kTinyInt:
      return std::to_string(static_cast<const arrow::Int8Array&>(array).Value(row));
    case TypeKind::kSmallInt:
      return std::to_string(static_cast<const arrow::Int16Array&>(array).Value(row));
    case TypeKind::kInteger:
      return std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row));
    case TypeKind::kBigInt:
      return std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
    case TypeKind::kFloat:
      return RealText(static_cast<const arrow::FloatArray&>(array).Value(row));
    case TypeKind::kDouble:
      return RealText(static_cast<const arrow::DoubleArray&>(array).Value(row));
    case TypeKind::kDecimal:
      return Quote(DecimalText(
          arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(row)),
          type.scale()));
    case TypeKind::kChar:
    case TypeKind::kString:
      return Quote(static_cast<const arrow::StringArray&>(array).GetString(row));
    case TypeKind::kBinary:
    case TypeKind::kBytes:
      return BytesText(array, row);
    case TypeKind::kDate:
      return Quote(DayText(static_cast<const arrow::Date32Array&>(array).Value(row)));
    case TypeKind::kTime:
      return TimeOfDayText(array, row);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return MomentText(array, row, type);
    case TypeKind::kArray:
      return ListText(array, row, type);
    case TypeKind::kMap:
      return MapText(array, row, type);
    case TypeKind::kRow:
      return RowText(array, row, type);
  }
  return "?";
}

void Check(const Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }

std::string RandomText(io::Random& random) {
  static const char* kPieces[] = {"a", "b",     "zz", "größe", "雪",
                                  "☃", "\"q\"", " ",  "\\",    "0123456789"};
  std::string text;
  for (uint64_t left = random.Below(5); left > 0; --left)
    text += kPieces[random.Below(std::size(kPieces))];
  return text;
}

int64_t Between(io::Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(high - low + 1)));
}

void AppendDecimal(arrow::ArrayBuilder* builder, const DataType& type, io::Random& random) {
  std::string digits = random.Below(2) == 0 ? "-" : "";
  for (uint64_t i = 1 + random.Below(static_cast<uint64_t>(type.precision())); i > 0; --i) {
    digits += static_cast<char>('0' + random.Below(10));
  }
  Check(static_cast<arrow::Decimal128Builder*>(builder)->Append(arrow::Decimal128(digits)));
}

// Seconds between 1900 and 2200 and a fraction, so that nanoseconds fit 64 bits.
void AppendMoment(arrow::ArrayBuilder* builder, const DataType& type, io::Random& random) {
  const int64_t per_second =
      UnitsPerSecond(static_cast<const arrow::TimestampType&>(*builder->type()).unit());
  int64_t step = per_second;  // Only as many digits as the precision says.
  // (at most microseconds: other readers' scripts print no more).
  for (int i = 0; i < std::min(type.precision(), 6) && step > 1; ++i) step /= 10;
  const int64_t seconds = Between(random, -2'208'988'800, 7'258'118'400);
  const int64_t fraction =
      static_cast<int64_t>(random.Below(static_cast<uint64_t>(per_second))) / step * step;
  Check(static_cast<arrow::TimestampBuilder*>(builder)->Append(seconds * per_second + fraction));
}

void AppendTimeOfDay(arrow::ArrayBuilder* builder, io::Random& random) {
  const int64_t millis = static_cast<int64_t>(random.Below(86'400'000));
  if (builder->type()->id() == arrow::Type::TIME32) {
    const int64_t per_second =
        UnitsPerSecond(static_cast<const arrow::Time32Type&>(*builder->type()).unit());
    Check(static_cast<arrow::Time32Builder*>(builder)->Append(
        static_cast<int32_t>(millis * per_second / 1000)));
  } else {
    const int64_t per_second =
        UnitsPerSecond(static_cast<const arrow::Time64Type&>(*builder->type()).unit());
    Check(static_cast<arrow::Time64Builder*>(builder)->Append(millis * (per_second / 1000)));
  }
}

void AppendRandom(arrow::ArrayBuilder* builder, const DataType& type, io::Random& random) {
  if (type.nullable() && random.Below(8) == 0) return Check(builder->AppendNull());
  switch (type.kind()) {
    case TypeKind::kBoolean:
      return Check(static_cast<arrow::BooleanBuilder*>(builder)->Append(random.Below(2) == 0));
    case TypeKind::kTinyInt:
      return Check(
          static_cast<arrow::Int8Builder*>(builder)->Append(static_cast<int8_t>(random.Next())));
    case TypeKind::kSmallInt:
      return Check(
          static_cast<arrow::Int16Builder*>(builder)->Append(static_cast<int16_t>(random.Next())));
    case TypeKind::kInteger:
      return Check(
          static_cast<arrow::Int32Builder*>(builder)->Append(static_cast<int32_t>(random.Next())));
    case TypeKind::kBigInt:
      return Check(
          static_cast<arrow::Int64Builder*>(builder)->Append(static_cast<int64_t>(random.Next())));
    case TypeKind::kFloat:
      return Check(static_cast<arrow::FloatBuilder*>(builder)->Append(
          static_cast<float>(Between(random, -4000, 4000)) / 8));
    case TypeKind::kDouble:
      return Check(static_cast<arrow::DoubleBuilder*>(builder)->Append(
          static_cast<double>(Between(random, -400000, 400000)) / 8));
    case TypeKind::kDecimal:
      return AppendDecimal(builder, type, random);
    case TypeKind::kChar: {
      std::string text;
      while (text.size() < static_cast<size_t>(type.length()))
        text += static_cast<char>('a' + random.Below(26));
      return Check(static_cast<arrow::StringBuilder*>(builder)->Append(text));
    }
    case TypeKind::kString:
      return Check(static_cast<arrow::StringBuilder*>(builder)->Append(RandomText(random)));
    case TypeKind::kBinary: {
      std::string bytes;
      while (bytes.size() < static_cast<size_t>(type.length()))
        bytes += static_cast<char>(random.Next());
      return Check(static_cast<arrow::FixedSizeBinaryBuilder*>(builder)->Append(bytes));
    }
    case TypeKind::kBytes:
      return Check(static_cast<arrow::BinaryBuilder*>(builder)->Append(RandomText(random)));
    case TypeKind::kDate:
      return Check(static_cast<arrow::Date32Builder*>(builder)->Append(
          static_cast<int32_t>(Between(random, -25567, 84000))));
    case TypeKind::kTime:
      return AppendTimeOfDay(builder, random);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return AppendMoment(builder, type, random);
    case TypeKind::kArray: {
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      Check(list->Append());
      for (uint64_t left = random.Below(4); left > 0; --left)
        AppendRandom(list->value_builder(), *type.element(), random);
      return;
    }
    case TypeKind::kMap: {
      auto* map = static_cast<arrow::MapBuilder*>(builder);
      Check(map->Append());
      // At most one entry: readers may show several in another order.
      if (random.Below(4) == 0) return;
      AppendRandom(map->key_builder(), *type.key()->WithNullable(false), random);
      return AppendRandom(map->item_builder(), *type.value(), random);
    }
    case TypeKind::kRow: {
      auto* fields = static_cast<arrow::StructBuilder*>(builder);
      Check(fields->Append());
      for (size_t i = 0; i < type.fields().size(); ++i) {
        AppendRandom(fields->field_builder(static_cast<int>(i)), *type.fields()[i].type, random);
      }
      return;
    }
  }
}

std::shared_ptr<arrow::RecordBatch> Replace(const arrow::RecordBatch& batch,
                                            const std::string& column,
                                            std::shared_ptr<arrow::Array> values) {
  const int at = batch.schema()->GetFieldIndex(column);
  return batch.SetColumn(at, batch.schema()->field(at), values).ValueOrDie();
}

}  // namespace

std::vector<std::string> JsonLines(const arrow::RecordBatch& batch,
                                   const std::vector<Column>& columns) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      line += (line.empty() ? "" : ",") + Quote(columns[i].name) + ":" +
              CellText(*batch.column(static_cast<int>(i)), row, *columns[i].type);
    }
    lines.push_back("{" + line + "}");
  }
  return lines;
}

std::shared_ptr<arrow::RecordBatch> RandomRows(const std::vector<Column>& columns, int64_t rows,
                                               io::Random& random) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const Column& column : columns) {
    fields.push_back(arrow::field(column.name, column.type->ToArrow(), column.type->nullable()));
    auto builder = arrow::MakeBuilder(fields.back()->type()).ValueOrDie();
    for (int64_t i = 0; i < rows; ++i) AppendRandom(builder.get(), *column.type, random);
    arrays.push_back(builder->Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, std::move(arrays));
}

std::shared_ptr<arrow::RecordBatch> WithInts(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::string& column,
                                             const std::function<int64_t(int64_t)>& value_of) {
  arrow::Int32Builder builder;
  for (int64_t i = 0; i < batch->num_rows(); ++i)
    Check(builder.Append(static_cast<int32_t>(value_of(i))));
  return Replace(*batch, column, builder.Finish().ValueOrDie());
}

std::shared_ptr<arrow::RecordBatch> WithText(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::string& column, const std::string& text) {
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < batch->num_rows(); ++i) Check(builder.Append(text));
  return Replace(*batch, column, builder.Finish().ValueOrDie());
}

std::vector<Column> AllTypeColumns(bool with_nested) {
  std::vector<Column> columns{{"id", DataType::Of(TypeKind::kInteger, false), ""}};
  const auto add = [&](const char* name, DataTypePtr type) {
    columns.push_back({name, std::move(type), ""});
  };
  add("c_bool", DataType::Of(TypeKind::kBoolean));
  add("c_tiny", DataType::Of(TypeKind::kTinyInt));
  add("c_small", DataType::Of(TypeKind::kSmallInt));
  add("c_int", DataType::Of(TypeKind::kInteger));
  add("c_big", DataType::Of(TypeKind::kBigInt));
  add("c_float", DataType::Of(TypeKind::kFloat));
  add("c_double", DataType::Of(TypeKind::kDouble));
  add("c_dec5", DataType::Decimal(5, 2));
  add("c_dec15", DataType::Decimal(15, 0));
  add("c_dec38", DataType::Decimal(38, 10));
  add("c_char", DataType::Char(5));
  add("c_str", DataType::Of(TypeKind::kString));
  add("c_bin", DataType::Binary(4));
  add("c_bytes", DataType::Of(TypeKind::kBytes));
  add("c_date", DataType::Of(TypeKind::kDate));
  add("c_time", DataType::Time(3));
  add("c_ts0", DataType::Timestamp(0));
  add("c_ts3", DataType::Timestamp(3));
  add("c_ts6", DataType::Timestamp(6));
  add("c_ts9", DataType::Timestamp(9));
  add("c_ltz3", DataType::TimestampLtz(3));
  add("c_ltz6", DataType::TimestampLtz(6));
  if (!with_nested) return columns;
  add("c_arr", DataType::Array(DataType::Of(TypeKind::kInteger)));
  add("c_map",
      DataType::Map(DataType::Of(TypeKind::kString, false), DataType::Of(TypeKind::kBigInt)));
  add("c_row", DataType::Row({{"a", DataType::Of(TypeKind::kInteger), ""},
                              {"b", DataType::Of(TypeKind::kString), ""},
                              {"c", DataType::Array(DataType::Timestamp(3)), ""}}));
  return columns;
}

Result<std::vector<std::string>> ReadAll(LakeTable& table, const LakeSnapshot& snapshot,
                                         const std::vector<std::string>& columns) {
  std::vector<Column> picked;
  for (const std::string& name : columns) {
    picked.push_back(table.schema().columns[static_cast<size_t>(table.schema().IndexOf(name))]);
  }
  ASSIGN_OR_RAISE(const LakePlan plan, table.Plan(snapshot, {}));
  std::vector<std::string> lines;
  for (const LakeSplit& split : plan.splits) {
    ASSIGN_OR_RAISE(const auto reader, table.Read(split, columns));
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, reader->Next());
      if (batch == nullptr) break;
      std::ranges::move(JsonLines(*batch, picked), std::back_inserter(lines));
    }
  }
  std::ranges::sort(lines);
  return lines;
}

std::unique_ptr<LakeCatalog> OpenWarehouse(io::FileSystem& files, io::Clock& clock,
                                           io::Random& random) {
  return LakeCatalog::Open({.properties = {{"warehouse", "/wh"}},
                            .files = &files,
                            .clock = &clock,
                            .random = &random})
      .ValueOrDie();
}

std::vector<std::string> Names(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

}  // namespace sluice::lake
