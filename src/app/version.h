#pragma once
#include <string_view>

namespace sluice::app {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace sluice::app
