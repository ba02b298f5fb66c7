#include "app/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "io/file.h"
#include "types/byte_size.h"
#include "types/duration.h"

namespace sluice::app {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

Result<int64_t> ParseInt(std::string_view text) {
  text = Trim(text);
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || text.empty()) {
    return Error(ErrorCode::kInvalidConfig, "not a whole number value=", text);
  }
  return value;
}

Status CheckRatio(std::string_view text) {
  double value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= 0 &&
      value <= 1)
    return Status::OK();
  return Error(ErrorCode::kInvalidConfig, "not a number from 0 to 1 value=", text);
}

Status CheckValue(ConfigKey::Type type, const std::string& value) {
  switch (type) {
    case ConfigKey::Type::kString:
      return Status::OK();
    case ConfigKey::Type::kInt:
      return ParseInt(value).status();
    case ConfigKey::Type::kSize:
      return ParseSize(value).status();
    case ConfigKey::Type::kDuration:
      return ParseDuration(value).status();
    case ConfigKey::Type::kRatio:
      return CheckRatio(value);
    case ConfigKey::Type::kBool:
      if (value == "true" || value == "false") return Status::OK();
      return Error(ErrorCode::kInvalidConfig, "neither true nor false value=", value);
  }
  return Status::OK();
}

const ConfigKey* FindConfigPrefix(std::string_view name) {
  for (const ConfigKey& prefix : ConfigPrefixes()) {
    if (name.starts_with(prefix.name) && name.size() > prefix.name.size()) return &prefix;
  }
  return nullptr;
}

// Letters to change, add or take away to make one name of the other.
size_t EditDistance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[to.size()];
}

// The scalars of a YAML tree under their dotted names.
Status Flatten(const YAML::Node& node, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>* out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const auto name = entry.first.as<std::string>();
      RETURN_NOT_OK(Flatten(entry.second, prefix.empty() ? name : prefix + "." + name, out));
    }
    return Status::OK();
  }
  std::string value;
  if (node.IsSequence()) {
    for (const auto& item : node) value += (value.empty() ? "" : ",") + item.as<std::string>();
  } else if (node.IsScalar()) {
    value = node.as<std::string>();
  }
  if (prefix.empty()) return Error(ErrorCode::kInvalidConfig, "not a list of key: value");
  out->emplace_back(prefix, value);
  return Status::OK();
}

// A value as a number that can be compared with others of its key.
Result<int64_t> NumberOf(ConfigKey::Type type, std::string_view value) {
  switch (type) {
    case ConfigKey::Type::kInt:
      return ParseInt(value);
    case ConfigKey::Type::kSize: {
      ASSIGN_OR_RAISE(const uint64_t size_bytes, ParseSize(value));
      return static_cast<int64_t>(size_bytes);  // ParseSize gives no more than fits.
    }
    case ConfigKey::Type::kDuration: {
      ASSIGN_OR_RAISE(const auto duration, ParseDuration(value));
      return duration.count();
    }
    default:
      return Error(ErrorCode::kInvalidConfig, "no number value=", value);
  }
}

Status CheckRange(const ConfigKey& key, const std::string& value) {
  if (key.min.empty()) return Status::OK();
  ASSIGN_OR_RAISE(const int64_t number, NumberOf(key.type, value));
  ASSIGN_OR_RAISE(const int64_t min, NumberOf(key.type, key.min));
  ASSIGN_OR_RAISE(const int64_t max, NumberOf(key.type, key.max));
  if (min <= number && number <= max) return Status::OK();
  return Error(ErrorCode::kInvalidConfig, "value out of range value=", value, " min=", key.min,
               " max=", key.max);
}

std::string_view TypeText(ConfigKey::Type type) {
  switch (type) {
    case ConfigKey::Type::kString:
      return "text";
    case ConfigKey::Type::kInt:
      return "number";
    case ConfigKey::Type::kBool:
      return "true, false";
    case ConfigKey::Type::kSize:
      return "size";
    case ConfigKey::Type::kDuration:
      return "time";
    case ConfigKey::Type::kRatio:
      return "ratio";
  }
  return "";
}

std::string RangeText(const ConfigKey& key) {
  if (key.type == ConfigKey::Type::kRatio) return "`0` to `1`";
  if (key.min.empty()) return "";
  return "`" + std::string(key.min) + "` to `" + std::string(key.max) + "`";
}

void AppendMarkdownTable(ConfigKey::Use use, std::string* out) {
  *out += "| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
  const auto append = [&](const ConfigKey& key, std::string_view ending) {
    if (key.use != use) return;
    *out += "| `" + std::string(key.name) + std::string(ending) + "` | " +
            std::string(TypeText(key.type)) + " | " +
            (key.default_value.empty() ? "" : "`" + std::string(key.default_value) + "`") + " | " +
            RangeText(key) + " | " + std::string(key.text) + " |\n";
  };
  for (const ConfigKey& key : ConfigKeys()) append(key, "");
  for (const ConfigKey& prefix : ConfigPrefixes()) append(prefix, "*");
}

void AppendRunTimeKeys(std::string* out) {
  *out +=
      "\n## Keys that change while the server runs\nBy ALTER_CLUSTER_CONFIGS "
      "(`alterClusterConfigs` "
      "of the clients); a change outlives starts and wins over the file until it is deleted. Those "
      "without effect here are kept and shown.\n\n";
  for (const std::string_view key : RunTimeConfigKeys()) *out += "- `" + std::string(key) + "`\n";
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  ASSIGN_OR_RAISE(const int64_t size_bytes, types::ParseByteSize(text));
  return static_cast<uint64_t>(size_bytes);
}

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  ASSIGN_OR_RAISE(const int64_t value_ms, types::ParseDurationMs(text));
  if (value_ms < 0) return Error(ErrorCode::kInvalidConfig, "duration is negative value=", text);
  return std::chrono::milliseconds(value_ms);
}

const ConfigKey* FindConfigKey(std::string_view name) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

// A key that `name` may be a slip of; empty when none is that near.
std::string NearConfigKey(std::string_view name) {
  std::string_view nearest;
  size_t least = name.size() / 3 + 1;
  for (const ConfigKey& key : ConfigKeys()) {
    const size_t distance = EditDistance(name, key.name);
    if (distance >= least) continue;
    least = distance;
    nearest = key.name;
  }
  return std::string(nearest);
}

std::string ConfigMarkdown() {
  std::string out =
      "# Configuration\n"
      "Written by `sluice admin config-doc` from the table in `src/app/config_keys.cc`; do not "
      "edit.\n\n"
      "Keys stand in `conf/server.yaml` or behind `-D key=value`, which wins. A key that nobody "
      "knows refuses the start.\n"
      "Sizes: `64mb`, `1g`, `4096`; times: `500ms`, `10 s`, `5min`, `24h`, `7d`.\n\n"
      "## Keys of Fluss that Sluice follows\n";
  AppendMarkdownTable(ConfigKey::Use::kUsed, &out);
  out += "\n## Keys of Sluice\n";
  AppendMarkdownTable(ConfigKey::Use::kOwn, &out);
  AppendRunTimeKeys(&out);
  out +=
      "\n## Keys of Fluss without effect here\nThey are accepted, and named in one line of the log "
      "at start.\n\n";
  AppendMarkdownTable(ConfigKey::Use::kIgnored, &out);
  return out;
}

Status Config::LoadFile(const std::string& path, std::string_view yaml) {
  std::vector<std::pair<std::string, std::string>> pairs;
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (root.IsNull() || !root.IsDefined()) return Status::OK();
    const Status flat = Flatten(root, "", &pairs);
    if (!flat.ok()) return flat.WithMessage(flat.message(), " file=", path);
  } catch (const YAML::Exception& error) {
    return Error(ErrorCode::kInvalidConfig, "file is not YAML file=", path,
                 " reason=", error.what());
  }
  for (const auto& [key, value] : pairs) {
    const Status set = SetValue(key, value);
    if (!set.ok()) return set.WithMessage(set.message(), " file=", path);
  }
  return Status::OK();
}

Status Config::Set(std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Error(ErrorCode::kInvalidConfig, "not key=value argument=", assignment);
  }
  return SetValue(std::string(Trim(assignment.substr(0, equals))),
                  std::string(Trim(assignment.substr(equals + 1))));
}

Status Config::SetValue(const std::string& key, const std::string& value) {
  const ConfigKey* known = FindConfigKey(key);
  if (known == nullptr && FindConfigPrefix(key) == nullptr) {
    const std::string near = NearConfigKey(key);
    return Error(ErrorCode::kInvalidConfig, "unknown configuration key=", key,
                 near.empty() ? "" : " nearest=", near);
  }
  if (known != nullptr && known->type != ConfigKey::Type::kString && value.empty()) {
    values_.erase(key);  // As if it was not set: there is no empty number.
    return Status::OK();
  }
  if (value.empty() && known != nullptr && known->use != ConfigKey::Use::kIgnored &&
      !known->default_value.empty()) {
    return Error(ErrorCode::kInvalidConfig, "value is empty key=", key,
                 " default=", known->default_value);
  }
  if (known != nullptr && !value.empty()) {
    Status fits = CheckValue(known->type, value);
    if (fits.ok()) fits = CheckRange(*known, value);
    if (!fits.ok()) return fits.WithMessage(fits.message(), " key=", key);
  }
  values_[key] = value;
  return Status::OK();
}

void Config::MakeFoldersAbsolute(const std::string& current) {
  for (const char* key : {"data.dir", "remote.data.dir", "datalake.paimon.warehouse"}) {
    const auto value = values_.find(key);
    if (value == values_.end() || value->second.empty() || value->second.starts_with('/')) continue;
    const bool is_uri = value->second.find(':') != std::string::npos;
    if (!is_uri) value->second = io::JoinPath(current, value->second);
  }
}

const std::string& Config::String(std::string_view key) const {
  static const auto& defaults = *[] {
    auto* all = new std::map<std::string, std::string, std::less<>>;
    for (const ConfigKey& known : ConfigKeys()) all->emplace(known.name, known.default_value);
    return all;
  }();
  const auto value = values_.find(key);
  if (value != values_.end() && !value->second.empty()) return value->second;
  const auto fallback = defaults.find(key);
  CHECK(fallback != defaults.end());
  return fallback->second;
}

int64_t Config::Int(std::string_view key) const {
  const auto value = ParseInt(String(key));
  CHECK(value.ok());
  return *value;
}

bool Config::Bool(std::string_view key) const { return String(key) == "true"; }

double Config::Ratio(std::string_view key) const {
  const std::string& text = String(key);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);  // Checked when it was set.
  return value;
}

uint64_t Config::SizeBytes(std::string_view key) const {
  const auto value = ParseSize(String(key));
  CHECK(value.ok());
  return *value;
}

std::chrono::milliseconds Config::Duration(std::string_view key) const {
  const auto value = ParseDuration(String(key));
  CHECK(value.ok());
  return *value;
}

std::map<std::string, std::string> Config::Below(std::string_view prefix) const {
  std::map<std::string, std::string> below;
  for (const auto& [key, value] : values_) {
    if (key.starts_with(prefix)) below[key.substr(prefix.size())] = value;
  }
  return below;
}

std::vector<std::string> Config::Ignored() const {
  std::vector<std::string> ignored;
  for (const auto& [key, value] : values_) {
    const ConfigKey* known = FindConfigKey(key);
    if (known == nullptr) known = FindConfigPrefix(key);
    if (known->use == ConfigKey::Use::kIgnored) ignored.push_back(key);
  }
  return ignored;
}

}  // namespace sluice::app
