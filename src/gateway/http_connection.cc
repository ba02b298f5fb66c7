#include "base/log.h"
#include "gateway/http_connection_internal.h"

namespace sluice::gateway {
namespace {

constexpr size_t kReadBytes = 16 << 10;
constexpr std::chrono::milliseconds kBusyPause{10};

std::string Start(int status, const HttpResponse& answer, bool keep_alive) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + std::string(HttpReason(status)) +
                     "\r\nContent-Type: " + answer.content_type + "\r\n";
  for (const auto& [name, value] : answer.headers) text += name + ": " + value + "\r\n";
  if (!keep_alive) text += "Connection: close\r\n";
  return text;
}

std::string Chunk(const std::string& piece) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string size;
  for (size_t left = piece.size(); left > 0; left >>= 4) size.insert(0, 1, kDigits[left & 15]);
  return size + "\r\n" + piece + "\r\n";
}

/// Bytes of a body, counted with those of all connections.
class BodyGrant {
 public:
  BodyGrant(std::atomic<uint64_t>& total, uint64_t bytes)
      : total_(total), bytes_(bytes), total_bytes_(total.fetch_add(bytes) + bytes) {}
  BodyGrant(const BodyGrant&) = delete;
  BodyGrant& operator=(const BodyGrant&) = delete;
  ~BodyGrant() { total_ -= bytes_; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  std::atomic<uint64_t>& total_;
  uint64_t bytes_;
  uint64_t total_bytes_;
};

}  // namespace

io::Task<void> HttpConnection::Serve(Self self) {
  self->input_bytes_max_ = self->shared_.options.head_bytes_max;
  io::Spawn(Pump(self));
  co_await ServeRequests(self);
  self->connection_->Close();
  if (self->room_) std::exchange(self->room_, std::nullopt)->Set(true);
  if (!self->pumping_) co_return;
  const io::Completion<bool> pumped(self->loop_);
  self->pumped_ = pumped;
  co_await pumped;
}

void HttpConnection::Close() {
  connection_->Close();
  Ended();
}

void HttpConnection::Wake() {
  if (arrived_) std::exchange(arrived_, std::nullopt)->Set(true);
}

void HttpConnection::Ended() {
  ended_ = true;
  Wake();
  if (give_up_) std::exchange(give_up_, nullptr)();
}

io::Task<void> HttpConnection::Pump(Self self) {
  std::string chunk(kReadBytes, '\0');
  while (!self->ended_) {
    const Result<size_t> count = co_await self->connection_->Read(chunk.data(), chunk.size());
    if (!count.ok() || *count == 0) break;
    self->input_.append(chunk, 0, *count);
    self->Wake();
    while (!self->ended_ && self->input_.size() > self->input_bytes_max_) {
      const io::Completion<bool> room(self->loop_);
      self->room_ = room;
      co_await room;
    }
  }
  self->Ended();
  self->pumping_ = false;
  if (self->pumped_) self->pumped_->Set(true);
}

io::Task<void> HttpConnection::ServeRequests(Self self) {
  for (int i = 0; i < self->shared_.options.requests_per_connection_max; ++i) {
    if (!co_await ServeOne(self)) co_return;
  }
}

// Wait for more input; false when none comes before `until` or ever.
io::Task<bool> HttpConnection::Fill(Self self, std::chrono::nanoseconds until) {
  if (self->room_) std::exchange(self->room_, std::nullopt)->Set(true);
  if (self->ended_) co_return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - self->loop_.clock().Monotonic());
  if (left.count() <= 0) co_return false;
  const io::Completion<bool> arrived(self->loop_);
  self->arrived_ = arrived;
  const auto timer = self->loop_.After(left, [arrived] { arrived.Set(false); });
  const bool came = co_await arrived;
  self->loop_.Cancel(timer);
  self->arrived_.reset();
  co_return came;
}

// Read until the head, or else the whole request, is there; false when the connection is to end.
io::Task<bool> HttpConnection::ReadTo(Self self, std::shared_ptr<HttpReader> reader, bool whole,
                                      std::chrono::nanoseconds until) {
  while (true) {
    const auto refusal = reader->Feed(&self->input_);
    if (refusal) co_return co_await Refuse(self, refusal->status, refusal->message);
    if (whole ? reader->done() : reader->has_head()) co_return true;
    if (co_await Fill(self, until)) continue;
    if (self->ended_) co_return false;
    co_return co_await Refuse(self, 408, "the request did not come in time");
  }
}

// One request and its answer; false when the connection is to end.
io::Task<bool> HttpConnection::ServeOne(Self self) {
  const HttpServer::Options& options = self->shared_.options;
  if (self->input_.empty()) {
    const auto idle_until = self->loop_.clock().Monotonic() + options.idle_max;
    if (!co_await Fill(self, idle_until)) co_return false;
  }
  const auto until = self->loop_.clock().Monotonic() + options.request_max;
  auto reader = std::make_shared<HttpReader>(options.head_bytes_max, options.body_bytes_max);
  if (!co_await ReadTo(self, reader, false, until)) co_return false;
  if (const auto refusal = self->shared_.guard.Check(reader->head())) {
    co_return co_await Refuse(self, refusal->status, refusal->message);
  }
  co_return co_await AnswerOne(self, reader, until);
}

// The request whose head was read; false when the connection is to end.
io::Task<bool> HttpConnection::AnswerOne(Self self, std::shared_ptr<HttpReader> reader,
                                         std::chrono::nanoseconds until) {
  const HttpHead& head = reader->head();
  const BodyGrant grant(self->shared_.body_bytes, head.body_bytes);
  if (grant.total_bytes() > self->shared_.options.bodies_bytes_max) {
    co_return co_await Refuse(self, 429, "too many bytes of requests are under way");
  }
  if (head.expects_go) {
    std::string go = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!co_await Write(self, std::move(go))) co_return false;
  }
  if (!co_await ReadTo(self, reader, true, until)) co_return false;
  auto request = std::make_shared<HttpRequest>();
  request->path = head.path;
  request->query = head.query;
  request->body = reader->TakeBody();

  auto work = [shared = &self->shared_, reader, request] {
    return Result<std::shared_ptr<HttpResponse>>(
        std::make_shared<HttpResponse>(shared->answer(reader->head(), *request)));
  };
  Result<std::shared_ptr<HttpResponse>> answer =
      co_await self->shared_.pool->Run(self->loop_, std::move(work));
  if (!answer.ok()) co_return co_await Refuse(self, 429, "too many requests wait");
  const bool sent = co_await WriteAnswer(self, head.method != "HEAD", head.keep_alive, *answer);
  co_await Drop(self, std::move(*answer));
  co_return sent&& head.keep_alive && !self->ended_ && !self->shared_.stopping;
}

// Bounded by a timer, after which the connection is cut.
io::Task<bool> HttpConnection::Write(Self self, std::string bytes) {
  const auto timer =
      self->loop_.After(self->shared_.options.write_max, [weak = std::weak_ptr(self)] {
        if (const auto alive = weak.lock()) alive->Close();
      });
  io::Payload payload(std::move(bytes));
  const Status written = co_await self->connection_->Write(std::move(payload));
  self->loop_.Cancel(timer);
  co_return written.ok();
}

// An answer after which the connection ends; always false.
io::Task<bool> HttpConnection::Refuse(Self self, int status, std::string message) {
  auto answer = std::make_shared<HttpResponse>(
      ErrorResponse(Error(ErrorCode::kInvalidConfig, std::move(message))));
  answer->status = status;
  co_await WriteAnswer(self, true, false, answer);
  // What the client still sends is read and dropped for a moment, else it may never see the answer.
  self->input_.clear();
  const auto until = self->loop_.clock().Monotonic() + self->shared_.options.linger;
  while (co_await Fill(self, until)) self->input_.clear();
  co_return false;
}

io::Task<bool> HttpConnection::WriteAnswer(Self self, bool with_body, bool keep_alive,
                                           std::shared_ptr<HttpResponse> answer) {
  std::string start = Start(answer->status, *answer, keep_alive);
  if (!answer->stream) {
    start += "Content-Length: " + std::to_string(answer->body.size()) + "\r\n\r\n";
    if (with_body) start += answer->body;
    co_return co_await Write(self, std::move(start));
  }
  start += "Transfer-Encoding: chunked\r\n\r\n";
  if (!co_await Write(self, std::move(start))) co_return false;
  if (!with_body) co_return true;
  co_return co_await WriteStream(self, std::move(answer));
}

io::Task<bool> HttpConnection::WriteStream(Self self, std::shared_ptr<HttpResponse> answer) {
  self->give_up_ = answer->give_up;
  if (self->ended_) self->Ended();  // It went before the stream began.
  while (!self->ended_) {
    auto work = [answer]() -> Result<std::string> {
      std::string piece;
      answer->stream(&piece);
      return piece;
    };
    Result<std::string> piece = co_await self->shared_.pool->Run(self->loop_, std::move(work));
    if (!piece.ok()) {  // The pool is full for now; the statement has its place already.
      co_await io::Sleep(self->loop_, kBusyPause);
      continue;
    }
    if (piece->empty()) {
      self->give_up_ = nullptr;
      std::string last = "0\r\n\r\n";
      co_return co_await Write(self, std::move(last));
    }
    std::string chunk = Chunk(*piece);
    if (!co_await Write(self, std::move(chunk))) break;
  }
  self->Ended();
  co_return false;
}

// A stream may wait while it is destroyed, which a loop must not.
io::Task<void> HttpConnection::Drop(Self self, std::shared_ptr<HttpResponse> answer) {
  if (!answer->stream) co_return;
  auto holder = std::make_shared<std::shared_ptr<HttpResponse>>(std::move(answer));
  while (true) {
    auto work = [holder] {
      holder->reset();
      return Status::OK();
    };
    const Status done = co_await self->shared_.pool->Run(self->loop_, std::move(work));
    if (done.ok()) co_return;
    co_await io::Sleep(self->loop_, kBusyPause);
  }
}

}  // namespace sluice::gateway
