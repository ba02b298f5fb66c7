#include "sql/like.h"

#include <span>
#include <vector>

#include "sql/lexer.h"

namespace sluice::sql {

namespace {

// Bytes of the character that `text` starts with.
size_t CharacterBytes(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) ++size;
  return size;
}

/// One element of a pattern.
struct LikeStep {
  enum class Kind { kText, kAnyCharacter, kAnyText } kind;
  std::string_view character;  // kText.
};

// With an empty `escape` every % and _ is a wildcard.
Result<std::vector<LikeStep>> LikeSteps(std::string_view pattern, std::string_view escape) {
  std::vector<LikeStep> steps;
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::string_view character = rest.substr(0, CharacterBytes(rest));
    rest.remove_prefix(character.size());
    if (character == escape) {
      const std::string_view escaped = rest.substr(0, rest.empty() ? 0 : CharacterBytes(rest));
      if (escaped != "%" && escaped != "_" && escaped != escape) {
        return Status::ExecutionError("the escape stands before %, _ or itself alone, pattern='",
                                      Shown(pattern), "' escape='", Shown(escape), "'");
      }
      steps.push_back({LikeStep::Kind::kText, escaped});
      rest.remove_prefix(escaped.size());
    } else if (character == "%") {
      steps.push_back({LikeStep::Kind::kAnyText, {}});
    } else if (character == "_") {
      steps.push_back({LikeStep::Kind::kAnyCharacter, {}});
    } else {
      steps.push_back({LikeStep::Kind::kText, character});
    }
  }
  return steps;
}

Status CheckEscape(std::string_view escape) {
  if (!escape.empty() && CharacterBytes(escape) == escape.size()) return Status::OK();
  return Status::ExecutionError("ESCAPE needs one character, escape='", Shown(escape), "'");
}

bool Fits(std::string_view text, std::span<const LikeStep> steps) {
  size_t step = 0;
  size_t at = 0;
  // Where to go on when what follows the last % does not fit: one character further.
  size_t retry_step = steps.size() + 1;
  size_t retry_at = 0;
  while (at < text.size()) {
    const std::string_view character = text.substr(at, CharacterBytes(text.substr(at)));
    if (step < steps.size() && steps[step].kind == LikeStep::Kind::kAnyText) {
      retry_step = ++step;
      retry_at = at;
    } else if (step < steps.size() && (steps[step].kind == LikeStep::Kind::kAnyCharacter ||
                                       steps[step].character == character)) {
      ++step;
      at += character.size();
    } else if (retry_step <= steps.size()) {
      retry_at += CharacterBytes(text.substr(retry_at));
      step = retry_step;
      at = retry_at;
    } else {
      return false;
    }
  }
  while (step < steps.size() && steps[step].kind == LikeStep::Kind::kAnyText) ++step;
  return step == steps.size();
}

}  // namespace

Status CheckLikePattern(std::string_view pattern, std::string_view escape) {
  RETURN_NOT_OK(CheckEscape(escape));
  return LikeSteps(pattern, escape).status();
}

Result<bool> MatchesLike(std::string_view text, std::string_view pattern, std::string_view escape) {
  RETURN_NOT_OK(CheckEscape(escape));
  ASSIGN_OR_RAISE(const std::vector<LikeStep> steps, LikeSteps(pattern, escape));
  return Fits(text, steps);
}

bool MatchesLike(std::string_view text, std::string_view pattern) {
  return Fits(text, *LikeSteps(pattern, {}));
}

}  // namespace sluice::sql
