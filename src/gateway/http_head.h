#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::gateway {

/// The first lines of a request: what is asked, without the body.
struct HttpHead {
  std::string method;
  std::string path;                            ///< Decoded, without the query.
  std::map<std::string, std::string> query;    ///< Decoded.
  std::map<std::string, std::string> headers;  ///< By lower-case name; the last one counts.
  uint64_t body_bytes = 0;
  bool chunked = false;     ///< The body has no length in advance.
  bool keep_alive = true;   ///< The client may send another request.
  bool expects_go = false;  ///< The client waits for "100 Continue" before its body.
};

/// Parse a head, without the empty line at its end.
/// Format: HTTP/1.0 and HTTP/1.1, RFC 9112. Errors: kInvalidConfig for all else.
Result<HttpHead> ParseHttpHead(std::string_view text);

/// The words of a status line: "Not Found".
std::string_view HttpReason(int status);

}  // namespace sluice::gateway
