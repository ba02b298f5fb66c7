#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "gateway/http_guard.h"
#include "gateway/http_head.h"
#include "gateway/http_server.h"
#include "io/net.h"
#include "io/pool.h"

namespace sluice::gateway {

/// What all connections of a server share. Outlives them.
struct HttpShared {
  HttpServer::Options options;
  HttpGuard guard;
  io::Pool* pool = nullptr;  ///< Where handlers and streams run.
  /// The handler's answer. Runs on the pool.
  std::function<HttpResponse(const HttpHead& head, const HttpRequest& request)> answer;
  std::atomic<uint64_t> body_bytes{0};  ///< Of requests under way.
  std::atomic<bool> stopping{false};
};

/// One client: reads requests, has them answered one after another, writes the answers.
///
/// Input is read all the time, so that a client that goes away is noticed while its request runs.
/// Threads: confined to the connection's loop; handlers and streams run, and are destroyed, on the
/// pool.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpShared& shared, io::Loop& loop, std::unique_ptr<io::Connection> connection)
      : shared_(shared), loop_(loop), connection_(std::move(connection)) {}

  /// Serve until the connection ends and its handler is done.
  static io::Task<void> Serve(std::shared_ptr<HttpConnection> self);
  /// Give up what runs and end it.
  void Close();

 private:
  using Self = std::shared_ptr<HttpConnection>;
  static io::Task<void> Pump(Self self);
  static io::Task<void> ServeRequests(Self self);
  static io::Task<bool> ServeOne(Self self);
  static io::Task<bool> AnswerOne(Self self, std::shared_ptr<HttpReader> reader,
                                  std::chrono::nanoseconds until);
  static io::Task<bool> Fill(Self self, std::chrono::nanoseconds until);
  static io::Task<bool> ReadTo(Self self, std::shared_ptr<HttpReader> reader, bool whole,
                               std::chrono::nanoseconds until);
  static io::Task<bool> Write(Self self, std::string bytes);
  static io::Task<bool> Refuse(Self self, int status, std::string message);
  static io::Task<bool> WriteAnswer(Self self, bool with_body, bool keep_alive,
                                    std::shared_ptr<HttpResponse> answer);
  static io::Task<bool> WriteStream(Self self, std::shared_ptr<HttpResponse> answer);
  static io::Task<void> Drop(Self self, std::shared_ptr<HttpResponse> answer);
  void Wake();
  void Ended();

  HttpShared& shared_;
  io::Loop& loop_;
  const std::unique_ptr<io::Connection> connection_;
  std::string input_;           // What came and no request took yet.
  size_t input_bytes_max_ = 0;  // Above, nothing is read.
  bool ended_ = false;          // Nothing more comes: the client has gone, or we have closed.
  bool pumping_ = true;
  std::optional<io::Completion<bool>> arrived_;  // Waits for input.
  std::optional<io::Completion<bool>> room_;     // The pump waits for room.
  std::optional<io::Completion<bool>> pumped_;   // Waits for the pump's end.
  std::function<void()> give_up_;                // Of the stream that runs.
};

}  // namespace sluice::gateway
