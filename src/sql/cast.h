#pragma once
#include <string>

#include "sql/bound.h"
#include "sql/lexer.h"

namespace sluice::sql {

enum class CastMode : uint8_t {
  kCast,   ///< CAST: bad text is an error, a number too large for a DECIMAL is NULL.
  kTry,    ///< TRY_CAST: what fails is NULL.
  kWiden,  ///< A conversion that the binder adds; keeps the value.
  kSink,   ///< Into a table's column: what does not fit is an error.
};

/// Convert as Flink does. Whole numbers out of range are an error here, where Flink wraps around
/// silently. `zone` is the session's time zone, between TIMESTAMP and TIMESTAMP_LTZ. Errors: no
/// such cast, with its place.
Result<BoundPtr> CastTo(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                        const std::string& zone);

}  // namespace sluice::sql
