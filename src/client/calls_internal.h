#pragma once
#include <string>

#include "client/cluster.h"
#include "wire/frame.h"
#include "wire/proto/common.pb.h"

// Private to the module: typed calls over Cluster.
namespace sluice::client {

enum class Where { kCoordinator, kAnyTablet };

inline void SetPath(wire::PbTablePath* out, const types::TablePath& path) {
  out->set_database_name(path.database);
  out->set_table_name(path.table);
}

/// Send a request once and parse the reply.
template <typename Reply, typename Request>
io::Task<Result<Reply>> AskOnce(ClusterPtr cluster, io::Loop& loop, Where where, wire::ApiKey key,
                                Request request) {
  std::string body = wire::Serialize(request);
  Result<std::string> reply = std::string();
  if (where == Where::kCoordinator) {
    reply = co_await cluster->CallCoordinator(loop, key, std::move(body));
  } else {
    reply = co_await cluster->CallAnyTablet(loop, key, std::move(body));
  }
  if (!reply.ok()) co_return reply.status();
  co_return wire::ParseMessage<Reply>(*reply);
}

/// The same with retries, for calls that may be repeated.
template <typename Reply, typename Request>
io::Task<Result<Reply>> Ask(ClusterPtr cluster, io::Loop& loop, Where where, wire::ApiKey key,
                            Request request) {
  for (int retry = 0;; ++retry) {
    Result<Reply> reply = co_await AskOnce<Reply, Request>(cluster, loop, where, key, request);
    if (reply.ok() || !IsRetriable(reply.status()) || retry + 1 >= cluster->options().attempts)
      co_return reply;
    co_await io::Sleep(loop, cluster->BackoffOf(retry));
  }
}

}  // namespace sluice::client
