#pragma once
#include <pthread.h>

#include <string>

namespace sluice::io::internal {

/// Name the calling thread for debuggers and `top -H`; Linux keeps 15 characters.
inline void NameThread(const std::string& name) {
  (void)::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace sluice::io::internal
