#include "gateway/http_head.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>

#include "base/text.h"

namespace sluice::gateway {
namespace {

namespace http = boost::beast::http;

HttpRefusal Malformed(std::string_view what) {
  return {400, "malformed HTTP request, " + std::string(what)};
}

// Text up to `end`, which is taken too; all of it when there is none.
std::string_view Take(std::string_view* text, char end) {
  const size_t at = text->find(end);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return taken;
}

// "%41+b" as "A b" (a plus only where `plus` says so); nullopt for a broken escape.
std::optional<std::string> Decode(std::string_view text, bool plus) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      uint8_t byte = 0;
      if (i + 2 >= text.size()) return std::nullopt;
      const char* end = text.data() + i + 3;
      const auto parsed = std::from_chars(text.data() + i + 1, end, byte, 16);
      if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
      decoded += static_cast<char>(byte);
      i += 2;
    }
  }
  return decoded;
}

std::optional<HttpRefusal> ReadTarget(std::string_view target, HttpHead* head) {
  if (!target.starts_with('/')) return Malformed("the target is no path");
  std::string_view query = target;
  const auto path = Decode(Take(&query, '?'), false);
  if (!path || path->find('\0') != std::string::npos) return Malformed("broken escape in the path");
  if (path->size() > HttpReader::kPathBytesMax) return HttpRefusal{414, "the path is too long"};
  head->path = *path;
  while (!query.empty()) {
    std::string_view value = Take(&query, '&');
    const auto name = Decode(Take(&value, '='), true);
    const auto text = Decode(value, true);
    if (!name || !text) return Malformed("broken escape in the query");
    head->query[*name] = *text;
  }
  return std::nullopt;
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct HttpReader::Parser {
  http::request_parser<http::string_body> beast;
};

HttpReader::HttpReader(size_t head_bytes_max, size_t body_bytes_max)
    : head_bytes_max_(head_bytes_max),
      body_bytes_max_(body_bytes_max),
      parser_(std::make_unique<Parser>()) {
  parser_->beast.header_limit(static_cast<uint32_t>(head_bytes_max));
  parser_->beast.body_limit(body_bytes_max);
}

HttpReader::~HttpReader() = default;

bool HttpReader::done() const { return parser_->beast.is_done(); }

std::optional<HttpRefusal> HttpReader::Feed(std::string* input) {
  auto& parser = parser_->beast;
  while (!input->empty() && !parser.is_done()) {
    // Beast's own bound counts anew for what it is fed later.
    if (!has_head() && head_bytes_ > head_bytes_max_) break;
    boost::system::error_code error;
    const size_t taken = parser.put(boost::asio::buffer(*input), error);
    input->erase(0, taken);
    if (!has_head()) head_bytes_ += taken;
    if (error == http::error::header_limit) break;
    if (error == http::error::body_limit) {
      return HttpRefusal{413, "the body is too large bytes_max=" + std::to_string(body_bytes_max_)};
    }
    if (error && error != http::error::need_more) return Malformed(error.message());
    if (!has_head() && parser.is_header_done()) return TakeHead();
    if (error == http::error::need_more) break;
  }
  if (has_head() || head_bytes_ + input->size() <= head_bytes_max_) return std::nullopt;
  return HttpRefusal{431, "the headers are too large"};
}

std::optional<HttpRefusal> HttpReader::TakeHead() {
  const auto& parser = parser_->beast;
  const auto& message = parser.get();
  auto head = std::make_unique<HttpHead>();
  if (head_bytes_ > head_bytes_max_) return HttpRefusal{431, "the headers are too large"};
  head->method = View(message.method_string());
  if (auto refusal = ReadTarget(View(message.target()), head.get())) return refusal;
  for (const auto& field : message) {
    head->headers[LowerCase(View(field.name_string()))] = View(field.value());
  }
  if (message.count(http::field::host) > 1) return Malformed("two host headers");
  if (head->headers.contains("transfer-encoding")) {
    return HttpRefusal{411, "a body needs a content-length"};
  }
  head->body_bytes = parser.content_length().value_or(0);
  head->keep_alive = parser.keep_alive();
  head->expects_go = LowerCase(head->Header("expect")) == "100-continue";
  head_ = std::move(head);
  return std::nullopt;
}

std::string HttpReader::TakeBody() { return std::move(parser_->beast.get().body()); }

std::string_view HttpHead::Header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view HttpReason(int status) {
  return View(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status))));
}

}  // namespace sluice::gateway
