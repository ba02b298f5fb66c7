#pragma once
#include "coordinator/coordinator_testing.h"

namespace sluice::coordinator {

inline const types::TablePath kPath{"fluss", "t"};

/// A coordinator that has started, with a lake.
class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() { h_.Start(); }
  meta::TablePtr Table(const types::TablePath& path = kPath) { return h_.state()->FindTable(path); }
  Harness h_;
};

}  // namespace sluice::coordinator
