#include "server/dispatcher.h"

#include <algorithm>

#include "base/text.h"
#include "wire/frame.h"
#include "wire/proto/handshake.pb.h"

namespace sluice::server {
namespace {

using wire::ApiKey;

// Calls by which servers command each other. A client that could send them could delete replicas.
constexpr ApiKey kBetweenServers[] = {
    ApiKey::kUpdateMetadata,
    ApiKey::kNotifyLeaderAndIsr,
    ApiKey::kStopReplica,
    ApiKey::kAdjustIsr,
    ApiKey::kCommitKvSnapshot,
    ApiKey::kCommitRemoteLogManifest,
    ApiKey::kNotifyRemoteLogOffsets,
    ApiKey::kNotifyKvSnapshotOffset,
    ApiKey::kNotifyLakeTableOffset,
    ApiKey::kControlledShutdown,
};

}  // namespace

io::Task<Result<io::Payload>> Dispatcher::Handle(io::Loop& loop,
                                                 std::shared_ptr<const io::Principal> principal,
                                                 io::Call call) {
  const wire::ApiInfo* api = wire::FindApi(call.api_key);
  if (api == nullptr)
    co_return Error(ErrorCode::kUnsupportedVersion, "unknown call api_key=", call.api_key);
  if (!api->OfferedBy(options_.role)) {
    co_return Error(ErrorCode::kUnsupportedVersion,
                    "this server does not answer the call api=", api->name);
  }
  if (call.api_version < api->min_version || call.api_version > api->max_version) {
    co_return Error(ErrorCode::kUnsupportedVersion, "version is not offered api=", api->name,
                    " version=", call.api_version, " max=", api->max_version);
  }
  if (!principal->internal &&
      std::ranges::find(kBetweenServers, api->key) != std::end(kBetweenServers)) {
    co_return Error(ErrorCode::kAuthorization,
                    "call is for servers, on the internal listener api=", api->name);
  }
  if (api->key == wire::ApiKey::kApiVersions) co_return ApiVersions(call);
  if (api->key == wire::ApiKey::kAuthenticate) co_return Authenticate(call);
  io::Service* const service =
      api->coordinator && api->tablet ? options_.metadata : options_.server;
  if (service == nullptr) {
    co_return Error(ErrorCode::kUnsupportedVersion,
                    "this server does not answer the call api=", api->name);
  }
  co_return co_await service->Handle(loop, std::move(principal), std::move(call));
}

Result<io::Payload> Dispatcher::ApiVersions(const io::Call& call) const {
  RETURN_NOT_OK(wire::ParseMessage<wire::ApiVersionsRequest>(call.body));
  wire::ApiVersionsResponse response;
  for (const wire::ApiInfo& api : wire::Apis()) {
    if (!api.OfferedBy(options_.role)) continue;
    auto* entry = response.add_api_versions();
    entry->set_api_key(static_cast<int32_t>(api.key));
    entry->set_min_version(api.min_version);
    entry->set_max_version(api.max_version);
  }
  response.set_server_type(static_cast<int32_t>(options_.role));
  return wire::SerializeReply(response);
}

// Of a listener without logins: agreeing on PLAINTEXT succeeds with an empty answer.
Result<io::Payload> Dispatcher::Authenticate(const io::Call& call) {
  ASSIGN_OR_RAISE(const auto request, wire::ParseMessage<wire::AuthenticateRequest>(call.body));
  if (!SameUpToCase(request.protocol(), "PLAINTEXT")) {
    return Error(ErrorCode::kAuthenticate,
                 "listener speaks another protocol asked=", request.protocol(),
                 " spoken=PLAINTEXT");
  }
  return wire::SerializeReply(wire::AuthenticateResponse());
}

}  // namespace sluice::server
