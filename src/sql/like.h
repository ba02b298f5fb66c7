#pragma once
#include <string_view>

#include "base/error.h"

namespace sluice::sql {

/// Is `pattern` well formed with this escape: one character that stands only before %, _ or itself?
Status CheckLikePattern(std::string_view pattern, std::string_view escape);

/// `text` LIKE `pattern` ESCAPE `escape`: % is any text, _ any one character of UTF-8.
/// Errors: those of CheckLikePattern.
Result<bool> MatchesLike(std::string_view text, std::string_view pattern, std::string_view escape);

/// The same without an escape.
bool MatchesLike(std::string_view text, std::string_view pattern);

}  // namespace sluice::sql
