#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "base/bytes.h"
#include "coordinator/producer_offsets_internal.h"
#include "wire/frame.h"

namespace sluice::coordinator {

namespace {

constexpr char kArea[] = "producers";
constexpr size_t kIdBytesMax = 1000;
constexpr int64_t kTtlMaxMs = int64_t{3650} * 24 * 3600 * 1000;  // As the configuration's.
// The coordinator waits for the write that removes them.
constexpr size_t kSweptAtOnce = 1000;

// Ids are free text, keys are not.
Result<std::string> KeyOf(const std::string& producer_id) {
  if (producer_id.empty() || producer_id.size() > kIdBytesMax) {
    return Error(ErrorCode::kInvalidProducerId,
                 "producer id is empty or too long size_bytes=", producer_id.size());
  }
  return ToHex(producer_id);
}

// The time of expiry of a stored value, without a look at its offsets: it stands before them. 0
// when it has none.
int64_t ExpirationOf(const std::string& stored) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(stored.data()),
                                               static_cast<int>(stored.size()));
  const uint32_t wanted =
      WireFormatLite::MakeTag(wire::GetProducerOffsetsResponse::kExpirationTimeFieldNumber,
                              WireFormatLite::WIRETYPE_VARINT);
  for (uint32_t tag = input.ReadTag(); tag != 0; tag = input.ReadTag()) {
    uint64_t value = 0;
    if (tag == wanted) return input.ReadVarint64(&value) ? static_cast<int64_t>(value) : 0;
    if (!WireFormatLite::SkipField(&input, tag)) return 0;
  }
  return 0;
}

}  // namespace

Status ProducerOffsets::Load() {
  known_.clear();
  bytes_ = 0;
  ASSIGN_OR_RAISE(const auto keys, catalog_.ListValues(kArea));
  for (const std::string& key : keys) {
    ASSIGN_OR_RAISE(const auto stored, catalog_.GetValue(kArea, key));
    if (stored.has_value()) Remember(key, {ExpirationOf(*stored), stored->size()});
  }
  return Status::OK();
}

// Format of the stored value: a GetProducerOffsetsResponse.
Result<wire::GetProducerOffsetsResponse> ProducerOffsets::Get(
    const wire::GetProducerOffsetsRequest& request) {
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  if (!IsLive(key)) return wire::GetProducerOffsetsResponse();
  ASSIGN_OR_RAISE(const auto stored, catalog_.GetValue(kArea, key));
  return wire::ParseMessage<wire::GetProducerOffsetsResponse>(stored.value_or(""));
}

Result<wire::RegisterProducerOffsetsResponse> ProducerOffsets::Register(
    const wire::RegisterProducerOffsetsRequest& request) {
  constexpr int32_t kCreated = 0;
  constexpr int32_t kExists = 1;
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  const int64_t ttl_ms = request.has_ttl_ms() ? request.ttl_ms() : ttl_ms_;
  if (ttl_ms <= 0)
    return Error(ErrorCode::kInvalidConfig, "time to live is not positive ttl_ms=", ttl_ms);
  wire::RegisterProducerOffsetsResponse response;
  response.set_result(IsLive(key) ? kExists : kCreated);
  if (IsLive(key)) return response;
  wire::GetProducerOffsetsResponse offsets;
  offsets.set_producer_id(request.producer_id());
  offsets.set_expiration_time(clock_.NowMs() + std::min(ttl_ms, kTtlMaxMs));
  *offsets.mutable_table_offsets() = request.table_offsets();
  std::string stored = wire::Serialize(offsets);
  const Known known{offsets.expiration_time(), stored.size()};
  RETURN_NOT_OK(CheckRoom(key, stored.size()));
  RETURN_NOT_OK(catalog_.PutValue(kArea, key, std::move(stored)));
  Remember(key, known);
  return response;
}

// What has expired makes room.
Status ProducerOffsets::CheckRoom(const std::string& key, size_t size_bytes) {
  if (size_bytes > kBytesMax) {
    return Error(ErrorCode::kUnknownServer,
                 "offsets of a producer are too many size_bytes=", size_bytes, " most=", kBytesMax);
  }
  const auto is_full = [&] {
    const auto before = known_.find(key);
    const bool is_new = before == known_.end();
    const size_t others = bytes_ - (is_new ? 0 : before->second.size_bytes);
    return (is_new && known_.size() >= kProducersMax) || others + size_bytes > kBytesInAllMax;
  };
  if (is_full()) RETURN_NOT_OK(Sweep());
  if (!is_full()) return Status::OK();
  return Error(
      ErrorCode::kUnknownServer, "too many producers have offsets here producers=", known_.size(),
      " most=", kProducersMax, " size_bytes=", bytes_ + size_bytes, " most_bytes=", kBytesInAllMax);
}

Status ProducerOffsets::Delete(const wire::DeleteProducerOffsetsRequest& request) {
  ASSIGN_OR_RAISE(const std::string key, KeyOf(request.producer_id()));
  if (!known_.contains(key)) return Status::OK();
  RETURN_NOT_OK(catalog_.DeleteValue(kArea, key));
  Forget(key);
  return Status::OK();
}

Result<bool> ProducerOffsets::Sweep() {
  meta::Catalog::ValueChanges expired;
  for (const auto& [key, known] : known_) {
    if (expired.size() == kSweptAtOnce) break;
    if (known.expires_ms <= clock_.NowMs()) expired[key] = std::nullopt;
  }
  RETURN_NOT_OK(catalog_.ChangeValues(kArea, expired));
  for (const auto& [key, gone] : expired) Forget(key);
  return expired.size() == kSweptAtOnce;
}

bool ProducerOffsets::IsLive(const std::string& key) const {
  const auto known = known_.find(key);
  return known != known_.end() && known->second.expires_ms > clock_.NowMs();
}

void ProducerOffsets::Remember(const std::string& key, Known known) {
  Forget(key);
  known_[key] = known;
  bytes_ += known.size_bytes;
}

void ProducerOffsets::Forget(const std::string& key) {
  const auto known = known_.find(key);
  if (known == known_.end()) return;
  bytes_ -= known->second.size_bytes;
  known_.erase(known);
}

}  // namespace sluice::coordinator
