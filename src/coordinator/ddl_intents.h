#pragma once
#include <optional>
#include <string>
#include <vector>

#include "coordinator/tablet_messages.h"
#include "lake/lake_catalog.h"
#include "meta/catalog_state.h"

namespace sluice::coordinator {

// What DDL writes down before or with its first step, so that a restart can go on. Each is JSON in
// an intent's payload.

/// A table that is to be created in the lake, then in the catalog.
struct CreateIntent {
  static constexpr char kKind[] = "create_table";
  types::TableDescriptor descriptor;  ///< Complete.
  /// The time that the lake table bears if this change makes it. None in records of older versions:
  /// undoing leaves the lake alone then.
  std::optional<int64_t> lake_made_ms;

  std::string ToJson() const;
  static Result<CreateIntent> FromJson(std::string_view json);
};

/// A table whose descriptor is to change, in the lake first.
struct AlterIntent {
  static constexpr char kKind[] = "alter_table";
  int64_t table_id = -1;
  types::TableDescriptor descriptor;  ///< As it will be.
  /// Set when it switches the lake on, as in CreateIntent.
  std::optional<int64_t> lake_made_ms;

  std::string ToJson() const;
  static Result<AlterIntent> FromJson(std::string_view json);
};

/// Replicas of something dropped, whose files are to be deleted.
struct DeleteIntent {
  static constexpr char kKind[] = "delete_replicas";
  std::vector<StoppedBucket> buckets;
  std::vector<std::string> folders;  ///< Of lake offsets and remote logs.

  std::string ToJson() const;
  static Result<DeleteIntent> FromJson(std::string_view json);
};

/// What the lake must change when a table's descriptor does: columns at the end, options.
std::vector<lake::LakeChange> LakeChanges(const types::TableDescriptor& from,
                                          const types::TableDescriptor& to);

}  // namespace sluice::coordinator
