// Table descriptors, schemas and types as JSON, as clients send them.
#include "base/check.h"
#include "types/schema.h"

using namespace sluice;

namespace {

template <typename Document>
void CheckDocument(const Document& document) {
  const std::string text = document.ToJson();
  const auto again = Document::FromJson(text);
  CHECK(again.ok() && again->ToJson() == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  if (const auto schema = types::Schema::FromJson(json); schema.ok()) CheckDocument(*schema);
  if (auto table = types::TableDescriptor::FromJson(json); table.ok()) {
    CheckDocument(*table);
    (void)table->schema.AssignIds();
  }
  if (const auto database = types::DatabaseDescriptor::FromJson(json); database.ok())
    CheckDocument(*database);
  if (const auto type = types::DataType::FromJson(json); type.ok()) {
    const auto again = types::DataType::FromJson((*type)->ToJson());
    CHECK(again.ok() && (*again)->Equals(**type));
  }
  return 0;
}
