#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "io/payload.h"

namespace sluice::wire {

// Frames (Java's MessageCodec): a 4-byte big-endian length of what follows, then a request or a
// response head, then a protobuf message. Readers of a connection take the length off first; the
// functions below see the rest.

constexpr size_t kFrameLengthBytes = 4;
constexpr size_t kRequestHeaderBytes = 8;   ///< Key, version and id of a request, after the length.
constexpr size_t kResponseHeaderBytes = 5;  ///< Kind and id of a response, after the length.

struct RequestHeader {
  int16_t api_key = 0;
  int16_t api_version = 0;
  int32_t request_id = 0;
  bool operator==(const RequestHeader&) const = default;
};

/// A whole request frame, its length in front.
std::string EncodeRequest(RequestHeader header, std::string_view body);
/// Errors: kCorruptMessage when the frame is shorter than a header.
Result<RequestHeader> ParseRequestHeader(std::string_view frame_after_length);

/// A whole success frame; body parts stay as they are (file ranges too). A body that no frame holds
/// becomes an error frame (kRecordTooLarge).
io::Payload EncodeResponse(int32_t request_id, io::Payload body);
/// A whole error frame of one request (kind 1).
std::string EncodeErrorResponse(int32_t request_id, const Status& error);

struct Response {
  int32_t request_id = 0;
  Result<std::string> body;  ///< An error frame gives the Status that it names.
};
/// Errors: kCorruptMessage for an unknown kind or a frame that ends early; what a server failure
/// (kind 2, it has no request id) names. After an error the connection is of no use.
Result<Response> ParseResponse(std::string_view frame_after_length);

/// What a Status looks like in a reply.
struct ProtocolError {
  int32_t code = 0;
  std::string message;
};
/// The one place that turns a Status into a code. Codes that old clients do not know, and would
/// take as final, become old retriable ones: 70 and 73 always, 72 unless the caller
/// `knows_backpressure` (PUT_KV from version 2 on).
ProtocolError ToProtocolError(const Status& status, bool knows_backpressure = false);
/// The way back, for clients. Code 0 gives OK.
Status FromProtocolError(int32_t code, std::string_view message);

/// Put an error into a reply entry that has error_code and error_message. Success leaves both
/// absent.
template <typename Entry>
void SetError(Entry* entry, const Status& error, bool knows_backpressure = false) {
  if (error.ok()) return;
  ProtocolError out = ToProtocolError(error, knows_backpressure);
  entry->set_error_code(out.code);
  entry->set_error_message(std::move(out.message));
}
/// The error that a reply entry carries, OK when it has none.
template <typename Entry>
Status ErrorOf(const Entry& entry) {
  return entry.has_error_code() ? FromProtocolError(entry.error_code(), entry.error_message())
                                : Status::OK();
}

namespace internal {
Status UnreadableMessage(std::string_view name, size_t size_bytes, bool well_formed);
Status ReplyTooLarge(uint64_t size_bytes);
}  // namespace internal

/// Parse a protobuf message.
/// Errors: kCorruptMessage, naming the message, when the bytes are none or a required field is
/// missing.
template <typename M>
Result<M> ParseMessage(std::string_view body) {
  M message;
  const bool well_formed =
      body.size() <= INT32_MAX &&
      message.ParsePartialFromArray(body.data(), static_cast<int>(body.size()));
  if (!well_formed || !message.IsInitialized()) {
    return internal::UnreadableMessage(message.GetTypeName(), body.size(), well_formed);
  }
  return message;
}

/// Bytes of a message of ours, which has its required fields and a bounded size.
template <typename M>
std::string Serialize(const M& message) {
  std::string out;
  CHECK(message.SerializeToString(&out));
  return out;
}

/// Bytes of a reply. Errors: kRecordTooLarge when it holds more than a message can.
template <typename M>
Result<io::Payload> SerializeReply(const M& message) {
  if (message.ByteSizeLong() > INT32_MAX) return internal::ReplyTooLarge(message.ByteSizeLong());
  return io::Payload(Serialize(message));
}

}  // namespace sluice::wire
