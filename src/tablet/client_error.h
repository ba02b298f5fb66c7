#pragma once
#include <string_view>

#include "base/error.h"
#include "types/ids.h"

namespace sluice::tablet {

/// An error as a client may see it: it names the bucket, and no file or folder of this server.
///
/// A message that names one is logged whole here, since nobody else will see it. `data_dir` is the
/// folder below which all of them lie; `id` may be null for a call that is not of one bucket.
Status ForClient(const Status& status, const types::BucketId* id, std::string_view data_dir);

}  // namespace sluice::tablet
