#include <array>

#include "app/config.h"

// The table of the configuration. Names and defaults of kUsed and kIgnored keys are Fluss's.

namespace sluice::app {
namespace {

using enum ConfigKey::Type;
using enum ConfigKey::Use;

constexpr ConfigKey kKeys[] = {
    // Server
    {"data.dir", kString, "/tmp/fluss-data", kUsed, "Folder of logs, keys and the embedded metadata"},
    {"remote.data.dir", kString, "", kUsed, "Folder of lake offset files; `remote` beside `data.dir` when not set"},
    {"bind.listeners", kString, "", kUsed, "Listeners of a server with one role, `NAME://host:port` separated by commas"},
    {"coordinator.bind.listeners", kString, "CLIENT://127.0.0.1:9123", kOwn,
     "Listeners of the coordinator; wins over `bind.listeners`"},
    {"tablet-server.bind.listeners", kString, "CLIENT://127.0.0.1:9124", kOwn,
     "Listeners of the tablet server; wins over `bind.listeners`"},
    {"advertised.listeners", kString, "", kUsed, "Addresses told to clients in place of those bound, by listener name"},
    {"coordinator.advertised.listeners", kString, "", kOwn, "As `advertised.listeners`, for the coordinator alone"},
    {"tablet-server.advertised.listeners", kString, "", kOwn, "As `advertised.listeners`, for the tablet server alone"},
    {"internal.listener.name", kString, "", kUsed,
     "Listener whose callers are servers; none when all roles run in one process, unless one is named"},
    {"tablet-server.id", kInt, "0", kUsed, "Number of this tablet server"},
    {"server.memory.limit", kSize, "", kOwn, "Memory that the named shares are cut from; a quarter of the machine's when not set"},
    {"server.shards", kInt, "", kOwn, "Threads that own buckets; one per core when not set"},
    {"server.log.level", kString, "info", kOwn, "Least level of log lines: debug, info, warn or error"},
    {"server.log.file", kString, "", kOwn, "Log file, rotated; standard error when not set"},
    {"netty.server.max-request-size", kSize, "100mb", kUsed, "Largest request; a larger one is refused and its connection ends"},
    {"netty.server.max-queued-requests", kInt, "500", kUsed, "Requests of one connection that run at a time; more are not read"},
    {"netty.connection.max-idle-time", kDuration, "10min", kUsed, "A connection without traffic for so long is closed"},
    // DDL
    {"default.bucket.number", kInt, "1", kUsed, "Buckets of a table that does not say"},
    {"default.replication.factor", kInt, "1", kUsed, "Replicas of a table that does not say"},
    {"max.bucket.num", kInt, "4096", kUsed, "Most buckets of a table or partition"},
    {"max.partition.num", kInt, "1000", kUsed, "Most partitions of a table"},
    {"allow.create.log.tables", kBool, "true", kUsed, "Whether tables without primary key may be created"},
    {"allow.create.kv.tables", kBool, "true", kUsed, "Whether tables with primary key may be created"},
    {"coordinator.producer-offsets.ttl", kDuration, "24h", kUsed, "Life of the offsets that a producer registers"},
    // Log
    {"log.segment.file-size", kSize, "1gb", kUsed, "A log begins a new file when the next batch would pass this"},
    {"log.index.interval-size", kSize, "4kb", kUsed, "Log bytes between two index entries"},
    {"log.flush.interval-messages", kInt, "9223372036854775807", kIgnored, "Records after which a log is synced"},
    {"log.replica.high-watermark.checkpoint-interval", kDuration, "5s", kUsed, "Time between two saves of high watermarks"},
    {"log.retention.check-interval", kDuration, "5min", kUsed, "Time between two looks for expired segments"},
    {"server.writer-id.expiration-time", kDuration, "7d", kUsed, "A writer that was silent for so long is forgotten"},
    // Keys
    {"kv.scanner.ttl", kDuration, "10min", kUsed, "Life of a scan that nobody continues"},
    {"kv.scanner.max-per-bucket", kInt, "8", kUsed, "Open scans of a bucket"},
    {"kv.scanner.max-per-server", kInt, "200", kUsed, "Open scans of a server"},
    {"kv.write-back.bytes-max", kSize, "16mb", kOwn, "Keys of one bucket in memory before they go to RocksDB"},
    // Lake
    {"datalake.format", kString, "paimon", kUsed, "Format of lake tables; recorded in each table when it is created"},
    {"datalake.enabled", kBool, "true", kUsed, "Whether tables may be tiered"},
    {"tiering.rounds-max", kInt, "2", kOwn, "Tables tiered at a time"},
    {"tiering.bucket-threads", kInt, "2", kOwn, "Buckets tiered at a time, over all tables"},
    {"tiering.round-bytes-max", kSize, "64mb", kOwn, "Decoded bytes of one tiering round"},
    // SQL and HTTP
    {"http.host", kString, "127.0.0.1", kOwn, "Address of console, SQL endpoint and metrics"},
    {"http.port", kInt, "9180", kOwn, "Port of console, SQL endpoint and metrics"},
    {"http.files", kString, "", kOwn, "Folder of the console; `console` beside `bin` when not set"},
    {"http.threads", kInt, "16", kOwn, "Requests served at a time"},
    {"sql.threads", kInt, "", kOwn, "Threads of queries; cores - 1 when not set"},
    // Known to Fluss, without effect here
    {"acl.notification.expiration-time", kDuration, "15min", kIgnored, "Life of notices about changed rights"},
    {"authorizer.enabled", kBool, "false", kIgnored, "Checking of rights"},
    {"authorizer.type", kString, "default", kIgnored, "Kind of authorizer"},
    {"auto-partition.check.interval", kDuration, "10min", kIgnored, "Time between two rounds of automatic partitions"},
    {"coordinator.host", kString, "", kIgnored, "Old form of `bind.listeners`"},
    {"coordinator.port", kString, "9123", kIgnored, "Old form of `bind.listeners`"},
    {"coordinator.io-pool.size", kInt, "10", kIgnored, "Threads of the coordinator"},
    {"data.dirs", kString, "", kIgnored, "Several data folders"},
    {"kv.leader-replica.memory-reserved", kSize, "", kIgnored, "Memory that a leader of keys needs"},
    {"kv.recover.log-record-batch.max-size", kSize, "16mb", kIgnored, "Read size of recovery"},
    {"kv.snapshot.interval", kDuration, "10min", kIgnored, "Time between snapshots of keys"},
    {"kv.snapshot.num-retained", kInt, "2", kIgnored, "Snapshots of keys that are kept"},
    {"kv.snapshot.scheduler-thread-num", kInt, "1", kIgnored, "Threads that start snapshots"},
    {"kv.snapshot.transfer-thread-num", kInt, "4", kIgnored, "Threads that move snapshots"},
    {"log.file-preallocate", kBool, "false", kIgnored, "Preallocation of log files"},
    {"log.index.file-size", kSize, "10mb", kIgnored, "Size of index files; ours grow"},
    {"log.replica.fetch-operation-purge-number", kInt, "1000", kIgnored, "Upkeep of waiting fetches"},
    {"log.replica.fetch.backoff-interval", kDuration, "1s", kIgnored, "Back-off of replication"},
    {"log.replica.fetch.max-bytes", kSize, "16mb", kIgnored, "Size of replication reads"},
    {"log.replica.fetch.max-bytes-for-bucket", kSize, "1mb", kIgnored, "Size of replication reads of a bucket"},
    {"log.replica.fetch.min-bytes", kSize, "1b", kIgnored, "Least size of replication reads"},
    {"log.replica.fetch.wait-max-time", kDuration, "500ms", kIgnored, "Wait of replication reads"},
    {"log.replica.fetcher-number", kInt, "1", kIgnored, "Threads of replication"},
    {"log.replica.max-lag-time", kDuration, "30s", kIgnored, "Lag at which a replica leaves the in-sync set"},
    {"log.replica.min-in-sync-replicas-number", kInt, "1", kIgnored, "Least in-sync replicas of a write"},
    {"log.replica.write-operation-purge-number", kInt, "1000", kIgnored, "Upkeep of waiting writes"},
    {"log.retention.roll-active-segment.enabled", kBool, "false", kIgnored, "Whether the newest segment can expire"},
    {"metrics.reporters", kString, "", kIgnored, "Reporters of metrics; /metrics is always there"},
    {"netty.client.num-network-threads", kInt, "4", kIgnored, "Threads of the servers' own clients"},
    {"netty.server.num-network-threads", kInt, "3", kIgnored, "Network threads; ours are the shards"},
    {"netty.server.num-worker-threads", kInt, "8", kIgnored, "Request threads; ours are the shards"},
    {"remote.data.dirs", kString, "", kIgnored, "Several remote folders"},
    {"remote.data.dirs.strategy", kString, "", kIgnored, "Choice among several remote folders"},
    {"remote.data.dirs.weights", kString, "", kIgnored, "Weights of several remote folders"},
    {"remote.fs.write-buffer-size", kSize, "4kb", kIgnored, "Buffer of remote writes"},
    {"remote.log-manager.thread-pool-size", kInt, "4", kIgnored, "Threads of the remote log"},
    {"remote.log.data-transfer-thread-num", kInt, "4", kIgnored, "Threads that move remote segments"},
    {"remote.log.index-file-cache-size", kSize, "1gb", kIgnored, "Cache of remote indexes"},
    {"remote.log.task-interval-duration", kDuration, "1min", kIgnored, "Time between uploads of segments; 0 = never"},
    {"remote.log.task-max-upload-segments", kInt, "5", kIgnored, "Segments of one upload"},
    {"security.protocol.map", kString, "", kIgnored, "Protocols of listeners"},
    {"server.background.threads", kInt, "10", kIgnored, "Threads of background work"},
    {"server.buffer.memory-size", kSize, "256mb", kIgnored, "Buffer of keys before they are written"},
    {"server.buffer.page-size", kSize, "128kb", kIgnored, "Page of that buffer"},
    {"server.buffer.per-request-memory-size", kSize, "16mb", kIgnored, "Share of a request in that buffer"},
    {"server.data-disk.recover-ratio", kRatio, "0.80", kIgnored, "Disk use below which writes are allowed again"},
    {"server.data-disk.write-limit-ratio", kRatio, "0.85", kIgnored, "Disk use above which writes are refused"},
    {"server.io-pool.size", kInt, "10", kIgnored, "Threads of file work"},
    {"server.writer-id.expiration-check-interval", kDuration, "10min", kIgnored, "Time between looks for silent writers"},
    {"super.users", kString, "", kIgnored, "Users with all rights"},
    {"tablet-server.controlled-shutdown.max-retries", kInt, "3", kIgnored, "Tries of moving leaders away"},
    {"tablet-server.controlled-shutdown.retry-interval", kDuration, "1s", kIgnored, "Time between those tries"},
    {"tablet-server.host", kString, "", kIgnored, "Old form of `bind.listeners`"},
    {"tablet-server.port", kString, "0", kIgnored, "Old form of `bind.listeners`"},
    {"tablet-server.rack", kString, "", kIgnored, "Rack of this tablet server"},
    {"zookeeper.address", kString, "", kIgnored, "ZooKeeper; metadata is embedded"},
    {"zookeeper.path.root", kString, "/fluss", kIgnored, "Root of the nodes in ZooKeeper"},
};

constexpr ConfigKey kPrefixes[] = {
    {"datalake.paimon.", kString, "", kUsed,
     "Options of the Paimon catalog: `metastore` (filesystem), `warehouse` (`warehouse` beside `data.dir`)"},
    {"datalake.", kString, "", kIgnored, "Options of other lake formats"},
    {"client.", kString, "", kIgnored, "Settings of clients"},
    {"fs.", kString, "", kIgnored, "Remote file systems"},
    {"gs.", kString, "", kIgnored, "Remote file systems"},
    {"hdfs.", kString, "", kIgnored, "Remote file systems"},
    {"kv.rocksdb.", kString, "", kIgnored, "Settings of RocksDB"},
    {"metrics.reporter.", kString, "", kIgnored, "Reporters of metrics"},
    {"oss.", kString, "", kIgnored, "Remote file systems"},
    {"plugin.", kString, "", kIgnored, "Loading of plug-ins"},
    {"s3.", kString, "", kIgnored, "Remote file systems"},
    {"security.sasl.", kString, "", kIgnored, "Authentication"},
    {"server.historical-partition.", kString, "", kIgnored, "Cache of expired partitions"},
    {"server.sasl.", kString, "", kIgnored, "Authentication"},
    {"zookeeper.client.", kString, "", kIgnored, "Client of ZooKeeper"},
};

}  // namespace

std::span<const ConfigKey> ConfigKeys() { return kKeys; }
std::span<const ConfigKey> ConfigPrefixes() { return kPrefixes; }

}  // namespace sluice::app
