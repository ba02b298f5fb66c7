#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/cluster.h"
#include "io/random.h"
#include "io/transport.h"
#include "types/schema.h"
#include "wire/api.h"

namespace sluice::client {

/// A coordinator and a tablet server in memory, strict about the protocol, for tests of the client:
/// logs with the sequence rules of writers, keys by their bytes, partitions. Replies come late and
/// out of order; `fault` can refuse a call or lose its reply.
///
/// Threads: one.
class FakeCluster : public io::Transport {
 public:
  enum class Fault { kNone, kRefuse, kLoseReply };
  struct Log {
    std::vector<std::string> batches;
    int64_t end_offset = 0;
    int64_t filled_from = 0;
    struct Kept {
      int32_t sequence;
      int64_t base_offset;
    };
    std::map<int64_t, std::deque<Kept>> writers;
    std::map<std::string, std::string> values;  // Key → stored value.
  };
  struct Table {
    types::TableInfo info;
    std::map<std::string, int64_t> partitions;
    std::map<int32_t, types::Schema> schemas;
  };

  explicit FakeCluster(io::Random& random) : random_(random) {}

  /// Make a table at once.
  const Table& Add(types::TablePath path, types::TableDescriptor descriptor);
  Log& log(types::BucketId bucket) { return logs_[bucket]; }
  int64_t calls(wire::ApiKey key) { return calls_[key]; }

  /// Asked before each call is done.
  std::function<Fault(wire::ApiKey)> fault = [](wire::ApiKey) { return Fault::kNone; };
  Status refusal = Error(ErrorCode::kStorage, "refused by the test");
  std::chrono::milliseconds delay_max{20};
  /// Answer within the call, as a server of the same process may.
  bool at_once = false;

  io::Task<Result<std::string>> Send(io::Loop& loop, io::Call call) override;
  void Close() override {}

 private:
  Result<std::string> Answer(const io::Call& call);
  Result<std::string> Metadata(std::string_view body);
  Result<std::string> Produce(std::string_view body);
  Result<std::string> Put(std::string_view body);
  Result<std::string> Fetch(std::string_view body);
  Result<std::string> Offsets(std::string_view body);
  Result<std::string> Lookup(std::string_view body);
  Result<std::string> PrefixLookup(std::string_view body);
  Result<std::string> Scan(std::string_view body);
  Result<std::string> LimitScan(std::string_view body);
  Result<std::string> Schema(std::string_view body);
  Result<std::string> CreatePartition(std::string_view body);
  Status AppendBatch(Log* log, std::string_view batch, int64_t* base_offset);
  /// Checks a writer's sequence; false = the batch was there before.
  static Result<bool> CheckSequence(Log* log, int64_t writer_id, int32_t sequence,
                                    int64_t* base_offset);
  Table* Find(int64_t table_id);

  io::Random& random_;
  std::map<types::TablePath, Table> tables_;
  std::map<types::BucketId, Log> logs_;
  std::map<wire::ApiKey, int64_t> calls_;
  int64_t next_writer_ = 100;
  int64_t next_table_ = 1;
  int64_t next_partition_ = 1;
  std::map<std::string, std::deque<std::string>> scanners_;  // Id → values left.
};

}  // namespace sluice::client
