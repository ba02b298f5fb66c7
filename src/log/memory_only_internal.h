#pragma once
#include "log/log.h"

namespace sluice::log {

/// While it lives, what the log reads comes from memory alone when `miss` is not null.
class Log::MemoryOnly {
 public:
  MemoryOnly(Log* log, Miss* miss) : log_(log) { log_->miss_ = miss; }
  ~MemoryOnly() { log_->miss_ = nullptr; }
  MemoryOnly(const MemoryOnly&) = delete;

 private:
  Log* const log_;
};

}  // namespace sluice::log
