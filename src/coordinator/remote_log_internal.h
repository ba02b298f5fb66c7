#pragma once
#include <set>
#include <string>
#include <vector>

#include "meta/catalog.h"
#include "wire/proto/replication.pb.h"
#include "wire/proto/snapshot.pb.h"

namespace sluice::coordinator {

/// COMMIT_REMOTE_LOG_MANIFEST: a bucket's leader has written a manifest; from here on it counts.
/// Errors: kInvalidCoordinator, kFencedLeaderEpoch for a call of an older reign or leadership;
/// kTableNotExist, kUnknownTableOrBucket; those of the store.
Result<wire::CommitRemoteLogManifestResponse> CommitRemoteLog(
    meta::Catalog& catalog, const wire::CommitRemoteLogManifestRequest& request);

/// LIST_REMOTE_LOG_MANIFESTS of a table or partition. Errors: kTableNotExist, kPartitionNotExists.
Result<wire::ListRemoteLogManifestsResponse> ListRemoteLogs(
    const meta::CatalogState& state, const wire::ListRemoteLogManifestsRequest& request);

/// Remote data folders of a table and its partitions, those that are set.
std::set<std::string> RemoteRoots(const meta::TableState& table);
/// Folders of the remote log of a table with all its partitions, or of `partition` alone, as
/// Java's FlussPaths names them.
std::vector<std::string> RemoteLogFolders(const meta::TableState& table,
                                          const meta::PartitionState* partition);

}  // namespace sluice::coordinator
