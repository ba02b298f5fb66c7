#include "bench/rows.h"

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include <string>

#include "base/check.h"

namespace sluice::bench {
namespace {

// Text of `bytes` bytes that neither repeats nor compresses to nothing.
std::string Text(const char* prefix, int64_t id, size_t bytes) {
  std::string text = prefix;
  uint64_t state = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u + 1;
  while (text.size() < bytes) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    text.push_back(static_cast<char>('a' + (state * 0x2545f4914f6cdd1du >> 59) % 16));
  }
  text.resize(bytes);
  return text;
}

}  // namespace

types::Schema RowSchema(bool primary_key) {
  using types::DataType;
  using types::TypeKind;
  types::Schema schema;
  schema.columns = {{.name = "id", .type = DataType::Of(TypeKind::kBigInt, false)},
                    {.name = "quantity", .type = DataType::Of(TypeKind::kInteger)},
                    {.name = "price", .type = DataType::Of(TypeKind::kDouble)},
                    {.name = "amount", .type = DataType::Decimal(15, 2)},
                    {.name = "event_time", .type = DataType::Timestamp(3)},
                    {.name = "paid", .type = DataType::Of(TypeKind::kBoolean)},
                    {.name = "customer", .type = DataType::Of(TypeKind::kString)},
                    {.name = "product", .type = DataType::Of(TypeKind::kString)},
                    {.name = "address", .type = DataType::Of(TypeKind::kString)},
                    {.name = "note", .type = DataType::Of(TypeKind::kString)}};
  if (primary_key) schema.primary_key = {"id"};
  return schema;
}

std::shared_ptr<arrow::RecordBatch> MakeRows(int64_t from, int64_t count) {
  arrow::Int64Builder id;
  arrow::Int32Builder quantity;
  arrow::DoubleBuilder price;
  arrow::Decimal128Builder amount(arrow::decimal128(15, 2));
  arrow::TimestampBuilder time(arrow::timestamp(arrow::TimeUnit::MILLI),
                               arrow::default_memory_pool());
  arrow::BooleanBuilder paid;
  arrow::StringBuilder customer, product, address, note;
  for (int64_t i = from; i < from + count; ++i) {
    CHECK(id.Append(i).ok());
    CHECK(quantity.Append(static_cast<int32_t>(i % 97)).ok());
    CHECK(price.Append(static_cast<double>(i % 10007) * 0.37).ok());
    CHECK(amount.Append(arrow::Decimal128(i % 1000003)).ok());
    CHECK(time.Append(1'700'000'000'000 + i).ok());
    CHECK(paid.Append(i % 3 == 0).ok());
    CHECK(customer.Append(Text("customer-", i % 5000, 24)).ok());
    CHECK(product.Append(Text("product-", i % 800, 24)).ok());
    CHECK(address.Append(Text("street ", i, 48)).ok());
    CHECK(note.Append(Text("note ", i * 7, 56)).ok());
  }
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (arrow::ArrayBuilder* builder : std::initializer_list<arrow::ArrayBuilder*>{
           &id, &quantity, &price, &amount, &time, &paid, &customer, &product, &address, &note}) {
    columns.push_back(builder->Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(RowSchema(false).ToArrow(), count, std::move(columns));
}

}  // namespace sluice::bench
