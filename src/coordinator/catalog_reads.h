#pragma once
#include "coordinator/settings.h"
#include "meta/catalog_state.h"

namespace sluice::wire {
class GetClusterHealthResponse;
class GetLakeSnapshotRequest;
class GetLakeSnapshotResponse;
class ListPartitionInfosRequest;
class ListPartitionInfosResponse;
class PbTablePath;
}  // namespace sluice::wire

namespace sluice::coordinator {

// Reads that need a snapshot of the catalog and nothing else, so any server may answer them on any
// thread.

types::TablePath PathOf(const wire::PbTablePath& path);

/// Errors: kTableNotExist; kLakeSnapshotNotExist; kUnknownServer when an id and `readable` are both
/// given.
Result<wire::GetLakeSnapshotResponse> ReadLakeSnapshot(const meta::CatalogState& state,
                                                       const wire::GetLakeSnapshotRequest& request);

/// Partitions by name, those that agree with the partial spec. Errors: kTableNotExist,
/// kTableNotPartitioned, kPartitionSpecInvalid.
Result<wire::ListPartitionInfosResponse> ListPartitions(
    const meta::CatalogState& state, const wire::ListPartitionInfosRequest& request);

/// Whether a key of the configuration or of the lake catalog may hold what clients must not see.
/// Upper and lower case are alike.
bool IsSecret(std::string_view key);

wire::GetClusterHealthResponse ClusterHealth(const meta::CatalogState& state);

}  // namespace sluice::coordinator
