// What a lake's folder holds beside its data: Avro containers, manifests, schemas, snapshots.
#include "lake/paimon/avro.h"
#include "lake/paimon/manifest.h"
#include "lake/paimon/schema_json.h"
#include "lake/paimon/snapshot_json.h"

using namespace sluice;
namespace paimon = lake::paimon;

namespace {

// Bytes from a folder that anybody writes are good or corrupt, and nothing worse.
template <typename Parsed>
bool Read(const Result<Parsed>& parsed) {
  return parsed.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = paimon::avro::ReadContainer(bytes);
  if (Read(file)) {
    std::string out;
    for (const auto& value : file->values) {
      // A union of two types that are not null may fit another branch.
      if (!paimon::avro::Encode(*file->schema, value, &out).ok()) break;
    }
  }
  Read(paimon::ParseManifest(bytes));
  Read(paimon::ParseManifestList(bytes));
  Read(paimon::avro::Schema::Parse(bytes));
  Read(paimon::ParseSchema(bytes));
  Read(paimon::ParseSnapshot(bytes));
  Read(paimon::ParseConsumer(bytes));
  Read(paimon::ParseTypeText(bytes));
  return 0;
}
