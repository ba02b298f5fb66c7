#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::gateway {

/// The first lines of a request: what is asked, without the body.
struct HttpHead {
  std::string method;
  std::string path;                            ///< Decoded, without the query.
  std::map<std::string, std::string> query;    ///< Decoded.
  std::map<std::string, std::string> headers;  ///< By lower-case name; the last one counts.
  uint64_t body_bytes = 0;
  bool keep_alive = true;   ///< The client may send another request.
  bool expects_go = false;  ///< The client waits for "100 Continue" before its body.

  /// The header's value; empty when there is none.
  std::string_view Header(const std::string& lower_name) const;
};

/// Why a request is not served. The connection ends after it.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

/// Reads one request from the bytes of a connection: Boost.Beast's parser within our bounds.
///
/// Format: HTTP/1.0 and HTTP/1.1, RFC 9112; a body has a content-length.
class HttpReader {
 public:
  static constexpr size_t kPathBytesMax = 2048;  ///< Decoded, without the query.

  HttpReader(size_t head_bytes_max, size_t body_bytes_max);
  ~HttpReader();

  /// Move the request's bytes from the front of *input, up to the end of its head the first time,
  /// then to its own end. What is not whole yet may stay there.
  /// Refusals: 400 malformed, 411 a body without length, 413, 414 and 431 past the bounds.
  std::optional<HttpRefusal> Feed(std::string* input);
  bool has_head() const { return head_ != nullptr; }
  bool done() const;
  const HttpHead& head() const { return *head_; }  ///< Once has_head().
  std::string TakeBody();                          ///< Once done().

 private:
  struct Parser;
  std::optional<HttpRefusal> TakeHead();

  const size_t head_bytes_max_;
  const size_t body_bytes_max_;
  size_t head_bytes_ = 0;  // Taken so far.
  const std::unique_ptr<Parser> parser_;
  std::unique_ptr<const HttpHead> head_;
};

/// The words of a status line: "Not Found".
std::string_view HttpReason(int status);

}  // namespace sluice::gateway
