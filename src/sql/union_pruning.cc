#include <arrow/array.h>
#include <arrow/array/util.h>

#include "sql/fluss_internal.h"
#include "types/row.h"

namespace sluice::sql {

namespace {

wire::RowFilter::Op FilterOp(Predicate::Op op) {
  using From = Predicate::Op;
  using To = wire::RowFilter::Op;
  switch (op) {
    case From::kEqual:
      return To::kEqual;
    case From::kLess:
      return To::kLess;
    case From::kLessOrEqual:
      return To::kLessOrEqual;
    case From::kGreater:
      return To::kGreater;
    case From::kGreaterOrEqual:
      return To::kGreaterOrEqual;
    case From::kIsNull:
      return To::kIsNull;
    case From::kIsNotNull:
      return To::kIsNotNull;
    case From::kIn:
      break;
  }
  return To::kIn;
}

// Whether a row has the same bucket in log and lake.
Result<bool> PlacedAlike(const UnionRead& read) {
  const types::TableDescriptor& descriptor = read.table.descriptor;
  ASSIGN_OR_RAISE(const types::KeyPlan keys, types::PlanKeys(descriptor));
  return keys.lake_format == "paimon" &&
         (keys.bucket_keys.empty() ||
          descriptor.bucket_count.value_or(1) == read.lake->schema().bucket_count());
}

}  // namespace

Result<lake::LakePlan> PruneLake(lake::LakeTable& table, const lake::LakePlan& whole,
                                 const std::vector<Predicate>& predicates) {
  auto plan = table.Plan(whole.snapshot, {.predicates = predicates});
  if (!plan.ok()) return LakeError(table, plan.status());
  return plan;
}

Result<std::shared_ptr<const UnionRead>> PruneUnion(std::shared_ptr<const UnionRead> whole,
                                                    const std::vector<Predicate>& predicates) {
  if (predicates.empty() || !whole->lake_plan) return whole;
  auto pruned = std::make_shared<UnionRead>(*whole);
  ASSIGN_OR_RAISE(pruned->lake_plan, PruneLake(*whole->lake, *whole->lake_plan, predicates));
  ASSIGN_OR_RAISE(const bool alike, PlacedAlike(*whole));
  if (!alike) return pruned;
  // A bucket that is left out here may still have files in the plan: they go unmerged with the log,
  // but no row of them meets the predicates either.
  pruned->plan.parts.clear();
  for (const UnionPart& part : whole->plan.parts) {
    std::vector<std::string> values;
    if (!part.bucket.partition.empty()) values = whole->partitions.at(part.bucket.partition).values;
    ASSIGN_OR_RAISE(const bool wanted,
                    whole->lake->MayHold(values, part.bucket.bucket, predicates));
    if (wanted) pruned->plan.parts.push_back(part);
  }
  return pruned;
}

Result<std::optional<wire::RowFilter>> FilterOf(const types::Schema& schema,
                                                const std::vector<Predicate>& predicates) {
  wire::RowFilter all{
      .op = wire::RowFilter::Op::kAnd, .column_id = -1, .values = {}, .children = {}};
  for (const Predicate& predicate : predicates) {
    const int at = schema.IndexOf(predicate.column);
    if (at < 0) continue;
    wire::RowFilter one{.op = FilterOp(predicate.op),
                        .column_id = schema.columns[static_cast<size_t>(at)].id,
                        .values = {},
                        .children = {}};
    for (const auto& value : predicate.values) {
      ASSIGN_OR_RAISE(const auto array, arrow::MakeArrayFromScalar(*value, 1));
      one.values.push_back(wire::OrderedValueOf(*array, 0));
    }
    all.children.push_back(std::move(one));
  }
  if (all.children.empty()) return std::nullopt;
  return all;
}

std::string DescribeFiles(const lake::LakePlan& plan) {
  size_t files = 0;
  size_t merged = 0;
  for (const lake::LakeSplit& split : plan.splits) {
    files += split.files.size();
    if (!split.raw) merged += split.files.size();
  }
  std::string line = "lake snapshot " + std::to_string(plan.snapshot.id) +
                     ": files=" + std::to_string(files) +
                     " of which merged=" + std::to_string(merged);
  if (plan.files_skipped > 0) line += ", skipped=" + std::to_string(plan.files_skipped);
  return line;
}

}  // namespace sluice::sql
