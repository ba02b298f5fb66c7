#include "lake/workload_testing.h"

#include <arrow/array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include "types/row.h"

namespace sluice::lake {
namespace {

constexpr int64_t kBatchRows = 7;  // Small, so that a round has several batches.

Result<std::shared_ptr<arrow::RecordBatch>> Pick(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                 const std::vector<int32_t>& rows) {
  arrow::Int32Array indices(static_cast<int64_t>(rows.size()),
                            arrow::Buffer::Wrap(rows.data(), rows.size()));
  arrow::ArrayVector columns;
  for (const auto& column : batch->columns()) {
    ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(*column, indices));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(batch->schema(), static_cast<int64_t>(rows.size()),
                                  std::move(columns));
}

std::string MomentOf(int64_t timestamp_ms) {
  const auto date = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(timestamp_ms))));
  const int64_t of_day = timestamp_ms % 86'400'000;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     of_day / 3'600'000, of_day / 60'000 % 60, of_day / 1000 % 60, of_day % 1000);
}

}  // namespace

types::TableDescriptor AllTypesTable(bool primary_key, bool bucket_key, bool partitioned,
                                     int32_t buckets, bool with_nested) {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = AllTypeColumns(with_nested);
  if (partitioned) {
    descriptor.schema.columns.push_back(
        {"dt", types::DataType::Of(types::TypeKind::kString, !primary_key), ""});
    descriptor.partition_keys = {"dt"};
  }
  if (primary_key)
    descriptor.schema.primary_key =
        partitioned ? std::vector<std::string>{"id", "dt"} : std::vector<std::string>{"id"};
  if (bucket_key) descriptor.bucket_keys = {"id"};
  descriptor.bucket_count = buckets;
  descriptor.properties = {{"table.datalake.enabled", "true"}, {"table.datalake.freshness", "5s"}};
  return descriptor;
}

Result<std::unique_ptr<LakeWorkload>> LakeWorkload::Create(LakeCatalog* catalog, Options options,
                                                           uint64_t seed) {
  RETURN_NOT_OK(catalog->CreateTable(options.path, options.descriptor, /*must_be_empty=*/true));
  std::unique_ptr<LakeWorkload> workload(new LakeWorkload(catalog, std::move(options), seed));
  RETURN_NOT_OK(workload->Reopen());
  return workload;
}

Status LakeWorkload::Reopen() {
  ASSIGN_OR_RAISE(table_, catalog_->OpenTable(options_.path));
  return Status::OK();
}

Result<std::vector<int32_t>> LakeWorkload::BucketsOf(const arrow::RecordBatch& rows) const {
  std::vector<int32_t> buckets(static_cast<size_t>(rows.num_rows()));
  const int32_t count = *options_.descriptor.bucket_count;
  const int32_t lake_buckets = table_->schema().bucket_count();
  if (lake_buckets < 0) {  // No key: rows go round.
    for (size_t i = 0; i < buckets.size(); ++i) buckets[i] = static_cast<int32_t>(i) % count;
    return buckets;
  }
  ASSIGN_OR_RAISE(const auto encoder,
                  types::KeyEncoder::Make(types::KeyFormat::kPaimon,
                                          {options_.descriptor.schema.columns[0].type}, true));
  std::vector<std::string> keys;
  const std::vector<int> positions{0};
  RETURN_NOT_OK(encoder.Encode(rows, positions, &keys));
  for (size_t i = 0; i < buckets.size(); ++i)
    buckets[i] = types::BucketOf("paimon", keys[i], count);
  return buckets;
}

Result<LakeWorkload::Changes> LakeWorkload::ChangesOf(
    const std::string& partition, const std::shared_ptr<arrow::RecordBatch>& rows) {
  if (!options_.descriptor.has_primary_key())
    return Changes{rows, std::vector<RowKind>(static_cast<size_t>(rows->num_rows()))};
  const auto& ids = static_cast<const arrow::Int32Array&>(*rows->column(0));
  arrow::RecordBatchVector records;
  std::vector<RowKind> kinds;
  const auto add = [&](RowKind kind, std::shared_ptr<arrow::RecordBatch> row) {
    kinds.push_back(kind);
    records.push_back(std::move(row));
  };
  for (int64_t i = 0; i < rows->num_rows(); ++i) {
    std::shared_ptr<arrow::RecordBatch>& stored =
        stored_[partition + "/" + std::to_string(ids.Value(i))];
    if (stored != nullptr && random_.Below(4) == 0) {
      add(RowKind::kDelete, std::move(stored));
      stored = nullptr;
      continue;
    }
    const auto row = rows->Slice(i, 1);
    if (stored != nullptr) add(RowKind::kUpdateBefore, stored);
    add(stored != nullptr ? RowKind::kUpdateAfter : RowKind::kInsert, row);
    stored = row;
  }
  ASSIGN_OR_RAISE(auto all, arrow::ConcatenateRecordBatches(records));
  return Changes{std::move(all), std::move(kinds)};
}

void LakeWorkload::Apply(const std::string& partition, int32_t bucket, const Changes& changes,
                         int64_t base_offset, int64_t timestamp_ms) {
  const std::vector<std::string> lines =
      JsonLines(*changes.rows, options_.descriptor.schema.columns);
  const auto& ids = static_cast<const arrow::Int32Array&>(*changes.rows->column(0));
  for (int64_t i = 0; i < changes.rows->num_rows(); ++i) {
    std::string line = lines[static_cast<size_t>(i)];
    line.back() = ',';
    line += fmt::format("\"__bucket\":{},\"__offset\":{},\"__timestamp\":\"{}\"}}", bucket,
                        base_offset + i, MomentOf(timestamp_ms));
    ++changes_;
    if (!options_.descriptor.has_primary_key()) {
      rows_.push_back(std::move(line));
      continue;
    }
    const std::string key = partition + "/" + std::to_string(ids.Value(i));
    const RowKind kind = changes.kinds[static_cast<size_t>(i)];
    if (kind == RowKind::kDelete) by_key_.erase(key);
    if (kind == RowKind::kInsert || kind == RowKind::kUpdateAfter) by_key_[key] = std::move(line);
  }
}

Status LakeWorkload::WriteBucket(const std::string& partition, int32_t bucket,
                                 const std::shared_ptr<arrow::RecordBatch>& rows,
                                 std::vector<std::unique_ptr<PreparedFiles>>* prepared) {
  WriterOptions options{.columns = Names(options_.descriptor.schema.columns), .bucket = bucket};
  if (options_.descriptor.partitioned()) options.partition = {partition};
  ASSIGN_OR_RAISE(const auto writer, table_->OpenWriter(options));
  int64_t& offset = offsets_[{partition, bucket}];
  ASSIGN_OR_RAISE(const Changes changes, ChangesOf(partition, rows));
  for (int64_t from = 0; from < changes.rows->num_rows(); from += kBatchRows) {
    Changes part{changes.rows->Slice(from, kBatchRows), {}};
    const auto first = changes.kinds.begin() + from;
    part.kinds.assign(first, first + part.rows->num_rows());
    Apply(partition, bucket, part, offset, ++timestamp_ms_);
    RETURN_NOT_OK(writer->Write({part.rows, part.kinds, offset, timestamp_ms_}));
    offset += part.rows->num_rows();
  }
  ASSIGN_OR_RAISE(auto files, writer->Finish());
  prepared->push_back(std::move(files));
  return Status::OK();
}

Result<int64_t> LakeWorkload::Round(int64_t rows) {
  std::vector<std::unique_ptr<PreparedFiles>> prepared;
  const std::vector<std::string> partitions =
      options_.descriptor.partitioned() ? std::vector<std::string>{"2026-01-01", "2026-01-02"}
                                        : std::vector<std::string>{""};
  for (const std::string& partition : partitions) {
    auto batch = RandomRows(options_.descriptor.schema.columns,
                            rows / static_cast<int64_t>(partitions.size()), random_);
    batch = WithInts(batch, "id", [&](int64_t) {
      return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(options_.keys)));
    });
    if (!partition.empty()) batch = WithText(batch, "dt", partition);
    ASSIGN_OR_RAISE(const auto buckets, BucketsOf(*batch));
    for (int32_t bucket = 0; bucket < *options_.descriptor.bucket_count; ++bucket) {
      std::vector<int32_t> chosen;
      for (size_t i = 0; i < buckets.size(); ++i) {
        if (buckets[i] == bucket) chosen.push_back(static_cast<int32_t>(i));
      }
      if (chosen.empty()) continue;
      ASSIGN_OR_RAISE(const auto picked, Pick(batch, chosen));
      RETURN_NOT_OK(WriteBucket(partition, bucket, picked, &prepared));
    }
  }
  ASSIGN_OR_RAISE(
      const int64_t id,
      table_->Commit(std::move(prepared), {.properties = {{std::string(kOffsetsProperty), "/x"}}}));
  history_[id] = ExpectedRows();
  return id;
}

std::vector<std::string> LakeWorkload::ExpectedRows() const {
  std::vector<std::string> lines = rows_;
  for (const auto& [key, line] : by_key_) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

types::TableDescriptor TwoColumnTable(bool primary_key, int32_t buckets) {
  types::TableDescriptor descriptor;
  descriptor.schema.columns = {{"id", types::DataType::Of(types::TypeKind::kInteger, false), ""},
                               {"s", types::DataType::Of(types::TypeKind::kString), ""}};
  if (primary_key) descriptor.schema.primary_key = {"id"};
  descriptor.bucket_count = buckets;
  return descriptor;
}

}  // namespace sluice::lake
