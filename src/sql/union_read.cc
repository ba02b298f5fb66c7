#include "sql/union_read.h"

#include <utility>

namespace sluice::sql {

UnionPlan PlanUnion(const UnionFacts& facts) {
  UnionPlan plan{.snapshot_id = facts.snapshot_id};
  for (const auto& [bucket, high_watermark] : facts.high_watermarks) {
    UnionPart part{.bucket = bucket, .log_to = high_watermark};
    const auto offset = facts.lake_offsets.find(bucket);
    if (facts.snapshot_id && offset != facts.lake_offsets.end() && offset->second >= 0) {
      part.base = UnionPart::Base::kLake;
      part.log_from = offset->second;
    } else if (facts.primary_key) {
      // Not in the lake, though other buckets may be: the key store has all of it, the log perhaps
      // no more.
      part.base = UnionPart::Base::kKeys;
    }
    plan.parts.push_back(part);
  }
  return plan;
}

void PassGap(UnionPart* part, bool primary_key, int64_t log_start) {
  if (primary_key) {
    part->base = UnionPart::Base::kKeys;
    part->log_from = UnionPart::kEarliest;
    return;
  }
  part->gap_from = std::exchange(part->log_from, log_start);
}

std::vector<std::string> DescribePlan(const UnionPlan& plan, bool primary_key) {
  std::vector<std::string> lines;
  lines.push_back(plan.snapshot_id ? "lake snapshot " + std::to_string(*plan.snapshot_id)
                                   : "never tiered");
  for (const UnionPart& part : plan.parts) {
    std::string line = "bucket " + std::to_string(part.bucket.bucket);
    if (!part.bucket.partition.empty()) line += " of " + part.bucket.partition;
    switch (part.base) {
      case UnionPart::Base::kNothing:
        line += ": log";
        break;
      case UnionPart::Base::kLake:
        line += ": lake, log";
        break;
      case UnionPart::Base::kKeys:
        line += ": key store at " + std::to_string(part.log_to);
        lines.push_back(std::move(line));
        continue;
    }
    line += " [" +
            (part.log_from == UnionPart::kEarliest ? std::string("start")
                                                   : std::to_string(part.log_from)) +
            ", " + std::to_string(part.log_to) + ")";
    if (primary_key && part.base == UnionPart::Base::kLake) line += ", newest per key wins";
    if (part.gap_from) {
      line += ", expired before it was in the lake [" + std::to_string(*part.gap_from) + ", " +
              std::to_string(part.log_from) + ")";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace sluice::sql
