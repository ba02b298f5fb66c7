#pragma once
#include <span>
#include <vector>

#include "base/metrics.h"

namespace sluice::meta {
struct TableState;
}
namespace sluice::tablet {
struct BucketStatus;
}

namespace sluice::app {

/// How many tables and buckets /metrics shows one by one, so that a scrape stays small however many
/// there are: the first ones in the order of names, which are the same each time.
struct MetricLimits {
  size_t tables = 1000;
  size_t buckets = 1000;
};

/// Samples of each bucket of a table; labels `database`, `table`, `bucket`, and `partition` where
/// it has some.
void CollectBuckets(const meta::TableState& table, std::span<const tablet::BucketStatus> buckets,
                    std::vector<MetricSample>* samples);

}  // namespace sluice::app
