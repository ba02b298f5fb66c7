#include "base/metrics.h"

#include <prometheus/text_serializer.h>

namespace sluice {
namespace {

prometheus::ClientMetric ToMetric(const MetricSample& sample) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
  if (sample.kind == MetricSample::Kind::kCounter) {
    metric.counter.value = sample.value;
  } else {
    metric.gauge.value = sample.value;
  }
  return metric;
}

}  // namespace

void MetricRegistry::AddSource(Source source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

std::string MetricRegistry::PrometheusText() const {
  std::vector<MetricSample> samples;
  {
    const std::lock_guard lock(mutex_);
    for (const Source& source : sources_) source(&samples);
  }
  std::map<std::string, prometheus::MetricFamily> families;
  for (const MetricSample& sample : samples) {
    auto& family = families[sample.name];
    family.name = sample.name;
    family.help = sample.help;
    family.type = sample.kind == MetricSample::Kind::kCounter ? prometheus::MetricType::Counter
                                                              : prometheus::MetricType::Gauge;
    family.metric.push_back(ToMetric(sample));
  }
  std::vector<prometheus::MetricFamily> ordered;
  for (auto& [name, family] : families) ordered.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(ordered);
}

}  // namespace sluice
