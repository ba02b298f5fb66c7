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
/// silently. `zone` is the session's time zone, between TIMESTAMP and TIMESTAMP_LTZ; `column` is
/// the target's name for messages, if it has one. Rows convert field by field, by position. Errors:
/// no such cast, with its place.
Result<BoundPtr> CastTo(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                        const std::string& zone, const std::string& column = "");

/// Is the type TIMESTAMP_LTZ, or has it one inside?
bool HoldsInstant(const SqlType& type);
/// `value` with all its instants read as local time of the zone.
Result<BoundPtr> LocalReadings(BoundPtr value, const std::string& zone);

}  // namespace sluice::sql
