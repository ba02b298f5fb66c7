#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "io/file.h"
#include "io/remote_folder.h"
#include "kv/key_store.h"
#include "types/kv_snapshot.h"

namespace sluice::kv {

/// A checkpoint of a bucket's store, on its way to where clients fetch snapshots.
struct SnapshotUpload {
  io::FileSystem* files = nullptr;
  std::string checkpoint_folder;
  KeyStore::Checkpoint checkpoint;
  types::BucketId bucket;
  int64_t snapshot_id = 0;  ///< One above the newest recorded one; an earlier try may have failed.
  io::RemoteFolder remote;  ///< Not written to while it is away.
  std::string root;         ///< Remote data folder, as a URI or a path; must be there.
  std::string bucket_folder;  ///< Below it.
  /// Metadata of the newest recorded snapshot: what it has brought is not brought again.
  std::optional<std::string> base_metadata_path;
  std::shared_ptr<const std::atomic<bool>> stop;  ///< Turned true: end soon.
};

/// Bring the files to `bucket_folder`, sorted tables to its shared folder and the rest to the
/// snapshot's own, and write the metadata file last. All is durable when this returns. Blocks.
///
/// Errors: Cancelled after a stop; those of the files. What an upload that failed leaves is named
/// by no snapshot and goes with the next one.
Result<types::KvSnapshot> UploadSnapshot(const SnapshotUpload& upload);

}  // namespace sluice::kv
