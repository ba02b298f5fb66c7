#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

/// One value of one metric at this moment.
struct MetricSample {
  enum class Kind { kCounter, kGauge };
  std::string
      name;  ///< With its unit last, as Prometheus wants it: "sluice_log_appended_rows_total".
  std::string help;  ///< Meaning, one line.
  Kind kind = Kind::kGauge;
  std::map<std::string, std::string> labels;
  double value = 0;
};

/// The sources of a process's metrics. Modules keep plain counters; a source turns them into
/// samples when asked.
///
/// Threads: any; sources are called one after another on the thread that asks.
class MetricRegistry {
 public:
  using Source = std::function<void(std::vector<MetricSample>*)>;
  void AddSource(Source source);
  /// All samples in Prometheus's text format 0.0.4.
  std::string PrometheusText() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Source> sources_;
};

}  // namespace sluice
