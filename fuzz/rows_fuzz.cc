// Rows of the three layouts; the first byte says which.
#include <arrow/record_batch.h>

#include "base/check.h"
#include "types/row.h"

using namespace sluice;

namespace {

std::vector<types::DataTypePtr> AllKinds() {
  using types::DataType;
  using Kind = types::TypeKind;
  const auto integer = DataType::Of(Kind::kInteger);
  const auto text = DataType::Of(Kind::kString);
  return {DataType::Of(Kind::kBoolean),
          DataType::Of(Kind::kTinyInt),
          DataType::Of(Kind::kSmallInt),
          integer,
          DataType::Of(Kind::kBigInt, false),
          DataType::Of(Kind::kFloat),
          DataType::Of(Kind::kDouble),
          DataType::Char(3),
          text,
          DataType::Binary(4),
          DataType::Of(Kind::kBytes),
          DataType::Decimal(10, 2),
          DataType::Decimal(38, 10),
          DataType::Of(Kind::kDate),
          DataType::Time(3),
          DataType::Timestamp(3),
          DataType::Timestamp(9),
          DataType::TimestampLtz(6),
          DataType::Array(text),
          DataType::Map(DataType::Of(Kind::kInteger, false), DataType::Array(DataType::Binary(9))),
          DataType::Row({{"a", integer, "", 0}, {"b", text, "", 1}})};
}

// What decodes can be written again, and is the same then.
void CheckCodec(types::RowFormat format, std::string_view row) {
  const types::RowCodec codec(format, AllKinds());
  const std::span<const std::string_view> one(&row, 1);
  const auto batch = codec.Decode(one);
  if (const auto parts = codec.Split(row); parts.ok()) {
    const std::string joined = codec.Join(*parts);
    const auto again = codec.Split(joined);
    CHECK(again.ok() && *again == *parts);
  }
  if (!batch.ok()) return;
  CHECK((*batch)->Validate().ok());
  std::vector<std::string> written;
  if (!codec.Encode(**batch, 0, 1, &written).ok()) return;
  const std::string_view view = written[0];
  const auto back = codec.Decode(std::span(&view, 1));
  // NaN is not equal to itself, so the bytes are compared.
  std::vector<std::string> twice;
  CHECK(back.ok() && codec.Encode(**back, 0, 1, &twice).ok() && twice == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view row(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      CheckCodec(types::RowFormat::kCompacted, row);
      break;
    case 1:
      CheckCodec(types::RowFormat::kIndexed, row);
      break;
    default:
      if (const auto batch = types::DecodeBinaryRows(AllKinds(), std::span(&row, 1)); batch.ok())
        CHECK((*batch)->Validate().ok());
  }
  return 0;
}
