#include "client/socket_transport.h"

#include <deque>
#include <map>

#include "base/bytes.h"
#include "wire/frame.h"

namespace sluice::client {
namespace {

constexpr uint32_t kReplyBytesMax = 1u << 30;
constexpr size_t kFramesPerWriteMax = 64;

}  // namespace

// All but `closed` belongs to the loop.
struct SocketTransport::State : std::enable_shared_from_this<State> {
  State(io::Loop& l, std::unique_ptr<io::Connection> c, std::chrono::milliseconds t)
      : loop(l), connection(std::move(c)), timeout(t) {}

  struct Waiting {
    io::Completion<Result<std::string>> done;
    io::Loop::TimerId timer;
  };
  io::Loop& loop;
  std::unique_ptr<io::Connection> connection;
  std::chrono::milliseconds timeout;
  std::map<int32_t, Waiting> waiting;
  std::deque<std::string> outgoing;
  int32_t next_id = 0;
  bool writing = false;
  std::atomic<bool> closed{false};

  void Start(io::Call call, io::Completion<Result<std::string>> done) {
    if (closed) {
      done.Set(Error(ErrorCode::kNetwork, "connection is closed peer=", connection->peer()));
      return;
    }
    const int32_t id = next_id;
    next_id = (next_id + 1) & INT32_MAX;
    const auto timer = loop.After(timeout, [weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->TimeOut(id);
    });
    waiting.emplace(id, Waiting{done, timer});
    outgoing.push_back(wire::EncodeRequest({call.api_key, call.api_version, id}, call.body));
    if (!writing) io::Spawn(WriteRequests(shared_from_this()));
  }

  void Finish(int32_t id, Result<std::string> body) {
    const auto found = waiting.find(id);
    if (found == waiting.end()) return;  // Timed out before.
    const Waiting entry = found->second;
    waiting.erase(found);
    loop.Cancel(entry.timer);
    entry.done.Set(std::move(body));
  }

  void TimeOut(int32_t id) {
    const auto found = waiting.find(id);
    if (found == waiting.end()) return;
    const auto done = found->second.done;
    waiting.erase(found);
    done.Set(Error(ErrorCode::kRequestTimeOut, "no reply in time peer=", connection->peer(),
                   " timeout_ms=", timeout.count()));
  }

  void Fail(const Status& why) {
    closed = true;
    connection->Close();
    outgoing.clear();
    auto all = std::exchange(waiting, {});
    for (const auto& [id, entry] : all) {
      loop.Cancel(entry.timer);
      entry.done.Set(Error(ErrorCode::kNetwork, "connection broke peer=", connection->peer(), ": ",
                           why.message()));
    }
  }
};

SocketTransport::SocketTransport(io::Loop& loop, std::unique_ptr<io::Connection> connection,
                                 std::chrono::milliseconds timeout)
    : state_(std::make_shared<State>(loop, std::move(connection), timeout)) {
  CHECK(loop.IsCurrent());
  io::Spawn(ReadReplies(state_));
}

SocketTransport::~SocketTransport() { Close(); }

void SocketTransport::Close() {
  state_->closed = true;
  const auto close = [state = state_] { state->Fail(Status::Cancelled("closed by the client")); };
  if (state_->loop.IsCurrent()) {
    close();
  } else {
    state_->loop.Post(close);
  }
}

bool SocketTransport::closed() const { return state_->closed; }

io::Task<Result<std::string>> SocketTransport::Send(io::Loop& loop, io::Call call) {
  return SendOn(state_, loop, std::move(call));
}

io::Task<Result<std::string>> SocketTransport::SendOn(std::shared_ptr<State> state, io::Loop& loop,
                                                      io::Call call) {
  const io::Completion<Result<std::string>> done(loop);
  if (state->loop.IsCurrent()) {
    state->Start(std::move(call), done);
  } else {
    state->loop.Post(
        [state, done, call = std::move(call)]() mutable { state->Start(std::move(call), done); });
  }
  co_return co_await done;
}

io::Task<void> SocketTransport::WriteRequests(std::shared_ptr<State> state) {
  state->writing = true;
  while (!state->outgoing.empty() && !state->closed) {
    io::Payload payload;
    for (size_t i = 0; i < kFramesPerWriteMax && !state->outgoing.empty(); ++i) {
      payload.Add(std::move(state->outgoing.front()));
      state->outgoing.pop_front();
    }
    const Status written = co_await state->connection->Write(std::move(payload));
    if (!written.ok()) state->Fail(written);
  }
  state->writing = false;
}

io::Task<void> SocketTransport::ReadReplies(std::shared_ptr<State> state) {
  while (!state->closed) {
    char length_bytes[wire::kFrameLengthBytes];
    Status read = co_await state->connection->ReadExactly(length_bytes, sizeof(length_bytes));
    const uint32_t length = read.ok() ? LoadBe<uint32_t>(length_bytes) : 0;
    if (length > kReplyBytesMax)
      read = Error(ErrorCode::kCorruptMessage, "reply is too large size_bytes=", length);
    std::string frame;
    if (read.ok()) {
      frame.resize(length);
      read = co_await state->connection->ReadExactly(frame.data(), frame.size());
    }
    if (!read.ok()) {
      state->Fail(read);
      co_return;
    }
    auto response = wire::ParseResponse(frame);
    if (!response.ok()) {
      state->Fail(response.status());
      co_return;
    }
    state->Finish(response->request_id, std::move(response->body));
  }
}

}  // namespace sluice::client
