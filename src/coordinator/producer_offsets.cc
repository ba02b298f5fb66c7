#include <algorithm>

#include "base/bytes.h"
#include "coordinator/producer_offsets_internal.h"
#include "wire/frame.h"

namespace sluice::coordinator {

namespace {

constexpr char kArea[] = "producers";
constexpr size_t kIdBytesMax = 1000;
constexpr int64_t kTtlMaxMs = int64_t{3650} * 24 * 3600 * 1000;  // As the configuration's.
// Each removal waits for the store, and so does the coordinator.
constexpr int kSweptAtOnce = 20;

// Ids are free text, keys are not.
Result<std::string> KeyOf(const std::string& producer_id) {
  if (producer_id.empty() || producer_id.size() > kIdBytesMax) {
    return Error(ErrorCode::kInvalidProducerId,
                 "producer id is empty or too long size_bytes=", producer_id.size());
  }
  return ToHex(producer_id);
}

}  // namespace

// Format of the stored value: a GetProducerOffsetsResponse.
Result<wire::GetProducerOffsetsResponse> ProducerOffsets::Get(
    const wire::GetProducerOffsetsRequest& request) {
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  ASSIGN_OR_RAISE(const auto stored, catalog_.GetValue(kArea, key));
  if (!stored.has_value()) return wire::GetProducerOffsetsResponse();
  ASSIGN_OR_RAISE(auto offsets, wire::ParseMessage<wire::GetProducerOffsetsResponse>(*stored));
  if (offsets.expiration_time() <= clock_.NowMs()) return wire::GetProducerOffsetsResponse();
  return offsets;
}

Result<wire::RegisterProducerOffsetsResponse> ProducerOffsets::Register(
    const wire::RegisterProducerOffsetsRequest& request) {
  constexpr int32_t kCreated = 0;
  constexpr int32_t kExists = 1;
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  const int64_t ttl_ms = request.has_ttl_ms() ? request.ttl_ms() : ttl_ms_;
  if (ttl_ms <= 0)
    return Error(ErrorCode::kInvalidConfig, "time to live is not positive ttl_ms=", ttl_ms);
  wire::GetProducerOffsetsRequest asked;
  asked.set_producer_id(request.producer_id());
  ASSIGN_OR_RAISE(const auto present, Get(asked));
  wire::RegisterProducerOffsetsResponse response;
  response.set_result(present.has_producer_id() ? kExists : kCreated);
  if (present.has_producer_id()) return response;
  wire::GetProducerOffsetsResponse stored;
  stored.set_producer_id(request.producer_id());
  stored.set_expiration_time(clock_.NowMs() + std::min(ttl_ms, kTtlMaxMs));
  *stored.mutable_table_offsets() = request.table_offsets();
  RETURN_NOT_OK(catalog_.PutValue(kArea, key, wire::Serialize(stored)));
  return response;
}

Status ProducerOffsets::Delete(const wire::DeleteProducerOffsetsRequest& request) {
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  return catalog_.DeleteValue(kArea, key);
}

Result<bool> ProducerOffsets::Sweep() {
  ASSIGN_OR_RAISE(const auto keys, catalog_.ListValues(kArea));
  int swept = 0;
  for (const std::string& key : keys) {
    ASSIGN_OR_RAISE(const auto stored, catalog_.GetValue(kArea, key));
    const auto offsets = wire::ParseMessage<wire::GetProducerOffsetsResponse>(stored.value_or(""));
    if (offsets.ok() && offsets->expiration_time() > clock_.NowMs()) continue;
    if (swept++ == kSweptAtOnce) return true;
    RETURN_NOT_OK(catalog_.DeleteValue(kArea, key));
  }
  return false;
}

}  // namespace sluice::coordinator
