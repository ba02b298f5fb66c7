#pragma once
#include <arrow/type_fwd.h>

#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "wire/log_batch.h"

namespace sluice::wire {

/// A batch that a server takes and nobody can read: one bit inside a compressed block of `batch`
/// is flipped, and its CRC is that of the new bytes. For tests of readers, in any module.
inline std::string DamageInsideABlock(const std::string& batch,
                                      const std::shared_ptr<arrow::Schema>& schema) {
  constexpr size_t kCrcAt = 21, kCheckedFrom = 25;
  for (size_t at = batch.size(); at-- > kLogBatchHeaderBytes;) {
    std::string damaged = batch;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    StoreLe(&damaged[kCrcAt], Crc32c(std::string_view(damaged).substr(kCheckedFrom)));
    const auto view = LogBatchView::Parse(damaged).ValueOrDie();
    if (CheckRows(view, *schema).ok() && !DecodeRows(view, schema).ok()) return damaged;
  }
  return {};
}

}  // namespace sluice::wire
