#include "app/segment_table.h"

#include <charconv>

#include "app/settings.h"
#include "meta/catalog.h"
#include "meta/rocks_store.h"

namespace sluice::app {
namespace {

constexpr size_t kUuidChars = 36;

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The number behind the last "-" of a name.
std::optional<int64_t> IdInName(const std::string& name) {
  const size_t at = name.rfind('-');
  if (at == std::string::npos) return std::nullopt;
  int64_t id = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + at + 1, end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return id;
}

struct Place {
  int64_t table_id;
  std::string data_dir;  // Of a file in one.
};

// {data}/{db}/{table}-{id}[/{partition}-p{id}]/log-{bucket}/FILE, or, in remote storage,
// …/{table}-{id}[/{partition}-p{id}]/{bucket}/{uuid}/FILE.
std::optional<Place> PlaceOf(const std::string& path) {
  std::string folder = io::FolderOf(path);
  if (LastName(folder).size() == kUuidChars) folder = io::FolderOf(folder);
  folder = io::FolderOf(folder);
  auto id = IdInName(LastName(folder));
  if (!id) {  // A partition: its number has a letter in front.
    folder = io::FolderOf(folder);
    id = IdInName(LastName(folder));
  }
  if (!id) return std::nullopt;
  return Place{*id, io::FolderOf(io::FolderOf(folder))};
}

}  // namespace

Result<std::shared_ptr<const types::Schema>> SegmentTable::SchemaOf(int32_t schema_id) const {
  const auto found = schemas.find(schema_id);
  if (found != schemas.end()) return found->second;
  return Error(ErrorCode::kSchemaNotExist, "schema is not known table=", name,
               " schema_id=", schema_id);
}

Result<std::optional<SegmentTable>> TableOfSegment(io::FileSystem& files, const std::string& path,
                                                   const std::string& data_dir) {
  const auto place = PlaceOf(path);
  if (!place) return std::optional<SegmentTable>();
  const std::string metadata =
      io::JoinPath(data_dir.empty() ? place->data_dir : data_dir, kMetadataFolder);
  ASSIGN_OR_RAISE(const bool exists, files.Exists(io::JoinPath(metadata, "CURRENT")));
  if (!exists) return std::optional<SegmentTable>();
  ASSIGN_OR_RAISE(const auto store, meta::ReadRocksMetaStore(metadata));
  ASSIGN_OR_RAISE(const auto state, meta::Catalog::Read(*store));
  const meta::TablePtr table = state->FindTable(place->table_id);
  if (table == nullptr) return std::optional<SegmentTable>();
  return std::make_optional(SegmentTable{.name = table->info.path.ToString(),
                                         .format = types::LogFormatOf(table->info.descriptor),
                                         .schemas = table->schemas});
}

}  // namespace sluice::app
