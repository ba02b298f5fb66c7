#include "lake/paimon/manifest.h"

#include "base/bytes.h"
#include "lake/paimon/avro.h"

namespace sluice::lake::paimon {
namespace {

using avro::Value;

constexpr int64_t kManifestVersion = 2;

// The schemas as Paimon's converter prints them: readers of the next version want these fields in
// this order.
#define SLUICE_STATS_FIELDS                                                                   \
  R"("fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},)" \
  R"({"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]})"

constexpr std::string_view kEntrySchema =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
    R"({"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},)"
    R"({"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},)"
    R"({"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[)"
    R"({"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},)"
    R"({"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},)"
    R"({"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS",)" SLUICE_STATS_FIELDS
    R"(},)"
    R"({"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS",)" SLUICE_STATS_FIELDS
    R"(},)"
    R"({"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},)"
    R"({"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},)"
    R"({"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},)"
    R"({"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},)"
    R"({"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},)"
    R"({"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},)"
    R"({"name":"_FILE_SOURCE","type":["null","int"],"default":null},)"
    R"({"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},)"
    R"({"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},)"
    R"({"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},)"
    R"({"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]})";

constexpr std::string_view kListSchema =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
    R"({"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},)"
    R"({"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},)"
    R"({"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS",)" SLUICE_STATS_FIELDS
    R"(},)"
    R"({"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],"default":null},)"
    R"({"name":"_MAX_BUCKET","type":["null","int"],"default":null},{"name":"_MIN_LEVEL","type":["null","int"],"default":null},)"
    R"({"name":"_MAX_LEVEL","type":["null","int"],"default":null},{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},)"
    R"({"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]})";
#undef SLUICE_STATS_FIELDS

template <typename T>
Value ValueOf(const std::optional<T>& value) {
  return value.has_value() ? Value(*value) : Value();
}
Value ValueOf(const std::vector<std::string>& strings) {
  Value::List items;
  for (const std::string& text : strings) items.emplace_back(text);
  return Value(std::move(items));
}
Value ValueOf(const std::optional<std::vector<std::string>>& strings) {
  return strings.has_value() ? ValueOf(*strings) : Value();
}
Value ValueOf(const SimpleStats& stats) {
  Value::List nulls;
  for (const auto& count : stats.null_counts) nulls.push_back(ValueOf(count));
  return Value(Value::List{stats.min_values, stats.max_values, std::move(nulls)});
}

Value ValueOf(const DataFileMeta& file) {
  return Value(Value::List{file.name,
                           file.size_bytes,
                           file.row_count,
                           file.min_key,
                           file.max_key,
                           ValueOf(file.key_stats),
                           ValueOf(file.value_stats),
                           file.min_sequence,
                           file.max_sequence,
                           file.schema_id,
                           file.level,
                           ValueOf(file.extra_files),
                           ValueOf(file.creation_time_ms),
                           ValueOf(file.delete_row_count),
                           ValueOf(file.embedded_index),
                           ValueOf(file.source),
                           ValueOf(file.value_stats_columns),
                           ValueOf(file.external_path),
                           ValueOf(file.first_row_id),
                           ValueOf(file.write_columns)});
}

Value ValueOf(const ManifestEntry& entry) {
  return Value(Value::List{kManifestVersion, entry.is_delete ? 1 : 0, entry.partition, entry.bucket,
                           entry.total_buckets, ValueOf(entry.file)});
}

Value ValueOf(const ManifestMeta& meta) {
  return Value(Value::List{kManifestVersion, meta.name, meta.size_bytes, meta.added_files,
                           meta.deleted_files, ValueOf(meta.partition_stats), meta.schema_id,
                           ValueOf(meta.min_bucket), ValueOf(meta.max_bucket),
                           ValueOf(meta.min_level), ValueOf(meta.max_level),
                           ValueOf(meta.min_row_id), ValueOf(meta.max_row_id)});
}

// Takes the fields of one record by name. The first thing that is missing or of the wrong kind is
// kept as the error.
class RecordFields {
 public:
  RecordFields(const avro::Schema& schema, const Value& value)
      : schema_(Unwrap(schema)), values_(std::get_if<Value::List>(&value.datum)) {
    if (schema_.kind != avro::Schema::Kind::kRecord || values_ == nullptr) Fail("record");
  }

  const Value* Find(std::string_view name) const {
    const int at = values_ == nullptr ? -1 : schema_.IndexOf(name);
    if (at < 0 || (*values_)[static_cast<size_t>(at)].is_null()) return nullptr;
    return &(*values_)[static_cast<size_t>(at)];
  }
  template <typename T>
  std::optional<T> Maybe(std::string_view name) {
    using Stored = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    const Value* value = Find(name);
    if (value == nullptr) return std::nullopt;
    const auto* stored = std::get_if<Stored>(&value->datum);
    if (stored == nullptr) {
      Fail(name);
      return std::nullopt;
    }
    return static_cast<T>(*stored);
  }
  template <typename T>
  T Must(std::string_view name) {
    std::optional<T> value = Maybe<T>(name);
    if (!value.has_value()) Fail(name);
    return value.has_value() ? std::move(*value) : T{};
  }
  std::optional<std::vector<std::string>> Strings(std::string_view name) {
    const Value* value = Find(name);
    if (value == nullptr) return std::nullopt;
    const auto* items = std::get_if<Value::List>(&value->datum);
    std::vector<std::string> strings;
    if (items == nullptr) Fail(name);
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
      const auto* text = std::get_if<std::string>(&(*items)[i].datum);
      if (text == nullptr) Fail(name);
      strings.push_back(text == nullptr ? "" : *text);
    }
    return strings;
  }
  SimpleStats Stats(std::string_view name);
  /// The record in field `name`; an empty one, and an error, when it is not there.
  RecordFields Nested(std::string_view name) {
    static const Value kNothing;
    const Value* value = Find(name);
    if (value == nullptr) Fail(name);
    const int at = schema_.IndexOf(name);
    return {at < 0 ? schema_ : *schema_.fields[static_cast<size_t>(at)].schema,
            value == nullptr ? kNothing : *value};
  }
  const Status& status() const { return status_; }
  void Keep(const Status& status) {
    if (status_.ok()) status_ = status;
  }

 private:
  // The record inside [null, record].
  static const avro::Schema& Unwrap(const avro::Schema& schema) {
    if (schema.kind != avro::Schema::Kind::kUnion) return schema;
    for (const auto& branch : schema.children) {
      if (branch->kind == avro::Schema::Kind::kRecord) return *branch;
    }
    return schema;
  }
  void Fail(std::string_view name) { Keep(Corrupt("manifest lacks or misuses field=", name)); }

  const avro::Schema& schema_;
  const Value::List* values_;
  Status status_;
};

SimpleStats RecordFields::Stats(std::string_view name) {
  RecordFields record = Nested(name);
  SimpleStats stats;
  stats.min_values = record.Must<std::string>("_MIN_VALUES");
  stats.max_values = record.Must<std::string>("_MAX_VALUES");
  if (const Value* nulls = record.Find("_NULL_COUNTS"); nulls != nullptr) {
    const auto* items = std::get_if<Value::List>(&nulls->datum);
    if (items == nullptr) record.Fail("_NULL_COUNTS");
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
      const auto* count = std::get_if<int64_t>(&(*items)[i].datum);
      stats.null_counts.push_back(count == nullptr ? std::nullopt : std::optional<int64_t>(*count));
    }
  }
  Keep(record.status());
  return stats;
}

DataFileMeta TakeFile(RecordFields& record) {
  DataFileMeta file;
  file.name = record.Must<std::string>("_FILE_NAME");
  file.size_bytes = record.Must<int64_t>("_FILE_SIZE");
  file.row_count = record.Must<int64_t>("_ROW_COUNT");
  file.min_key = record.Must<std::string>("_MIN_KEY");
  file.max_key = record.Must<std::string>("_MAX_KEY");
  file.key_stats = record.Stats("_KEY_STATS");
  file.value_stats = record.Stats("_VALUE_STATS");
  file.min_sequence = record.Must<int64_t>("_MIN_SEQUENCE_NUMBER");
  file.max_sequence = record.Must<int64_t>("_MAX_SEQUENCE_NUMBER");
  file.schema_id = record.Must<int64_t>("_SCHEMA_ID");
  file.level = record.Must<int32_t>("_LEVEL");
  file.extra_files = record.Strings("_EXTRA_FILES").value_or(std::vector<std::string>());
  file.creation_time_ms = record.Maybe<int64_t>("_CREATION_TIME");
  file.delete_row_count = record.Maybe<int64_t>("_DELETE_ROW_COUNT");
  file.embedded_index = record.Maybe<std::string>("_EMBEDDED_FILE_INDEX");
  file.source = record.Maybe<int32_t>("_FILE_SOURCE");
  file.value_stats_columns = record.Strings("_VALUE_STATS_COLS");
  file.external_path = record.Maybe<std::string>("_EXTERNAL_PATH");
  file.first_row_id = record.Maybe<int64_t>("_FIRST_ROW_ID");
  file.write_columns = record.Strings("_WRITE_COLS");
  return file;
}

Result<ManifestEntry> TakeEntry(const avro::Schema& schema, const Value& value) {
  RecordFields record(schema, value);
  if (const auto version = record.Must<int64_t>("_VERSION");
      record.status().ok() && version != kManifestVersion) {
    return Corrupt("manifest entry of unknown version=", version);
  }
  ManifestEntry entry;
  entry.is_delete = record.Must<int32_t>("_KIND") == 1;
  entry.partition = record.Must<std::string>("_PARTITION");
  entry.bucket = record.Must<int32_t>("_BUCKET");
  entry.total_buckets = record.Must<int32_t>("_TOTAL_BUCKETS");
  RecordFields file = record.Nested("_FILE");
  entry.file = TakeFile(file);
  RETURN_NOT_OK(record.status());
  RETURN_NOT_OK(file.status());
  return entry;
}

Result<ManifestMeta> TakeManifest(const avro::Schema& schema, const Value& value) {
  RecordFields record(schema, value);
  if (const auto version = record.Must<int64_t>("_VERSION");
      record.status().ok() && version != kManifestVersion) {
    return Corrupt("manifest list of unknown version=", version);
  }
  ManifestMeta meta;
  meta.name = record.Must<std::string>("_FILE_NAME");
  meta.size_bytes = record.Must<int64_t>("_FILE_SIZE");
  meta.added_files = record.Must<int64_t>("_NUM_ADDED_FILES");
  meta.deleted_files = record.Must<int64_t>("_NUM_DELETED_FILES");
  meta.partition_stats = record.Stats("_PARTITION_STATS");
  meta.schema_id = record.Must<int64_t>("_SCHEMA_ID");
  meta.min_bucket = record.Maybe<int32_t>("_MIN_BUCKET");
  meta.max_bucket = record.Maybe<int32_t>("_MAX_BUCKET");
  meta.min_level = record.Maybe<int32_t>("_MIN_LEVEL");
  meta.max_level = record.Maybe<int32_t>("_MAX_LEVEL");
  meta.min_row_id = record.Maybe<int64_t>("_MIN_ROW_ID");
  meta.max_row_id = record.Maybe<int64_t>("_MAX_ROW_ID");
  RETURN_NOT_OK(record.status());
  return meta;
}

template <typename T>
Result<std::string> WriteAll(std::string_view schema, const std::vector<T>& items,
                             std::string_view sync_marker) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const T& item : items) values.push_back(ValueOf(item));
  return avro::WriteContainer(schema, values, avro::Codec::kZstandard, sync_marker);
}

template <typename T>
Result<std::vector<T>> ParseAll(std::string_view file,
                                Result<T> (*take)(const avro::Schema&, const Value&)) {
  ASSIGN_OR_RAISE(const avro::Container container, avro::ReadContainer(file));
  std::vector<T> items;
  items.reserve(container.values.size());
  for (const Value& value : container.values) {
    ASSIGN_OR_RAISE(auto item, take(*container.schema, value));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::string EmptyRow() { return std::string(12, '\0'); }

std::string ManifestEntry::Identity() const {
  std::string identity;
  const auto add = [&](std::string_view part) {
    AppendLe(&identity, static_cast<uint32_t>(part.size()));
    identity.append(part);
  };
  add(partition);
  AppendLe(&identity, bucket);
  AppendLe(&identity, file.level);
  add(file.name);
  for (const std::string& extra : file.extra_files) add(extra);
  add(file.embedded_index.value_or(""));
  add(file.external_path.value_or(""));
  return identity;
}

Result<std::string> WriteManifest(const std::vector<ManifestEntry>& entries,
                                  std::string_view sync_marker) {
  return WriteAll(kEntrySchema, entries, sync_marker);
}
Result<std::vector<ManifestEntry>> ParseManifest(std::string_view file) {
  return ParseAll(file, TakeEntry);
}
Result<std::string> WriteManifestList(const std::vector<ManifestMeta>& manifests,
                                      std::string_view sync_marker) {
  return WriteAll(kListSchema, manifests, sync_marker);
}
Result<std::vector<ManifestMeta>> ParseManifestList(std::string_view file) {
  return ParseAll(file, TakeManifest);
}

}  // namespace sluice::lake::paimon
