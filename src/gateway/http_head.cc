#include "gateway/http_head.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sluice::gateway {
namespace {

Status Malformed(std::string_view what) {
  return Error(ErrorCode::kInvalidConfig, "malformed HTTP request, ", what);
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Text up to `end`, which is taken too; all of it when there is none.
std::string_view Take(std::string_view* text, std::string_view end) {
  const size_t at = text->find(end);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + end.size());
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

Status ParseTarget(std::string_view target, HttpHead* head) {
  if (!target.starts_with('/')) return Malformed("the target is no path");
  std::string_view query = target;
  const auto path = Decode(Take(&query, "?"), false);
  if (!path || path->find('\0') != std::string::npos) return Malformed("broken escape in the path");
  head->path = *path;
  while (!query.empty()) {
    std::string_view value = Take(&query, "&");
    const auto name = Decode(Take(&value, "="), true);
    const auto text = Decode(value, true);
    if (!name || !text) return Malformed("broken escape in the query");
    head->query[*name] = *text;
  }
  return Status::OK();
}

Status ParseHeaders(std::string_view text, HttpHead* head) {
  while (!text.empty()) {
    std::string_view value = Take(&text, "\r\n");
    const std::string name = Lower(Take(&value, ":"));
    if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos) {
      return Malformed("a header has no name");
    }
    // Two lengths: another reader might cut the stream elsewhere.
    if (name == "content-length" && head->headers.contains(name)) {
      return Malformed("two content-length headers");
    }
    head->headers[name] = Trim(value);
  }
  return Status::OK();
}

std::string_view Find(const HttpHead& head, const std::string& name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

Result<HttpHead> ParseHttpHead(std::string_view text) {
  HttpHead head;
  std::string_view line = Take(&text, "\r\n");
  head.method = Take(&line, " ");
  const std::string_view target = Take(&line, " ");
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return Malformed("not HTTP/1.1");
  RETURN_NOT_OK(ParseTarget(target, &head));
  RETURN_NOT_OK(ParseHeaders(text, &head));
  const std::string connection = Lower(Find(head, "connection"));
  head.keep_alive = line == "HTTP/1.1" ? connection != "close" : connection == "keep-alive";
  head.chunked = head.headers.contains("transfer-encoding");
  head.expects_go = Lower(Find(head, "expect")) == "100-continue";
  if (const std::string_view length = Find(head, "content-length");
      head.headers.contains("content-length")) {
    const char* end = length.data() + length.size();
    const auto parsed = std::from_chars(length.data(), end, head.body_bytes);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return Malformed("content-length is no number");
    }
  }
  return head;
}

std::string_view HttpReason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

}  // namespace sluice::gateway
