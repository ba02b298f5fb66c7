#include "lake/paimon/paths.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <charconv>

#include "lake/paimon/binary_row.h"
#include "lake/paimon/columns.h"
#include "types/civil_date.h"
#include "types/row.h"

namespace sluice::lake::paimon {
namespace {

using types::TypeKind;

constexpr std::string_view kDefaultPartition = "__DEFAULT_PARTITION__";

bool MustEscape(char c) {
  return (static_cast<uint8_t>(c) < 0x20) || c == 0x7f ||
         std::string_view("\"#%'*/:=?\\{}[]^").find(c) != std::string_view::npos;
}

std::string TimestampText(const arrow::TimestampArray& array, int32_t precision) {
  static constexpr int64_t kPerSecond[] = {1, 1000, 1'000'000, 1'000'000'000};
  const int64_t unit =
      kPerSecond[static_cast<int>(static_cast<const arrow::TimestampType&>(*array.type()).unit())];
  const int64_t per_day = 86'400 * unit;
  int64_t days = array.Value(0) / per_day, rest = array.Value(0) % per_day;
  if (rest < 0) --days, rest += per_day;
  return types::DateText(days) + " " + types::TimeText(rest * (1'000'000'000 / unit), precision);
}

// Text as Paimon shows it with partition.legacy-name = false. Zoned times are shown in UTC.
Result<std::string> PathValue(const types::DataType& type,
                              const std::shared_ptr<arrow::Array>& array) {
  switch (type.kind()) {
    case TypeKind::kDate:
      return types::DateText(static_cast<const arrow::Date32Array&>(*array).Value(0));
    case TypeKind::kTime: {
      ASSIGN_OR_RAISE(const auto millis, Conform(array, FileArrowType(type)));
      return types::TimeText(
          int64_t{static_cast<const arrow::Time32Array&>(*millis).Value(0)} * 1'000'000,
          type.precision());
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return TimestampText(static_cast<const arrow::TimestampArray&>(*array), type.precision());
    case TypeKind::kBinary:
    case TypeKind::kBytes: {
      ASSIGN_OR_RAISE(const auto bytes, Conform(array, arrow::binary()));
      return std::string(static_cast<const arrow::BinaryArray&>(*bytes).GetView(0));
    }
    case TypeKind::kFloat:
    case TypeKind::kDouble: {
      // Fluss's text has '_' for the point, Paimon's folder name keeps it.
      ASSIGN_OR_RAISE(std::string text, types::PartitionText(type, *array, 0));
      std::ranges::replace(text, '_', '.');
      return text;
    }
    default:
      return types::PartitionText(type, *array, 0);
  }
}

bool Blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

std::string TablePaths::Bucket(std::string_view partition, int32_t bucket) const {
  return io::JoinPath(location_, std::string(partition) + "bucket-" + std::to_string(bucket));
}

std::string EscapePathName(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (MustEscape(c)) {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

Result<std::string> PartitionFolder(const LakeSchema& schema, std::string_view partition_row) {
  std::vector<types::DataTypePtr> types;
  for (const std::string& key : schema.partition_keys) {
    types.push_back(schema.columns[static_cast<size_t>(schema.IndexOf(key))].type);
  }
  ASSIGN_OR_RAISE(const auto values, DecodeRow(types, partition_row));
  std::string folder;
  for (size_t i = 0; i < values.size(); ++i) {
    std::string text;
    if (!values[i]->IsNull(0)) {
      ASSIGN_OR_RAISE(text, PathValue(*types[i], values[i]));
    }
    if (Blank(text)) text = schema.Option("partition.default-name", std::string(kDefaultPartition));
    folder += EscapePathName(schema.partition_keys[i]) + "=" + EscapePathName(text) + "/";
  }
  return folder;
}

Result<std::vector<int64_t>> ListIds(io::FileSystem& files, const std::string& folder,
                                     std::string_view prefix) {
  auto listed = files.List(folder);
  std::vector<int64_t> ids;
  if (!listed.ok()) {
    if (io::IsNotFound(listed.status())) return ids;
    return listed.status();
  }
  for (const io::FileSystem::Entry& entry : *listed) {
    if (entry.is_folder || !entry.name.starts_with(prefix)) continue;
    const std::string_view tail = std::string_view(entry.name).substr(prefix.size());
    int64_t id = 0;
    const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), id);
    if (error == std::errc() && end == tail.data() + tail.size()) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<std::vector<std::string>> ListNames(io::FileSystem& files, const std::string& folder) {
  auto listed = files.List(folder);
  std::vector<std::string> names;
  if (!listed.ok() && io::IsNotFound(listed.status())) return names;
  RETURN_NOT_OK(listed.status());
  for (const io::FileSystem::Entry& entry : *listed) names.push_back(entry.name);
  return names;
}

Status MakeFoldersOf(io::FileSystem& files, const TablePaths& paths, const std::string& folder) {
  const Status made = files.MakeFoldersBelow(paths.location(), folder);
  if (!io::IsNotFound(made)) return made;
  return Error(ErrorCode::kStorage,
               "folder of the lake table is gone, is its disk mounted? table=", paths.location());
}

Status SyncFolders(io::FileSystem& files, const std::string& top, const std::string& folder) {
  std::string at = folder;
  while (true) {
    RETURN_NOT_OK(files.SyncFolder(at));
    if (at.size() <= top.size()) return Status::OK();
    at = io::FolderOf(at);
  }
}

}  // namespace sluice::lake::paimon
