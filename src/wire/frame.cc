#include "wire/frame.h"

#include <arrow/util/utf8.h>

#include "base/bytes.h"
#include "wire/proto/handshake.pb.h"

namespace sluice::wire {
namespace {

enum Kind : char { kSuccess = 0, kError = 1, kServerFailure = 2 };

// Text of an error is for people; a stack of causes must not fill a frame.
constexpr size_t kMessageBytesMax = 2048;

std::string ResponseHead(Kind kind, int32_t request_id, uint64_t body_bytes) {
  std::string head;
  AppendBe(&head, static_cast<uint32_t>(kResponseHeaderBytes + body_bytes));
  head.push_back(kind);
  AppendBe(&head, request_id);
  return head;
}

// The Rust client gives up on text that is not UTF-8, and a message may name what a client sent.
std::string Utf8Text(std::string text) {
  if (text.size() > kMessageBytesMax) {
    size_t end = kMessageBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80)
      --end;  // Do not cut a character.
    text.resize(end);
  }
  arrow::util::InitializeUTF8();  // Arrow's tables, made once.
  if (!arrow::util::ValidateUTF8(text)) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) >= 0x80; }, '?');
  }
  return text;
}

Status ParseErrorBody(std::string_view body) {
  ASSIGN_OR_RAISE(const auto error, ParseMessage<ErrorResponse>(body));
  Status status = FromProtocolError(error.error_code(), error.error_message());
  // An error frame is an error whatever its code says.
  return status.ok() ? FromProtocolError(-1, error.error_message()) : status;
}

}  // namespace

std::string EncodeRequest(RequestHeader header, std::string_view body) {
  std::string frame;
  frame.reserve(kFrameLengthBytes + kRequestHeaderBytes + body.size());
  AppendBe(&frame, static_cast<uint32_t>(kRequestHeaderBytes + body.size()));
  AppendBe(&frame, header.api_key);
  AppendBe(&frame, header.api_version);
  AppendBe(&frame, header.request_id);
  frame += body;
  return frame;
}

Result<RequestHeader> ParseRequestHeader(std::string_view frame_after_length) {
  if (frame_after_length.size() < kRequestHeaderBytes) {
    return Error(ErrorCode::kCorruptMessage,
                 "request frame ends inside its header size_bytes=", frame_after_length.size());
  }
  const char* at = frame_after_length.data();
  return RequestHeader{LoadBe<int16_t>(at), LoadBe<int16_t>(at + 2), LoadBe<int32_t>(at + 4)};
}

io::Payload EncodeResponse(int32_t request_id, io::Payload body) {
  const uint64_t body_bytes = body.size_bytes();
  if (body_bytes > INT32_MAX - kResponseHeaderBytes)
    return io::Payload(EncodeErrorResponse(request_id, internal::ReplyTooLarge(body_bytes)));
  body.Prepend(ResponseHead(kSuccess, request_id, body_bytes));
  return body;
}

std::string EncodeErrorResponse(int32_t request_id, const Status& error) {
  ErrorResponse body;
  SetError(&body, error);
  if (error.ok()) body.set_error_code(static_cast<int32_t>(ErrorCode::kUnknownServer));
  const std::string bytes = Serialize(body);
  return ResponseHead(kError, request_id, bytes.size()) + bytes;
}

Result<Response> ParseResponse(std::string_view frame_after_length) {
  if (frame_after_length.empty()) {
    return Error(ErrorCode::kCorruptMessage, "response frame is empty");
  }
  const char kind = frame_after_length[0];
  if (kind == kServerFailure) return ParseErrorBody(frame_after_length.substr(1));
  if (kind != kSuccess && kind != kError) {
    return Error(ErrorCode::kCorruptMessage,
                 "response frame of unknown kind=", static_cast<int>(kind));
  }
  if (frame_after_length.size() < kResponseHeaderBytes) {
    return Error(ErrorCode::kCorruptMessage,
                 "response frame ends inside its header size_bytes=", frame_after_length.size());
  }
  const int32_t request_id = LoadBe<int32_t>(frame_after_length.data() + 1);
  const std::string_view body = frame_after_length.substr(kResponseHeaderBytes);
  if (kind == kError) return Response{request_id, ParseErrorBody(body)};
  return Response{request_id, std::string(body)};
}

ProtocolError ToProtocolError(const Status& status, bool knows_backpressure) {
  ErrorCode code = CodeOf(status);
  // Code 63 is the last one of 0.9.1; its clients take anything above as final.
  if (code == ErrorCode::kDiskWriteLocked || code == ErrorCode::kHistoricalPartitionThrottled) {
    code = ErrorCode::kStorage;
  } else if (code == ErrorCode::kStorageBackpressure && !knows_backpressure) {
    code = ErrorCode::kKvStorage;
  }
  return {static_cast<int32_t>(code), Utf8Text(status.message())};
}

Status FromProtocolError(int32_t code, std::string_view message) {
  if (code == 0) return Status::OK();
  constexpr int32_t kLast = static_cast<int32_t>(ErrorCode::kHistoricalPartitionThrottled);
  const auto known =
      code > 0 && code <= kLast ? static_cast<ErrorCode>(code) : ErrorCode::kUnknownServer;
  return MakeError(known, message.empty() ? std::string(NameOf(known)) : std::string(message));
}

namespace internal {

Status UnreadableMessage(std::string_view name, size_t size_bytes, bool well_formed) {
  return Error(
      ErrorCode::kCorruptMessage,
      well_formed ? "message lacks a required field message=" : "message is not protobuf message=",
      name, " size_bytes=", size_bytes);
}

Status ReplyTooLarge(uint64_t size_bytes) {
  return Error(ErrorCode::kRecordTooLarge, "reply is too large size_bytes=", size_bytes);
}

}  // namespace internal
}  // namespace sluice::wire
