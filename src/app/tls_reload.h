#pragma once
#include <memory>

#include "io/loop.h"
#include "io/pool.h"
#include "io/tls.h"

namespace sluice::app {

/// Look every few seconds, on the pool, whether the files of `tls` have changed, until the loop
/// ends; a renewed certificate holds for connections from then on. Files that do not fit together
/// leave what is there in use, with one WARN line. The pool outlives the loop.
void StartTlsReload(io::Loop& loop, io::Pool& pool, std::shared_ptr<io::Tls> tls);

}  // namespace sluice::app
