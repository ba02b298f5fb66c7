#pragma once
#include <string>

namespace sluice::types {

/// A finite number as Java prints it, in the fewest digits that read back: plain between 10^-3 and
/// 10^7, else with an exponent, always with a point: "0.1", "1.0E10", "-0.0".
std::string FiniteText(double value);
std::string FiniteText(float value);

}  // namespace sluice::types
