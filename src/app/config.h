#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::app {

/// One key of the configuration.
struct ConfigKey {
  enum class Type { kString, kInt, kBool, kSize, kDuration, kRatio };
  enum class Use {
    kUsed,     ///< Fluss's key, and we follow it.
    kOwn,      ///< Ours; Fluss does not have it.
    kIgnored,  ///< Fluss's key, without effect here.
  };
  std::string_view name;
  Type type;
  std::string_view default_value;  ///< Empty = none, or as the text says.
  Use use;
  std::string_view text;
  std::string_view min{};  ///< Least value, written as one of the type; empty = none.
  std::string_view max{};  ///< Greatest value.
};

/// All keys, in the order of the documentation.
std::span<const ConfigKey> ConfigKeys();
/// Beginnings of keys that stand for families ("datalake.paimon."), with their use.
std::span<const ConfigKey> ConfigPrefixes();
/// Names of the keys that ALTER_CLUSTER_CONFIGS changes.
std::span<const std::string_view> RunTimeConfigKeys();
const ConfigKey* FindConfigKey(std::string_view name);
/// The key that was most likely meant.
std::string NearestConfigKey(std::string_view name);
/// The table as Markdown, for docs/configuration.md.
std::string ConfigMarkdown();

/// The settings of a process: defaults, then the file, then `-D` of the command line.
///
/// Getters CHECK that the key is in the table and has that type; the values were checked when they
/// were set.
class Config {
 public:
  /// Read a YAML file: keys with dots, or nested maps. Errors: kInvalidConfig, naming file, key and
  /// what is wrong with it; for an unknown key also the nearest one.
  Status LoadFile(const std::string& path, std::string_view yaml);
  /// "key=value". Errors: as above; a value out of its key's range is told with the range.
  Status Set(std::string_view assignment);

  /// Name folders whole that were named from `current` on: what clients are told of them holds in
  /// theirs too.
  void MakeFoldersAbsolute(const std::string& current);

  const std::string& String(std::string_view key) const;
  int64_t Int(std::string_view key) const;
  bool Bool(std::string_view key) const;
  double Ratio(std::string_view key) const;
  uint64_t SizeBytes(std::string_view key) const;
  std::chrono::milliseconds Duration(std::string_view key) const;
  bool IsSet(std::string_view key) const { return values_.contains(key); }
  /// Values below a prefix, the prefix cut off.
  std::map<std::string, std::string> Below(std::string_view prefix) const;
  /// Keys that were set although they have no effect here.
  std::vector<std::string> Ignored() const;
  /// What was set, for DESCRIBE_CLUSTER_CONFIGS.
  std::map<std::string, std::string> Values() const { return {values_.begin(), values_.end()}; }

 private:
  Status SetValue(const std::string& key, const std::string& value);
  std::map<std::string, std::string, std::less<>> values_;
};

/// "64mb", "1 g", "4096". Errors: kInvalidConfig.
Result<uint64_t> ParseSize(std::string_view text);
/// "10min", "500 ms", "7d". Errors: kInvalidConfig.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace sluice::app
