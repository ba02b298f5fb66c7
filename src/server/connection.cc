#include "server/connection.h"

#include "base/bytes.h"
#include "base/log.h"
#include "server/request_stats.h"
#include "wire/api.h"
#include "wire/frame.h"
#include "wire/proto/handshake.pb.h"

namespace sluice::server {
namespace {

constexpr size_t kHeadBytes = wire::kFrameLengthBytes + wire::kRequestHeaderBytes;
// After a refused frame its sender may still be writing. Reading on for a while lets it see the
// error reply, which a close with unread bytes would destroy on its side.
constexpr std::chrono::milliseconds kLinger{1000};
constexpr size_t kLingerChunkBytes = 64 << 10;
// A body is read in pieces: the first, then the others.
constexpr size_t kFirstPieceBytes = 64 << 10;
constexpr size_t kPieceBytes = 1 << 20;
// The memory of a body grows so many times over, which spares copies; what was not read into is
// not touched.
constexpr size_t kBodyGrowth = 16;
constexpr size_t kBodyPlaceBytes = 4 << 20;
// Who waits for bytes of the budget does not read, so the end of the stream is looked for.
constexpr std::chrono::milliseconds kLookForEnd{1000};
static_assert(ByteBudget::kSmallBytes <= FrameReader::kBufferBytes);

// Where the piece ends that begins at `done`: a short one first, for those who send nothing more.
size_t EndOfPiece(size_t done, size_t size_bytes) {
  return std::min(size_bytes, done + (done == 0 ? kFirstPieceBytes : kPieceBytes));
}

// Most bodies have their place from the start; pages that nothing was written to cost nothing.
void Extend(std::string* body, size_t end, size_t size_bytes) {
  if (end > body->capacity())
    body->reserve(std::min(size_bytes, std::max(kBodyPlaceBytes, end * kBodyGrowth)));
  body->resize(end);
}

}  // namespace

ServedConnection::ServedConnection(std::shared_ptr<const ConnectionSettings> settings,
                                   std::shared_ptr<ConnectionCounters> counters, io::Loop& loop,
                                   std::unique_ptr<io::Connection> connection,
                                   shard::Gate::Pass pass)
    : settings_(std::move(settings)),
      counters_(std::move(counters)),
      loop_(loop),
      connection_(std::move(connection)),
      reader_(*connection_),
      pass_(std::move(pass)),
      login_(settings_->users) {
  auto principal = std::make_shared<io::Principal>();
  principal->listener = settings_->listener;
  principal->internal = settings_->internal;
  principal->peer = connection_->peer();
  principal_ = std::move(principal);
}

io::Task<void> ServedConnection::Serve(std::shared_ptr<ServedConnection> self) {
  self->counters_->open.fetch_add(1, std::memory_order_relaxed);
  self->counters_->accepted.fetch_add(1, std::memory_order_relaxed);
  self->last_traffic_ = self->loop_.clock().Monotonic();
  self->ArmIdleTimer(self->settings_->idle_max);
  if (!self->login_.done()) self->ArmLoginTimer();
  bool goes_on = true;
  while (goes_on) goes_on = co_await self->ReadFrame();
  if (self->running_ > 0 || self->writing_) {
    io::Completion<bool> drained(self->loop_);
    self->drained_ = drained;
    co_await drained;
  }
  self->Close();
  self->loop_.Cancel(self->idle_timer_);
  self->loop_.Cancel(self->login_timer_);
  self->counters_->open.fetch_sub(1, std::memory_order_relaxed);
}

void ServedConnection::Close() {
  closed_ = true;
  connection_->Close();
  if (growing_ != nullptr) growing_->Cancel();
  MaybeMakeRoom();
}

// Reads one frame and starts its call; false when the connection is at its end.
io::Task<bool> ServedConnection::ReadFrame() {
  co_await WaitForRoom();
  const Status length_read = co_await reader_.Fill(wire::kFrameLengthBytes);
  if (!length_read.ok()) co_return false;  // The client went away, or Close: no error.
  const auto size_bytes = LoadBe<int32_t>(reader_.peek().data());
  if (size_bytes < static_cast<int32_t>(wire::kRequestHeaderBytes)) {
    counters_->refused_frames.fetch_add(1, std::memory_order_relaxed);
    co_return false;  // Too short to hold an id that an error reply could name.
  }
  const Status head_read = co_await reader_.Fill(kHeadBytes);
  if (!head_read.ok()) co_return false;
  const Result<wire::RequestHeader> parsed = wire::ParseRequestHeader(
      reader_.peek().substr(wire::kFrameLengthBytes, wire::kRequestHeaderBytes));
  CHECK(parsed.ok());  // It has its size.
  const wire::RequestHeader header = *parsed;
  reader_.Skip(kHeadBytes);
  const Status fits = CheckFrame(header, static_cast<uint64_t>(size_bytes));
  if (!fits.ok()) {
    counters_->refused_frames.fetch_add(1, std::memory_order_relaxed);
    co_await Refuse(header.request_id, fits);
    co_return false;
  }
  ByteBudget::Grant grant =
      settings_->budget->Open(connection_->peer(), static_cast<uint64_t>(size_bytes));
  io::Call call{header.api_key, header.api_version, {}};
  const size_t body_bytes = static_cast<size_t>(size_bytes) - wire::kRequestHeaderBytes;
  Arrived arrived{header.request_id, static_cast<uint64_t>(size_bytes), {}};
  const bool body_read = co_await ReadBody(&call.body, body_bytes, &grant, &arrived.queued);
  if (!body_read || closed_) co_return false;
  last_traffic_ = loop_.clock().Monotonic();
  counters_->requests.fetch_add(1, std::memory_order_relaxed);
  counters_->received_bytes.fetch_add(size_bytes, std::memory_order_relaxed);
  if (!login_.Allows(call.api_key)) {
    const Status error =
        Error(ErrorCode::kAuthenticate, "log in first listener=", settings_->listener);
    Send(io::Payload(wire::EncodeErrorResponse(header.request_id, error)));
    co_return true;
  }
  if (login_.takes_part() && call.api_key == static_cast<int16_t>(wire::ApiKey::kAuthenticate)) {
    const bool goes_on = co_await LogIn(header, std::move(call.body));
    co_return goes_on;
  }
  LearnClient(call);
  ++running_;
  io::Spawn(Answer(shared_from_this(), arrived, std::move(call), std::move(grant)));
  co_return true;
}

// Errors: the frame is too large, for a caller who has not logged in sooner than for others.
Status ServedConnection::CheckFrame(const wire::RequestHeader& header, uint64_t size_bytes) const {
  uint64_t max_bytes = settings_->request_bytes_max;
  if (!login_.done()) max_bytes = std::min(max_bytes, Login::kRequestBytesMax);
  if (!settings_->internal && !wire::BringsRows(header.api_key))
    max_bytes = std::min(max_bytes, wire::kPlainRequestBytesMax);
  if (size_bytes <= max_bytes) return Status::OK();
  if (!login_.Allows(header.api_key)) {
    return Error(ErrorCode::kAuthenticate, "log in first listener=", settings_->listener);
  }
  return Error(ErrorCode::kRecordTooLarge, "request is too large size_bytes=", size_bytes,
               " max=", max_bytes);
}

// Answers an AUTHENTICATE before the next frame is read, so that what follows it is judged by its
// outcome; false when the connection is at its end.
io::Task<bool> ServedConnection::LogIn(wire::RequestHeader header, std::string body) {
  const bool was_in = login_.done();
  Result<io::Payload> answer = login_.Answer(header, body);
  if (!answer.ok()) {
    if (was_in) {
      Send(io::Payload(wire::EncodeErrorResponse(header.request_id, answer.status())));
      co_return true;
    }
    NoteFailedLogin();
    co_await Refuse(header.request_id, answer.status());
    co_return false;
  }
  auto principal = std::make_shared<io::Principal>(*principal_);
  principal->name = login_.user();
  principal_ = std::move(principal);
  Send(wire::EncodeResponse(header.request_id, std::move(answer).ValueUnsafe()));
  co_return true;
}

// Nothing of what was sent is written down: a password may stand where the name belongs.
void ServedConnection::NoteFailedLogin() {
  counters_->failed_logins.fetch_add(1, std::memory_order_relaxed);
  const uint64_t count = counters_->login_warnings.Take(loop_.clock().Monotonic());
  if (count == 1) {
    LogWarn("login refused listener={} peer={}", settings_->listener, connection_->peer());
  } else if (count > 1) {
    LogWarn("login refused listener={} peer={} since_last_line={}", settings_->listener,
            connection_->peer(), count);
  }
}

// Fills *body, while *grant grows with it; false when it did not come, or too slowly. Nothing is
// held for what has not begun to come: the first piece waits in the reader's buffer.
io::Task<bool> ServedConnection::ReadBody(std::string* body, size_t size_bytes,
                                          ByteBudget::Grant* grant,
                                          std::chrono::nanoseconds* queued) {
  std::chrono::nanoseconds due = loop_.clock().Monotonic() + settings_->body_behind_max;
  const size_t first_bytes = std::min(size_bytes, FrameReader::kBufferBytes);
  const io::Loop::TimerId first_end = first_bytes > reader_.peek().size()
                                          ? CloseAt(due, &counters_->refused_frames)
                                          : io::Loop::TimerId{0};
  const Status begun = co_await reader_.Fill(first_bytes);
  loop_.Cancel(first_end);
  if (!begun.ok()) co_return false;
  for (size_t done = 0;;) {
    const size_t end = EndOfPiece(done, size_bytes);
    if (!grant->TryGrowTo(end + wire::kRequestHeaderBytes)) {
      const auto from = loop_.clock().Monotonic();
      const bool grown =
          co_await WaitToGrow(grant, end + wire::kRequestHeaderBytes, size_bytes - done);
      if (!grown || closed_) co_return false;
      const auto waited = loop_.clock().Monotonic() - from;
      due += waited;
      *queued += waited;
    }
    Extend(body, end, size_bytes);
    io::Loop::TimerId late = 0;
    const bool must_wait = end - done > reader_.peek().size();
    if (must_wait) late = CloseAt(due, &counters_->refused_frames);
    const Status read = co_await reader_.Take(body->data() + done, end - done);
    if (must_wait) loop_.Cancel(late);
    if (!read.ok()) co_return false;
    due += std::chrono::nanoseconds(std::chrono::seconds(1)) * (end - done) / kBodyPace;
    if (end == size_bytes) co_return true;
    done = end;
  }
}

// Waits in line for the budget; false when the connection is at its end sooner, also since what its
// client has sent, and left, is not the `missing_bytes` of the body.
io::Task<bool> ServedConnection::WaitToGrow(ByteBudget::Grant* grant, uint64_t size_bytes,
                                            uint64_t missing_bytes) {
  growing_ = grant;
  LookForEnd(missing_bytes - std::min<uint64_t>(missing_bytes, reader_.peek().size()));
  const bool grown = co_await grant->GrowTo(loop_, size_bytes);
  growing_ = nullptr;
  loop_.Cancel(look_timer_);
  co_return grown;
}

void ServedConnection::LookForEnd(uint64_t missing_bytes) {
  const std::weak_ptr<ServedConnection> weak = weak_from_this();
  look_timer_ = loop_.After(kLookForEnd, [weak, missing_bytes] {
    const auto self = weak.lock();
    if (self == nullptr || self->growing_ == nullptr) return;
    const auto unread = self->connection_->UnreadAtEnd();
    if (unread && *unread < missing_bytes) return self->Close();
    self->LookForEnd(missing_bytes);
  });
}

// A timer that counts the connection and ends it.
io::Loop::TimerId ServedConnection::CloseAt(std::chrono::nanoseconds due,
                                            std::atomic<int64_t>* counter) {
  const auto left = std::max(std::chrono::nanoseconds(0), due - loop_.clock().Monotonic());
  const std::weak_ptr<ServedConnection> weak = weak_from_this();
  return loop_.After(std::chrono::ceil<std::chrono::milliseconds>(left), [weak, counter] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    counter->fetch_add(1, std::memory_order_relaxed);
    self->Close();
  });
}

// Says why, lets the client read it, ends.
io::Task<void> ServedConnection::Refuse(int32_t request_id, Status error) {
  Send(io::Payload(wire::EncodeErrorResponse(request_id, error)));
  const auto self = shared_from_this();
  const io::Loop::TimerId end = loop_.After(kLinger, [self] { self->Close(); });
  std::string discarded(kLingerChunkBytes, '\0');
  while (true) {
    const Result<size_t> got = co_await connection_->Read(discarded.data(), discarded.size());
    if (!got.ok() || *got == 0) break;
  }
  loop_.Cancel(end);
}

io::Task<void> ServedConnection::WaitForRoom() {
  const uint64_t unsent_max = login_.done()
                                  ? settings_->unsent_bytes_max
                                  : std::min(settings_->unsent_bytes_max, Login::kUnsentBytesMax);
  while (!closed_ && (running_ >= settings_->requests_max || unsent_bytes_ > unsent_max)) {
    io::Completion<bool> room(loop_);
    room_ = room;
    co_await room;
  }
}

void ServedConnection::MaybeMakeRoom() {
  if (room_.has_value()) std::exchange(room_, std::nullopt)->Set(true);
  if (running_ == 0 && !writing_ && drained_.has_value())
    std::exchange(drained_, std::nullopt)->Set(true);
}

io::Task<void> ServedConnection::Answer(std::shared_ptr<ServedConnection> self, Arrived arrived,
                                        io::Call call, ByteBudget::Grant grant) {
  io::CallNotes notes;
  call.notes = &notes;
  const int16_t api_key = call.api_key;
  const auto principal = self->principal_;
  const auto started = self->loop_.clock().Monotonic();
  Result<io::Payload> body =
      co_await self->settings_->service->Handle(self->loop_, principal, std::move(call));
  --self->running_;
  grant = {};  // The request is gone; answers have a bound of their own.
  const bool failed = !body.ok();
  io::Payload frame =
      failed ? io::Payload(wire::EncodeErrorResponse(arrived.request_id, body.status()))
             : wire::EncodeResponse(arrived.request_id, std::move(body).ValueUnsafe());
  if (self->settings_->stats != nullptr) {
    const auto now = self->loop_.clock().Monotonic();
    self->settings_->stats->Count({.api_key = api_key,
                                   .listener = self->settings_->listener,
                                   .peer = principal->peer,
                                   .notes = notes,
                                   .queued = arrived.queued,
                                   .handled = now - started,
                                   .received_bytes = arrived.size_bytes,
                                   .sent_bytes = frame.size_bytes(),
                                   .failed = failed},
                                  now);
  }
  self->Send(std::move(frame));
}

void ServedConnection::Send(io::Payload frame) {
  if (!closed_) {
    unsent_bytes_ += frame.size_bytes();
    unsent_.Add(std::move(frame));
    if (!std::exchange(writing_, true)) io::Spawn(WriteAnswers(shared_from_this()));
  }
  MaybeMakeRoom();
}

// Writes what is unsent, together, until nothing is.
io::Task<void> ServedConnection::WriteAnswers(std::shared_ptr<ServedConnection> self) {
  while (self->unsent_.size_bytes() > 0 && !self->closed_) {
    io::Payload payload = std::exchange(self->unsent_, io::Payload());
    const uint64_t size_bytes = payload.size_bytes();
    const auto time_max =
        self->settings_->answers_behind_max + std::chrono::seconds(size_bytes / kAnswerPace);
    const io::Loop::TimerId end = self->CloseAt(self->loop_.clock().Monotonic() + time_max,
                                                &self->counters_->answers_not_taken);
    const Status written = co_await self->connection_->Write(std::move(payload));
    self->loop_.Cancel(end);
    self->unsent_bytes_ -= size_bytes;
    self->counters_->sent_bytes.fetch_add(static_cast<int64_t>(size_bytes),
                                          std::memory_order_relaxed);
    self->last_traffic_ = self->loop_.clock().Monotonic();
    if (!written.ok()) self->Close();  // The client went away: an everyday thing.
    self->MaybeMakeRoom();
  }
  self->writing_ = false;
  self->MaybeMakeRoom();
}

// The handshake names the client's software, which handlers may look at.
void ServedConnection::LearnClient(const io::Call& call) {
  if (call.api_key != static_cast<int16_t>(wire::ApiKey::kApiVersions)) return;
  const auto request = wire::ParseMessage<wire::ApiVersionsRequest>(call.body);
  if (!request.ok()) return;
  auto principal = std::make_shared<io::Principal>(*principal_);
  principal->client_name = request->client_software_name();
  principal_ = std::move(principal);
}

void ServedConnection::ArmLoginTimer() {
  const std::weak_ptr<ServedConnection> weak = weak_from_this();
  login_timer_ = loop_.After(settings_->login_max, [weak] {
    const auto self = weak.lock();
    if (self != nullptr && !self->login_.done()) self->Close();
  });
}

void ServedConnection::ArmIdleTimer(std::chrono::milliseconds delay) {
  const std::weak_ptr<ServedConnection> weak = weak_from_this();
  idle_timer_ = loop_.After(delay, [weak] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(
        self->loop_.clock().Monotonic() - self->last_traffic_);
    if (idle >= self->settings_->idle_max) return self->Close();
    self->ArmIdleTimer(self->settings_->idle_max - idle);
  });
}

}  // namespace sluice::server
