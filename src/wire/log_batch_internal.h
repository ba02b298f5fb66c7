#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/log_batch.h"

namespace sluice::wire::internal {

/// Header of a new batch with its statistics, of magic 0 when there are none; the caller appends
/// change types and body, then calls FinishLogBatch.
std::string StartLogBatch(const LogBatchOptions& options, bool append_only, int32_t record_count,
                          std::string_view statistics = {});
/// Fill in length and CRC.
void FinishLogBatch(std::string* batch);

/// Make the header say that the batch has `size_bytes` in all.
void SetLogBatchLength(char* batch, uint64_t size_bytes);
/// The header of a batch as one of magic 0, which has no statistics. Its CRC is as before.
std::string HeaderOfMagic0(std::string_view batch);

}  // namespace sluice::wire::internal
