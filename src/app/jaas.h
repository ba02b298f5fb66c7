#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sluice::app {

/// Read the options of a JAAS text, in which Fluss's settings hold users and passwords:
/// `org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required user_a="x" user_b="y";`
///
/// Errors: kInvalidConfig for anything but one entry of that module. They tell the option at fault
/// and never a value.
Result<std::map<std::string, std::string>> ParseJaas(std::string_view text);

}  // namespace sluice::app
