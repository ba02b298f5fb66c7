#include "gateway/http_files.h"

#include "io/file.h"

namespace sluice::gateway {
namespace {

std::string_view TypeOf(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".woff2", "font/woff2"},
      {".txt", "text/plain; charset=utf-8"},
      {".map", "application/json"}};
  for (const auto& [ending, type] : kTypes) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

// Every part of the path names something below; none is "..", ".", or hidden.
bool StaysBelow(std::string_view path) {
  if (path.find('\0') != std::string_view::npos || path.find('\\') != std::string_view::npos) {
    return false;
  }
  return path.find("/.") == std::string_view::npos;
}

}  // namespace

HttpResponse FileResponse(const std::string& folder, std::string_view path) {
  std::string name(path);
  if (name.ends_with('/')) name += "index.html";
  auto text = StaysBelow(name)
                  ? io::LocalFileSystem().ReadFile(io::JoinPath(folder, name.substr(1)))
                  : Result<std::string>(Status::IOError("leads out of the folder"));
  if (!text.ok()) return NotFound(path);
  return {.content_type = std::string(TypeOf(name)), .body = std::move(text).ValueUnsafe()};
}

}  // namespace sluice::gateway
