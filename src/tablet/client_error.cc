#include "tablet/client_error.h"

#include <string>

#include "base/log.h"

namespace sluice::tablet {
namespace {

// The words of `text` without those from `path` on: "file=/data/x/0.log:" goes whole, also when the
// path itself has spaces up to `path`'s end.
std::string WithoutPaths(std::string text, std::string_view path) {
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path)) {
    size_t from = text.rfind(' ', at);
    from = from == std::string::npos ? 0 : from;
    const size_t to = text.find(' ', at + path.size());
    text.erase(from, to == std::string::npos ? std::string::npos : to - from);
  }
  return text;
}

}  // namespace

Status ForClient(const Status& status, const types::BucketId* id, std::string_view data_dir) {
  if (status.ok()) return status;
  std::string path(data_dir);
  while (path.ends_with('/')) path.pop_back();
  path += '/';
  std::string message = status.message();
  if (message.find(path) != std::string::npos) {
    LogError("call failed {}: {}", id == nullptr ? "" : id->ToString(), status.ToString());
    message = WithoutPaths(std::move(message), path);
  }
  if (id != nullptr && message.find("table_id=") == std::string::npos) {
    message += (message.empty() ? "" : " ") + id->ToString();
  }
  return status.WithMessage(message);
}

}  // namespace sluice::tablet
