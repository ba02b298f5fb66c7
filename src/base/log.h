#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

/// Send lines to `path` (rotated at 64 MiB, three kept), or to standard error when it is empty.
/// Call once at start.
void OpenLog(const std::string& path, LogLevel least);

/// Leave out lines below `least` from now on. Threads: any.
void SetLogLevel(LogLevel least);
/// Whether such lines are written now.
bool IsLogged(LogLevel level);

/// Write one line. Text first, then `table=… bucket=… offset=…`.
void LogLine(LogLevel level, std::string_view text);

/// Lines of WARN and above that this process wrote; tests compare it before and after.
uint64_t WarningCount();

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogWarn(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sluice
