#include "base/check.h"

#include <cstdlib>

#include "base/log.h"

namespace sluice {

void CheckFailed(const char* condition, const char* file, int line) {
  LogError("check failed condition={} at={}:{}", condition, file, line);
  std::abort();
}

}  // namespace sluice
