#pragma once
#include <cstdint>
#include <string>

#include "wire/log_batch.h"

namespace sluice::wire::internal {

/// Header of a new batch of magic 0; the caller appends change types and body, then calls
/// FinishLogBatch.
std::string StartLogBatch(const LogBatchOptions& options, bool append_only, int32_t record_count);
/// Fill in length and CRC.
void FinishLogBatch(std::string* batch);

/// Make the header say that the batch has `size_bytes` in all.
void SetLogBatchLength(char* batch, uint64_t size_bytes);
/// For a batch of magic 1: make the header say that there are no statistics.
void ClearStatisticsLength(char* batch);

}  // namespace sluice::wire::internal
