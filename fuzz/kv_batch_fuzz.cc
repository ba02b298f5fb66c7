// KV batches and value batches.
#include "base/check.h"
#include "wire/kv_batch.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto batch = wire::KvBatchView::Parse(bytes); batch.ok()) {
    const auto& header = batch->header();
    const std::string built = wire::BuildKvBatch(header.schema_id, header.writer_id,
                                                 header.batch_sequence, batch->records());
    const auto again = wire::KvBatchView::Parse(built);
    CHECK(again.ok() && again->CrcMatches() && again->records() == batch->records());
    batch->CrcMatches();
  }
  if (const auto values = wire::ParseValueBatch(bytes); values.ok()) {
    std::vector<std::string> stored;
    for (const auto& value : *values)
      stored.push_back(wire::BuildStoredValue(value.schema_id, value.row));
    const std::string built = wire::BuildValueBatch(stored);
    CHECK(bytes.substr(0, built.size()) == built);
  }
  return 0;
}
