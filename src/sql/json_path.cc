#include "sql/json_path.h"

#include "sql/lexer.h"

namespace sluice::sql {

namespace {

bool TakeWord(std::string_view* path, std::string_view word) {
  if (!path->starts_with(word) || path->size() == word.size() || (*path)[word.size()] != ' ')
    return false;
  path->remove_prefix(word.size());
  while (path->starts_with(" ")) path->remove_prefix(1);
  return true;
}

// Outside of "quoted" names.
bool HasSeveral(std::string_view path) {
  bool quoted = false;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '"' || path[i] == '\'') quoted = !quoted;
    if (!quoted && (path[i] == '*' || path[i] == '?' || path.substr(i).starts_with("..")))
      return true;
  }
  return false;
}

}  // namespace

Result<std::string> EngineJsonPath(std::string_view path) {
  std::string_view rest = path;
  while (rest.starts_with(" ")) rest.remove_prefix(1);
  TakeWord(&rest, "lax");
  if (TakeWord(&rest, "strict"))
    return Error(ErrorCode::kUnsupportedVersion, "strict JSON paths are not supported yet, path='",
                 Shown(path), "'");
  if (!rest.starts_with("$"))
    return Error(ErrorCode::kInvalidTable, "a JSON path begins with $, path='", Shown(path), "'");
  if (HasSeveral(rest))
    return Error(ErrorCode::kUnsupportedVersion,
                 "JSON paths that mean several values are not supported yet, path='", Shown(path),
                 "'");
  return std::string(rest);
}

}  // namespace sluice::sql
