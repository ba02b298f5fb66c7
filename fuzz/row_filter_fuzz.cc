// The filter of a fetch and the statistics of a batch: two bytes with the size of the filter's
// message, the message, the statistics.
#include "base/bytes.h"
#include "base/check.h"
#include "wire/batch_statistics.h"
#include "wire/frame.h"
#include "wire/proto/log.pb.h"

using namespace sluice;

namespace {

// Columns whose ids are their positions.
types::Schema SchemaOf() {
  using types::DataType;
  types::Schema schema;
  for (const auto& type :
       {DataType::Of(types::TypeKind::kInteger), DataType::Of(types::TypeKind::kString),
        DataType::Decimal(20, 2), DataType::Of(types::TypeKind::kDouble), DataType::Timestamp(9),
        DataType::TimestampLtz(3), DataType::Time(6), DataType::Of(types::TypeKind::kDate)}) {
    const auto id = static_cast<int32_t>(schema.columns.size());
    schema.columns.push_back({.name = "c" + std::to_string(id), .type = type, .id = id});
  }
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const types::Schema schema = SchemaOf();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (rest.size() < 2) return 0;
  const size_t message_bytes = std::min<size_t>(LoadLe<uint16_t>(rest.data()), rest.size() - 2);
  const auto message = wire::ParseMessage<wire::PbPredicate>(rest.substr(2, message_bytes));
  const auto statistics = wire::BatchStatistics::Parse(rest.substr(2 + message_bytes), schema);
  if (!message.ok()) return 0;
  const auto filter = wire::ReadFilter(*message, schema);
  if (!filter.ok()) return 0;
  const bool may = !statistics.ok() || wire::MayMatch(*filter, schema, &*statistics, 10);
  // What was read can be said again, and means the same.
  wire::PbPredicate again;
  if (!wire::WriteFilter(*filter, schema, &again).ok()) return 0;
  const auto same = wire::ReadFilter(again, schema);
  CHECK(same.ok());
  CHECK(!statistics.ok() || wire::MayMatch(*same, schema, &*statistics, 10) == may);
  return 0;
}
