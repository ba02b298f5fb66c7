#pragma once
#include <memory>

#include "meta/store.h"

namespace sluice::meta {

/// The store without a disk: for tests and simulation. What was applied stays as long as the
/// object.
std::unique_ptr<MetaStore> NewMemoryMetaStore();

}  // namespace sluice::meta
