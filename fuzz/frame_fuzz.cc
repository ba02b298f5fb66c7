// Frames: what parses must encode back to the same bytes.
#include "base/bytes.h"
#include "base/check.h"
#include "wire/frame.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  if (const auto header = wire::ParseRequestHeader(frame); header.ok()) {
    const std::string again = wire::EncodeRequest(*header, frame.substr(wire::kRequestHeaderBytes));
    CHECK(LoadBe<int32_t>(again.data()) == static_cast<int32_t>(size));
    CHECK(std::string_view(again).substr(wire::kFrameLengthBytes) == frame);
  }
  const auto response = wire::ParseResponse(frame);
  if (!response.ok()) return 0;
  if (response->body.ok()) {
    const auto again =
        wire::EncodeResponse(response->request_id, io::Payload(*response->body)).Flatten();
    CHECK(again.ok() && std::string_view(*again).substr(wire::kFrameLengthBytes) == frame);
  } else {
    // An error keeps its code; its text may be cut.
    const std::string again =
        wire::EncodeErrorResponse(response->request_id, response->body.status());
    const auto second =
        wire::ParseResponse(std::string_view(again).substr(wire::kFrameLengthBytes));
    CHECK(second.ok() && second->request_id == response->request_id && !second->body.ok());
  }
  return 0;
}
