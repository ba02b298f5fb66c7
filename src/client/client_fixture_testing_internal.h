#pragma once
#include <arrow/array/array_primitive.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing.h"
#include "client/fake_cluster_testing_internal.h"
#include "client/log_scanner.h"
#include "client/writer_options.h"
#include "io/sim/sim_world.h"

namespace sluice::client {

using types::DataType;
using types::TypeKind;
using Rows = std::shared_ptr<arrow::RecordBatch>;
inline const types::TablePath kPath{"db", "t"};

inline types::TableDescriptor Descriptor(std::vector<std::string> primary_key,
                                         std::vector<std::string> bucket_keys, int32_t buckets) {
  types::TableDescriptor table;
  table.schema.columns = {{"id", DataType::Of(TypeKind::kInteger, primary_key.empty())},
                          {"name", DataType::Of(TypeKind::kString)},
                          {"amount", DataType::Of(TypeKind::kBigInt)}};
  table.schema.primary_key = std::move(primary_key);
  table.bucket_keys = std::move(bucket_keys);
  table.bucket_count = buckets;
  return table;
}

/// Rows from JSON: [[1, "a", 2], …] by the columns given.
inline Rows RowsOf(const std::vector<types::Column>& columns, const std::string& json) {
  arrow::FieldVector fields;
  for (const auto& column : columns)
    fields.push_back(arrow::field(column.name, column.type->ToArrow()));
  const auto array = arrow::json::ArrayFromJSONString(arrow::struct_(fields), json).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(array).ValueOrDie();
}

/// `count` rows of the table above with ids from `from` on.
inline Rows Numbered(const types::TableDescriptor& table, int from, int count) {
  std::string json = "[";
  for (int i = from; i < from + count; ++i) {
    json += (i == from ? "" : ",") + std::string("[") + std::to_string(i) + ",\"name" +
            std::to_string(i) + "\"," + std::to_string(10 * i) + "]";
  }
  return RowsOf(table.schema.columns, json + "]");
}

/// A client of a cluster in memory, in simulated time.
class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : world_(7), loop_(world_.NewLoop()), fake_(std::make_shared<FakeCluster>(world_.random())) {
    auto servers = std::make_shared<LocalServers>(fake_, fake_);
    cluster_ = Cluster::Make(servers, Cluster::Options{});
  }

  /// Let fetches that a scanner began ahead come to their ends.
  void TearDown() override { Wait(Rest(loop_)); }
  static io::Task<bool> Rest(io::Loop& loop) {
    co_await io::Sleep(loop, std::chrono::minutes(5));
    co_return true;
  }

  template <typename T>
  T Wait(io::Task<T> task) {
    return io::SyncWait(loop_, std::move(task));
  }

  /// All rows of a log as "offset:id" texts, read with a scanner.
  std::vector<std::string> ReadLog(LogScanner* scanner, types::BucketId bucket, int64_t from) {
    scanner->Subscribe(bucket, from);
    std::vector<std::string> seen;
    for (;;) {
      const auto batches = Wait(scanner->Poll(std::chrono::milliseconds(200)));
      EXPECT_OK(batches.status());
      if (!batches.ok() || batches->empty()) return seen;
      for (const ScanBatch& batch : *batches) {
        const auto& ids = static_cast<const arrow::Int32Array&>(*batch.rows->column(0));
        for (int64_t i = 0; i < ids.length(); ++i)
          seen.push_back(std::to_string(batch.base_offset + i) + ":" +
                         std::to_string(ids.Value(i)));
      }
    }
  }

  io::SimWorld world_;
  io::Loop& loop_;
  std::shared_ptr<FakeCluster> fake_;
  ClusterPtr cluster_;
};

inline std::vector<std::string> Expected(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i) + ":" + std::to_string(i));
  return texts;
}

inline WriterOptions SmallBatches() {
  WriterOptions options;
  options.batch_bytes = 200;
  options.buffer_bytes_max = 4000;
  return options;
}

}  // namespace sluice::client
