// Log batches laid end to end, as a produce request or a segment file has them.
#include "base/check.h"
#include "wire/log_rows.h"
#include "wire/sample_rows_testing_internal.h"

using namespace sluice;

namespace {

types::Schema RowSchema() {
  using types::DataType;
  types::Schema schema;
  for (const auto& type :
       {DataType::Of(types::TypeKind::kInteger), DataType::Of(types::TypeKind::kString),
        DataType::Decimal(20, 2), DataType::Array(DataType::Of(types::TypeKind::kBigInt))}) {
    schema.columns.push_back({.name = "c" + std::to_string(schema.columns.size()), .type = type});
  }
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto schema = wire::internal::SampleSchema();
  const std::string_view records(reinterpret_cast<const char*>(data), size);
  wire::LogBatchIterator batches(records);
  size_t walked_bytes = 0;
  for (;;) {
    const auto batch = batches.Next();
    if (!batch.ok() || !batch->has_value()) break;
    const wire::LogBatchView& view = **batch;
    walked_bytes += view.bytes().size();
    CHECK(view.header().header_bytes() + view.statistics().size() + view.change_types().size() +
              view.body().size() ==
          view.bytes().size());
    // Rows are decoded whatever the CRC says: lakes and projected replies have none that fits.
    if (const auto rows = wire::DecodeRows(view, schema); rows.ok()) {
      CHECK((*rows)->num_rows() == view.header().record_count);
      CHECK(!(*rows)->ToString().empty() || (*rows)->num_rows() == 0);
    }
    static const types::Schema row_schema = RowSchema();
    for (const auto format : {types::LogFormat::kIndexed, types::LogFormat::kCompacted}) {
      const auto rows = wire::DecodeLogRows(view, format, row_schema);
      if (!rows.ok()) continue;
      CHECK(rows->rows->num_rows() == view.header().record_count);
      CHECK(rows->changes.empty() || rows->changes.size() == size_t(view.header().record_count));
    }
    const std::string magic0 = wire::ToMagic0(view);
    const auto again = wire::LogBatchView::Parse(magic0);
    CHECK(again.ok() && again->body() == view.body() &&
          again->change_types() == view.change_types());
    CHECK(again->CrcMatches() || view.header().magic == 0);
  }
  CHECK(walked_bytes + batches.rest().size() == size);
  return 0;
}
