#include "client/lookuper.h"

#include <arrow/record_batch.h>

#include <map>

#include "client/rows_internal.h"
#include "wire/frame.h"
#include "wire/proto/kv.pb.h"

namespace sluice::client {

struct Lookuper::Plan {
  ClusterPtr cluster;
  TableMetaPtr table;
  std::vector<std::string> key_columns;
  std::vector<int> schema_columns;  // The key columns in the table.
  std::vector<int> encoded;  // Positions in a batch of keys that the key's bytes are made of.
  bool prefix = false;
  RowRouter router;
  types::KeyEncoder encoder;
};

namespace {

/// What of the key columns goes into the key's bytes: all but the partition columns.
std::vector<int> EncodedPositions(const types::TableDescriptor& descriptor,
                                  const std::vector<std::string>& key_columns) {
  std::vector<int> positions;
  for (size_t i = 0; i < key_columns.size(); ++i) {
    const auto& partition_keys = descriptor.partition_keys;
    if (std::ranges::find(partition_keys, key_columns[i]) == partition_keys.end())
      positions.push_back(static_cast<int>(i));
  }
  return positions;
}

/// A prefix lookup goes by the bucket key, which has to be a true prefix of the primary key's
/// physical part.
Status CheckPrefix(const types::TableDescriptor& descriptor, const types::KeyPlan& plan,
                   const std::vector<std::string>& columns) {
  std::vector<std::string> rest;
  size_t partition_columns = 0;
  for (const std::string& column : columns) {
    const bool partition =
        std::ranges::find(descriptor.partition_keys, column) != descriptor.partition_keys.end();
    partition_columns += partition ? 1 : 0;
    if (!partition) rest.push_back(column);
  }
  const bool prefix = rest.size() < plan.physical_primary_key.size() &&
                      std::equal(rest.begin(), rest.end(), plan.physical_primary_key.begin());
  if (rest == plan.bucket_keys && prefix && partition_columns == descriptor.partition_keys.size())
    return Status::OK();
  return Error(
      ErrorCode::kInvalidTable,
      "prefix lookup goes by the partition columns and a bucket key that starts the primary key");
}

}  // namespace

Result<std::shared_ptr<Lookuper>> Lookuper::Make(ClusterPtr cluster, TableMetaPtr table,
                                                 std::vector<std::string> columns) {
  const types::TableDescriptor& descriptor = table->info.descriptor;
  if (!descriptor.has_primary_key())
    return Error(ErrorCode::kNonPrimaryKeyTable,
                 "table has no primary key table=", table->info.path);
  const bool prefix = !columns.empty();
  ASSIGN_OR_RAISE(const types::KeyPlan plan, types::PlanKeys(descriptor));
  if (prefix) RETURN_NOT_OK(CheckPrefix(descriptor, plan, columns));
  if (!prefix) columns = descriptor.schema.primary_key;
  ASSIGN_OR_RAISE(auto schema_columns, descriptor.schema.IndexesOf(columns));
  auto encoded = EncodedPositions(descriptor, columns);
  std::vector<types::DataTypePtr> types;
  for (const int position : encoded)
    types.push_back(descriptor.schema.columns[schema_columns[position]].type);
  ASSIGN_OR_RAISE(auto router, RowRouter::Make(table->info));
  ASSIGN_OR_RAISE(auto encoder, types::KeyEncoder::Make(plan.primary_key_format, std::move(types),
                                                        /*null_allowed=*/false));
  auto lookuper = std::shared_ptr<Lookuper>(new Lookuper());
  lookuper->plan_ = std::make_shared<const Plan>(
      Plan{std::move(cluster), std::move(table), std::move(columns), std::move(schema_columns),
           std::move(encoded), prefix, std::move(router), std::move(encoder)});
  return lookuper;
}

io::Task<Result<std::shared_ptr<Lookuper>>> Lookuper::Open(io::Loop& loop, ClusterPtr cluster,
                                                           types::TablePath path,
                                                           std::vector<std::string> columns) {
  CO_ASSIGN_OR_RETURN(TableMetaPtr table, co_await cluster->Table(loop, path, /*refresh=*/true));
  co_return Make(std::move(cluster), std::move(table), std::move(columns));
}

const std::vector<std::string>& Lookuper::key_columns() const { return plan_->key_columns; }
const TableMeta& Lookuper::table() const { return *plan_->table; }

namespace {

/// Keys of one bucket, and the values found so far per key.
struct BucketKeys {
  types::BucketId bucket;
  std::vector<size_t> keys;  // Positions among all keys.
  bool done = false;
};

/// The values of one bucket in a reply.
template <typename Entry>
Status TakeValues(const Entry& entry, const std::vector<size_t>& keys,
                  std::vector<std::vector<std::string>>* values) {
  if constexpr (std::is_same_v<Entry, wire::PbLookupRespForBucket>) {
    if (static_cast<size_t>(entry.values_size()) != keys.size())
      return Error(ErrorCode::kCorruptMessage, "lookup reply lacks keys");
    for (size_t i = 0; i < keys.size(); ++i) {
      if (entry.values(static_cast<int>(i)).has_values())
        (*values)[keys[i]].push_back(entry.values(static_cast<int>(i)).values());
    }
  } else {
    if (static_cast<size_t>(entry.value_lists_size()) != keys.size())
      return Error(ErrorCode::kCorruptMessage, "lookup reply lacks keys");
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto& list = entry.value_lists(static_cast<int>(i)).values();
      (*values)[keys[i]].assign(list.begin(), list.end());
    }
  }
  return Status::OK();
}

template <typename Request>
std::string RequestOf(int64_t table_id, const std::vector<BucketKeys*>& groups,
                      const std::vector<std::string>& keys) {
  Request request;
  request.set_table_id(table_id);
  for (const BucketKeys* group : groups) {
    auto* entry = request.add_buckets_req();
    if (group->bucket.partition_id) entry->set_partition_id(*group->bucket.partition_id);
    entry->set_bucket_id(group->bucket.bucket);
    for (const size_t key : group->keys) entry->add_keys(keys[key]);
  }
  return wire::Serialize(request);
}

/// Take what a reply answers; gives the worst error of its buckets, final ones first.
template <typename Reply>
Status TakeReply(std::string_view body, const std::vector<BucketKeys*>& groups,
                 std::vector<std::vector<std::string>>* values) {
  ASSIGN_OR_RAISE(const auto reply, wire::ParseMessage<Reply>(body));
  Status worst;
  for (BucketKeys* group : groups) {
    const auto same = [&](const auto& entry) {
      return entry.bucket_id() == group->bucket.bucket &&
             entry.partition_id() == group->bucket.partition_id.value_or(0);
    };
    const auto entry = std::ranges::find_if(reply.buckets_resp(), same);
    if (entry == reply.buckets_resp().end())
      return Error(ErrorCode::kCorruptMessage, "lookup reply lacks the bucket ", group->bucket);
    const Status error = wire::ErrorOf(*entry);
    if (error.ok()) {
      RETURN_NOT_OK(TakeValues(*entry, group->keys, values));
      group->done = true;
    } else if (worst.ok() || IsRetriable(worst)) {
      worst = error;
    }
  }
  return worst;
}

/// One round of requests to all leaders of groups that are not done.
io::Task<Status> LookupOnce(io::Loop& loop, ClusterPtr cluster, TableMetaPtr table, bool prefix,
                            std::vector<BucketKeys>* groups, const std::vector<std::string>* keys,
                            std::vector<std::vector<std::string>>* values) {
  std::map<int32_t, std::vector<BucketKeys*>> by_leader;
  for (BucketKeys& group : *groups) {
    if (group.done) continue;
    CO_ASSIGN_OR_RETURN(const int32_t leader,
                        co_await cluster->Leader(loop, table->info.path, group.bucket));
    by_leader[leader].push_back(&group);
  }
  Status worst;
  for (const auto& [leader, list] : by_leader) {
    const int64_t id = table->info.table_id;
    std::string body = prefix ? RequestOf<wire::PrefixLookupRequest>(id, list, *keys)
                              : RequestOf<wire::LookupRequest>(id, list, *keys);
    const auto key = prefix ? wire::ApiKey::kPrefixLookup : wire::ApiKey::kLookup;
    const Result<std::string> reply =
        co_await cluster->CallTablet(loop, leader, key, std::move(body));
    Status status = reply.status();
    if (reply.ok()) {
      status = prefix ? TakeReply<wire::PrefixLookupResponse>(*reply, list, values)
                      : TakeReply<wire::LookupResponse>(*reply, list, values);
    }
    if (!status.ok() && (worst.ok() || IsRetriable(worst))) worst = status;
  }
  co_return worst;
}

}  // namespace

io::Task<Result<LookupRows>> Lookuper::Lookup(io::Loop& loop,
                                              std::shared_ptr<arrow::RecordBatch> keys) {
  return LookupIn(plan_, loop, std::move(keys));
}

io::Task<Result<LookupRows>> Lookuper::LookupIn(std::shared_ptr<const Plan> plan, io::Loop& loop,
                                                std::shared_ptr<arrow::RecordBatch> keys) {
  const types::Schema& schema = plan->table->info.descriptor.schema;
  std::vector<types::Column> expected;
  std::vector<int> positions(schema.columns.size(), -1);
  for (size_t i = 0; i < plan->schema_columns.size(); ++i) {
    expected.push_back(schema.columns[plan->schema_columns[i]]);
    positions[plan->schema_columns[i]] = static_cast<int>(i);
  }
  CO_RETURN_NOT_OK(CheckRows(*keys, expected));
  CO_ASSIGN_OR_RETURN(const std::vector<RoutedRows> routed, plan->router.Route(*keys, positions));
  std::vector<std::string> encoded;
  CO_RETURN_NOT_OK(plan->encoder.Encode(*keys, plan->encoded, &encoded));

  std::vector<BucketKeys> groups;
  for (const RoutedRows& group : routed) {
    types::BucketId bucket{plan->table->info.table_id, std::nullopt, group.bucket};
    if (!group.partition.empty()) {
      Result<PartitionMetaPtr> partition =
          co_await FindPartition(loop, plan->cluster, plan->table, group.partition, false);
      if (CodeOf(partition.status()) == ErrorCode::kPartitionNotExists)
        continue;  // So it holds no rows.
      CO_RETURN_NOT_OK(partition.status());
      bucket.partition_id = (*partition)->partition_id;
    }
    groups.push_back({bucket, std::vector<size_t>(group.rows.begin(), group.rows.end()), false});
  }
  std::vector<std::vector<std::string>> values(encoded.size());
  for (int retry = 0;; ++retry) {
    const Status status = co_await LookupOnce(loop, plan->cluster, plan->table, plan->prefix,
                                              &groups, &encoded, &values);
    if (status.ok()) break;
    if (!IsRetriable(status) || retry + 1 >= plan->cluster->options().attempts) co_return status;
    if (NeedsNewMetadata(status)) plan->cluster->ForgetLeaders(plan->table->info.path);
    co_await io::Sleep(loop, plan->cluster->BackoffOf(retry));
  }

  LookupRows found;
  std::vector<wire::StoredValue> stored;
  found.of_key.resize(values.size());
  for (size_t key = 0; key < values.size(); ++key) {
    for (const std::string& value : values[key]) {
      CO_ASSIGN_OR_RETURN(const wire::StoredValue parsed, wire::ParseStoredValue(value));
      found.of_key[key].push_back(static_cast<int64_t>(stored.size()));
      stored.push_back(parsed);
    }
  }
  CO_ASSIGN_OR_RETURN(found.rows,
                      co_await DecodeValues(loop, plan->cluster, plan->table, std::move(stored)));
  co_return found;
}

}  // namespace sluice::client
