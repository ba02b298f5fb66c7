#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "lake/paimon/manifest_store.h"
#include "lake/paimon/snapshot_store.h"

namespace sluice::lake::paimon {

/// Rows of the tables that describe a table (Java's SnapshotsTable and its kin).
Result<std::shared_ptr<arrow::RecordBatch>> SnapshotsTable(const SnapshotStore& snapshots);
Result<std::shared_ptr<arrow::RecordBatch>> SchemasTable(SchemaStore& schemas);
Result<std::shared_ptr<arrow::RecordBatch>> OptionsTable(const LakeSchema& schema);
Result<std::shared_ptr<arrow::RecordBatch>> FilesTable(const TablePaths& paths,
                                                       const LakeSchema& schema,
                                                       const LiveFiles& live);

}  // namespace sluice::lake::paimon
