#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/row_versions.h"

namespace sluice::kv {

/// Makes rows of nothing but their keys: the other columns are NULL.
class KeyRows {
 public:
  /// `partition_values`: texts, of a bucket in a partition. Errors: those of PlanKeys and of
  /// PartitionValue.
  static Result<KeyRows> Make(const types::TableDescriptor& table, const RowVersion& latest,
                              std::span<const std::string> partition_values);

  /// A row of the latest schema per stored key. Errors: kCorruptRecord for bytes that are no key;
  /// kRecordTooLarge when keys and rows make more than `bytes_max` of a KV batch.
  Result<std::vector<std::string>> RowsOf(std::span<const std::string_view> keys,
                                          size_t bytes_max = SIZE_MAX) const;

  /// Where the primary key stands in the latest schema.
  const std::vector<int>& key_columns() const { return key_columns_; }

 private:
  KeyRows(types::KeyFormat format, const RowVersion& latest, types::RowCodec key_codec)
      : format_(format), latest_(latest), key_codec_(std::move(key_codec)) {}

  types::KeyFormat format_;
  const RowVersion& latest_;
  types::RowCodec key_codec_;   // Rows of the columns that stored keys have.
  std::vector<int> positions_;  // Of these columns.
  std::vector<int> key_columns_;
  std::vector<std::pair<int, std::string>> partition_parts_;  // Position, encoded value.
};

}  // namespace sluice::kv
