// Projection of one batch. The first three bytes choose the columns. A projected batch must have
// the same rows in those columns as the whole one, when both decode.
#include "base/bytes.h"
#include "base/check.h"
#include "wire/log_batch.h"
#include "wire/projection.h"
#include "wire/sample_rows_testing_internal.h"

using namespace sluice;

namespace {

void CheckSameRows(std::string_view batch, const std::string& projected,
                   const std::vector<int>& positions) {
  static const auto schema = wire::internal::SampleSchema();
  arrow::FieldVector fields;
  for (const int position : positions) fields.push_back(schema->field(position));
  const auto whole_view = wire::LogBatchView::Parse(batch);
  if (!whole_view.ok()) return;
  const auto whole = wire::DecodeRows(*whole_view, schema);
  if (!whole.ok()) return;
  const auto part_view = wire::LogBatchView::Parse(projected);
  CHECK(part_view.ok());
  const auto part = wire::DecodeRows(*part_view, arrow::schema(fields));
  CHECK(part.ok());
  CHECK((*part)->Equals(*(*whole)->SelectColumns(positions).ValueOrDie(), /*check_metadata=*/false,
                        arrow::EqualOptions::Defaults().nans_equal(true)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto schema = wire::internal::SampleSchema();
  if (size < 4) return 0;
  std::string_view batch(reinterpret_cast<const char*>(data), size);
  const uint32_t chosen = LoadLe<uint32_t>(batch.data()) & 0xffffff;
  batch.remove_prefix(3);
  std::vector<int32_t> positions;
  for (int32_t column = 0; column < schema->num_fields(); ++column) {
    if (chosen >> column & 1) positions.push_back(column);
  }
  const auto projector = wire::BatchProjector::Make(*schema, positions);
  CHECK(projector.ok() == !positions.empty());
  if (!projector.ok()) return 0;
  const auto projected = projector->Project(batch);
  if (!projected.ok()) return 0;
  const auto header = wire::ParseLogBatchHeader(batch);
  uint64_t bytes = projected->head.size(), end = 0;
  for (const auto& range : projected->ranges) {
    bytes += range.size_bytes;
    end = std::max(end, range.position_bytes + range.size_bytes);
  }
  CHECK(bytes == projected->size_bytes && end <= header->size_bytes());
  const auto in_memory = projector->ProjectInMemory(batch);
  if (in_memory.ok()) CheckSameRows(batch, *in_memory, {positions.begin(), positions.end()});
  return 0;
}
