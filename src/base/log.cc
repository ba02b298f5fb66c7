#include "base/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace sluice {
namespace {

constexpr size_t kFileBytesMax = 64 << 20;
constexpr size_t kFilesKept = 3;
std::atomic<uint64_t> warnings{0};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Never destroyed: threads of libraries may log while the process ends.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto& logger = *new std::shared_ptr<spdlog::logger>(std::make_shared<spdlog::logger>(
      "sluice", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()));
  return logger;
}

}  // namespace

void OpenLog(const std::string& path, LogLevel least) {
  if (!path.empty()) {
    Logger() = std::make_shared<spdlog::logger>(
        "sluice",
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kFileBytesMax, kFilesKept));
  }
  Logger()->set_level(ToSpdlog(least));
  Logger()->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%L%$ %v");
  Logger()->flush_on(spdlog::level::info);
}

void SetLogLevel(LogLevel least) { Logger()->set_level(ToSpdlog(least)); }

bool IsLogged(LogLevel level) { return Logger()->should_log(ToSpdlog(level)); }

void LogLine(LogLevel level, std::string_view text) {
  if (level >= LogLevel::kWarn) warnings.fetch_add(1, std::memory_order_relaxed);
  Logger()->log(ToSpdlog(level), "{}", text);
}

uint64_t WarningCount() { return warnings.load(std::memory_order_relaxed); }

}  // namespace sluice
