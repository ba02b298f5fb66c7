#include "rocks/full_disk.h"

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>

namespace sluice::rocks {

namespace {

// RocksDB's own log file stops the process when the disk is full: a second line after one that
// could not be written meets an assertion. What goes wrong reaches us as a Status.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// RocksDB's own recovery from a full disk can wait for ever, so a failed store is opened again.
class NoRecovery : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

}  // namespace

void FailWithoutAborting(rocksdb::DBOptions* options) {
  options->info_log = std::make_shared<NoLog>();
  options->listeners.push_back(std::make_shared<NoRecovery>());
  options->max_bgerror_resume_count = 0;
}

}  // namespace sluice::rocks
