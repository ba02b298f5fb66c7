#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/net.h"
#include "io/transport.h"
#include "server/byte_budget.h"
#include "server/frame_reader.h"
#include "server/login.h"
#include "shard/gate.h"

namespace sluice::server {

class RequestStats;

/// What all connections of a listener share. Immutable but for its counters; outlives the
/// connections.
struct ConnectionSettings {
  io::Service* service = nullptr;
  ByteBudget* budget = nullptr;
  RequestStats* stats = nullptr;  ///< Null = calls are not counted by API.
  std::string listener;
  bool internal = false;
  std::shared_ptr<const PlainUsers>
      users;  ///< Who may log in by SASL; null = no login (PLAINTEXT).
  /// netty.server.max-request-size; without rows no request is larger than kPlainRequestBytesMax.
  uint64_t request_bytes_max = 100 << 20;
  size_t requests_max = 500;             ///< netty.server.max-queued-requests, per connection here
  uint64_t unsent_bytes_max = 16 << 20;  ///< Answers in memory; above, no further request is read.
  std::chrono::milliseconds idle_max{10 * 60 * 1000};  ///< netty.connection.max-idle-time
  /// What came of a body holds the budget, so its sender may fall no further behind kBodyPace.
  std::chrono::milliseconds body_behind_max{30'000};
  /// Answers are written together; who takes them more slowly than kAnswerPace may fall this far
  /// behind.
  std::chrono::milliseconds answers_behind_max{120'000};
  std::chrono::milliseconds login_max{30'000};  ///< Who is not in by then is out.
  size_t connections_max = 4096;  ///< server.connections-max, of one listener; more are closed.
};

struct ConnectionCounters {
  std::atomic<int64_t> open{0};
  std::atomic<int64_t> accepted{0};
  std::atomic<int64_t> turned_away{0};  ///< Past connections_max.
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> received_bytes{0};
  std::atomic<int64_t> sent_bytes{0};
  std::atomic<int64_t> failed_logins{0};
  std::atomic<int64_t> refused_frames{0};     ///< Malformed, oversize or too slow.
  std::atomic<int64_t> answers_not_taken{0};  ///< Connections closed since nobody read them.
  LoginWarnings login_warnings;
};

/// The server's end of one client connection: reads frames, starts their calls in order of arrival,
/// writes answers whole as they come.
///
/// A frame that cannot be read ends the connection, after an error reply when its request id is
/// known; so does a login that failed. Where the listener has users, only API_VERSIONS and
/// AUTHENTICATE are answered before the login. Threads: confined to the connection's loop.
class ServedConnection : public std::enable_shared_from_this<ServedConnection> {
 public:
  static constexpr uint64_t kBodyPace = 1 << 20;      ///< Bytes per second.
  static constexpr uint64_t kAnswerPace = 256 << 10;  ///< The same.

  ServedConnection(std::shared_ptr<const ConnectionSettings> settings,
                   std::shared_ptr<ConnectionCounters> counters, io::Loop& loop,
                   std::unique_ptr<io::Connection> connection, shard::Gate::Pass pass);

  /// Serve until the connection ends; returns once its last answer is done.
  static io::Task<void> Serve(std::shared_ptr<ServedConnection> self);
  /// End it now; Serve returns soon.
  void Close();

 private:
  io::Task<bool> ReadFrame();
  Status CheckFrame(const wire::RequestHeader& header, uint64_t size_bytes) const;
  io::Task<bool> ReadBody(std::string* body, size_t size_bytes, ByteBudget::Grant* grant,
                          std::chrono::nanoseconds* queued);
  io::Task<bool> WaitToGrow(ByteBudget::Grant* grant, uint64_t size_bytes, uint64_t missing_bytes);
  void LookForEnd(uint64_t missing_bytes);
  io::Loop::TimerId CloseAt(std::chrono::nanoseconds due, std::atomic<int64_t>* counter);
  io::Task<bool> LogIn(wire::RequestHeader header, std::string body);
  void NoteFailedLogin();
  io::Task<void> Refuse(int32_t request_id, Status error);
  io::Task<void> WaitForRoom();
  // A call as it came.
  struct Arrived {
    int32_t request_id;
    uint64_t size_bytes;
    std::chrono::nanoseconds queued;
  };
  static io::Task<void> Answer(std::shared_ptr<ServedConnection> self, Arrived arrived,
                               io::Call call, ByteBudget::Grant grant);
  void Send(io::Payload frame);
  static io::Task<void> WriteAnswers(std::shared_ptr<ServedConnection> self);
  void LearnClient(const io::Call& call);
  void ArmIdleTimer(std::chrono::milliseconds delay);
  void ArmLoginTimer();
  void MaybeMakeRoom();

  const std::shared_ptr<const ConnectionSettings> settings_;
  const std::shared_ptr<ConnectionCounters> counters_;
  io::Loop& loop_;
  const std::unique_ptr<io::Connection> connection_;
  FrameReader reader_;
  const shard::Gate::Pass pass_;
  Login login_;
  std::shared_ptr<const io::Principal> principal_;

  size_t running_ = 0;  // Calls started and not yet answered.
  io::Payload unsent_;
  uint64_t unsent_bytes_ = 0;  // Also counts what is being written.
  bool writing_ = false;
  bool closed_ = false;
  std::optional<io::Completion<bool>>
      room_;  // The reader waits for fewer requests or unsent bytes.
  std::optional<io::Completion<bool>> drained_;  // Serve waits for the last answer.
  ByteBudget::Grant* growing_ = nullptr;         // The reader waits for bytes of the budget.
  io::Loop::TimerId look_timer_ = 0;
  std::chrono::nanoseconds last_traffic_{0};
  io::Loop::TimerId idle_timer_ = 0;
  io::Loop::TimerId login_timer_ = 0;
};

}  // namespace sluice::server
