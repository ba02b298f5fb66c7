#pragma once
#include <map>
#include <string>

#include "coordinator/catalog_reads.h"
#include "meta/catalog_state.h"
#include "server/addresses.h"
#include "wire/proto/metadata.pb.h"

// The largest answer of MetadataService, as a function of one catalog snapshot.

namespace sluice::server {

using coordinator::PathOf;

/// Descriptor of a table as replies carry it: as stored, and for a lake-enabled table the cluster's
/// catalog properties.
std::string TableJson(const meta::TableState& table,
                      const std::map<std::string, std::string>& additions);

/// What one answer may hold of tables and partitions: a few bytes of a request ask for thousands.
inline constexpr uint64_t kMetadataReplyBytesMax = 64 << 20;

/// Each table and partition once, however often it is asked for.
/// Errors: kTableNotExist for an unknown table; kPartitionNotExists for an unknown partition, and
/// for an id of a partition whose table is not asked for; kRecordTooLarge past `bytes_max`.
Result<wire::MetadataResponse> MetadataReply(const meta::CatalogState& state,
                                             const ClusterAddresses& addresses,
                                             std::string_view listener,
                                             const std::map<std::string, std::string>& additions,
                                             const wire::MetadataRequest& request,
                                             uint64_t bytes_max = kMetadataReplyBytesMax);

}  // namespace sluice::server
