#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/payload.h"
#include "io/task.h"

namespace sluice::io {

/// What the handler of a call tells of it while it runs, on the call's loop.
struct CallNotes {
  int64_t table_id = -1;  ///< -1 = of no table, or not known.
  std::optional<int64_t> partition_id;
  int32_t bucket = -1;  ///< The first of them.
  size_t buckets = 0;
  std::chrono::nanoseconds waited{0};  ///< Because the caller asked for it.
};

/// One request of the protocol: its key, its version, its body (a protobuf message).
struct Call {
  int16_t api_key = 0;
  int16_t api_version = 0;
  std::string body;
  CallNotes* notes = nullptr;  ///< Null = nobody asks. Lives until the call is answered.
};

/// Who sent a call.
struct Principal {
  std::string name = "ANONYMOUS";
  std::string type = "User";
  std::string listener;     ///< Name of the listener, empty in the process itself.
  std::string peer;         ///< Address of the other end, empty in the process itself.
  bool internal = false;    ///< Came by the internal listener or from the process itself.
  std::string client_name;  ///< Software name of the handshake.
};

/// What answers calls: a tablet server or a coordinator, as handlers see it.
///
/// Handle is called on any loop, which must also be where it is awaited; calls of one connection
/// are started in their order of arrival and may end in any. A failed Result becomes the error
/// reply of the whole request.
class Service {
 public:
  virtual ~Service() = default;
  virtual Task<Result<Payload>> Handle(Loop& loop, std::shared_ptr<const Principal> principal,
                                       Call call) = 0;
};

/// The way to one server for calls: a socket, or the server of the same process.
///
/// Threads: any loop may call, and is where the awaiting coroutine goes on.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Body of the response. Errors: the server's error reply as a coded Status; kNetwork when the
  /// way broke.
  virtual Task<Result<std::string>> Send(Loop& loop, Call call) = 0;
  /// Fail what is under way.
  virtual void Close() = 0;
};

}  // namespace sluice::io
