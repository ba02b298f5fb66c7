#include "log/checkpoint.h"

#include <charconv>

namespace sluice::log {
namespace {

// Split off the next line, without its end.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

// The numbers of one line; nothing when something else stands there.
std::optional<std::vector<int64_t>> ParseNumbers(std::string_view line) {
  std::vector<int64_t> numbers;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    numbers.push_back(number);
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  return numbers;
}

}  // namespace

Status WriteCheckpoint(io::FileSystem& files, const std::string& path, const Checkpoint& offsets) {
  std::string text = "0\n" + std::to_string(offsets.size()) + "\n";
  for (const auto& [bucket, offset] : offsets) {
    text += std::to_string(bucket.table_id) + " ";
    if (bucket.partition_id.has_value()) text += std::to_string(*bucket.partition_id) + " ";
    text += std::to_string(bucket.bucket) + " " + std::to_string(offset) + "\n";
  }
  return files.ReplaceFile(path, text);
}

Result<Checkpoint> ReadCheckpoint(io::FileSystem& files, const std::string& path) {
  Checkpoint offsets;
  auto content = files.ReadFile(path);
  if (io::IsNotFound(content.status())) return offsets;
  ASSIGN_OR_RAISE(const std::string image, std::move(content));
  std::string_view text = image;
  if (TakeLine(&text) != "0") return Corrupt("checkpoint has an unknown version file=", path);
  const auto count = ParseNumbers(TakeLine(&text));
  if (!count.has_value() || count->size() != 1) {
    return Corrupt("checkpoint lacks its number of entries file=", path);
  }
  for (int64_t line = 3; !text.empty(); ++line) {
    const auto numbers = ParseNumbers(TakeLine(&text));
    if (!numbers.has_value() || numbers->size() < 3 || numbers->size() > 4) {
      return Corrupt("checkpoint entry is not three or four numbers file=", path, " line=", line);
    }
    const bool partitioned = numbers->size() == 4;
    types::BucketId bucket{.table_id = numbers->front()};
    if (partitioned) bucket.partition_id = (*numbers)[1];
    bucket.bucket = static_cast<int32_t>((*numbers)[partitioned ? 2 : 1]);
    offsets[bucket] = numbers->back();
  }
  if (static_cast<int64_t>(offsets.size()) != count->front()) {
    return Corrupt("checkpoint has lost entries file=", path, " expected=", count->front(),
                   " found=", offsets.size());
  }
  return offsets;
}

Status WriteCleanShutdown(io::FileSystem& files, const std::string& folder) {
  return files.ReplaceFile(io::JoinPath(folder, kCleanShutdownFile), "");
}

Result<bool> TakeCleanShutdown(io::FileSystem& files, const std::string& folder) {
  const std::string path = io::JoinPath(folder, kCleanShutdownFile);
  ASSIGN_OR_RAISE(const bool clean, files.Exists(path));
  if (!clean) return false;
  RETURN_NOT_OK(files.Remove(path));
  RETURN_NOT_OK(files.SyncFolder(folder));
  return true;
}

}  // namespace sluice::log
