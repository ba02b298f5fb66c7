#pragma once
// One bucket with a log in memory, for the tests of this module.
#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/testing.h"
#include "kv/kv_tablet.h"
#include "kv/manual_loop_testing.h"
#include "kv/memory_key_store.h"
#include "kv/replayer.h"
#include "types/row.h"
#include "wire/kv_batch.h"
#include "wire/log_rows.h"

namespace sluice::kv {

/// Which stores a test runs over.
struct StoreKind {
  const char* name;
  bool rocks;
};
inline constexpr StoreKind kStoreKinds[] = {{"memory", false}, {"rocks", true}};

inline std::unique_ptr<KeyStores> MakeStores(const StoreKind& kind) {
  if (kind.rocks) return MakeRocksStores(io::LocalFileSystem(), RocksOptions{});
  return std::make_unique<MemoryKeyStores>();
}

/// A row of the test table: id INT key, name STRING, amount BIGINT, version INT.
struct TestRow {
  int32_t id = 0;
  std::optional<std::string> name;
  std::optional<int64_t> amount;
  std::optional<int32_t> version;
  auto operator<=>(const TestRow&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const TestRow& row) {
  out << '{' << row.id << ',' << row.name.value_or("null") << ',';
  row.amount ? out << *row.amount : out << "null";
  row.version ? out << ',' << *row.version : out << ",null";
  return out << '}';
}

inline types::TableInfo TestTable(std::map<std::string, std::string> properties = {}) {
  types::TableInfo table;
  table.path = {"db", "t"};
  table.table_id = 7;
  table.schema_id = 1;
  types::Schema& schema = table.descriptor.schema;
  schema.columns = {{"id", types::DataType::Of(types::TypeKind::kInteger, false), "", 0, "", {}},
                    {"name", types::DataType::Of(types::TypeKind::kString), "", 1, "", {}},
                    {"amount", types::DataType::Of(types::TypeKind::kBigInt), "", 2, "", {}},
                    {"version", types::DataType::Of(types::TypeKind::kInteger), "", 3, "", {}}};
  schema.primary_key = {"id"};
  schema.highest_field_id = 3;
  table.descriptor.bucket_keys = {"id"};
  table.descriptor.bucket_count = 1;
  table.descriptor.properties = std::move(properties);
  table.descriptor.properties.emplace("table.datalake.format", "paimon");
  return table;
}

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> ColumnOf(const std::vector<std::optional<T>>& values) {
  Builder builder;
  for (const auto& value : values)
    CHECK((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::RecordBatch> ToArrow(const types::Schema& schema,
                                                   const std::vector<TestRow>& rows) {
  std::vector<std::optional<int32_t>> ids, versions;
  std::vector<std::optional<std::string>> names;
  std::vector<std::optional<int64_t>> amounts;
  for (const TestRow& row : rows) {
    ids.emplace_back(row.id);
    names.push_back(row.name);
    amounts.push_back(row.amount);
    versions.push_back(row.version);
  }
  std::vector<std::shared_ptr<arrow::Array>> columns{
      ColumnOf<arrow::Int32Builder>(ids), ColumnOf<arrow::StringBuilder>(names),
      ColumnOf<arrow::Int64Builder>(amounts), ColumnOf<arrow::Int32Builder>(versions)};
  columns.resize(schema.columns.size());
  return arrow::RecordBatch::Make(schema.ToArrow(), static_cast<int64_t>(rows.size()), columns);
}

inline std::vector<TestRow> FromArrow(const arrow::RecordBatch& batch) {
  std::vector<TestRow> rows;
  const auto& ids = static_cast<const arrow::Int32Array&>(*batch.column(0));
  const auto& names = static_cast<const arrow::StringArray&>(*batch.column(1));
  const auto& amounts = static_cast<const arrow::Int64Array&>(*batch.column(2));
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    TestRow row{ids.Value(i), {}, {}, {}};
    if (names.IsValid(i)) row.name = names.GetString(i);
    if (amounts.IsValid(i)) row.amount = amounts.Value(i);
    if (batch.num_columns() > 3) {
      const auto& versions = static_cast<const arrow::Int32Array&>(*batch.column(3));
      if (versions.IsValid(i)) row.version = versions.Value(i);
    }
    rows.push_back(row);
  }
  return rows;
}

/// One record of a put batch: an upsert of `row`, or a delete of its id.
struct TestPut {
  TestRow row;
  bool is_delete = false;
};
inline TestPut Up(TestRow row) { return {std::move(row), false}; }
inline TestPut Del(int32_t id) { return {TestRow{id, {}, {}, {}}, true}; }

/// A changelog record as read back from the log.
struct Change {
  wire::ChangeType type;
  TestRow row;
  bool operator==(const Change&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Change& change) {
  constexpr const char* kNames[] = {"+A", "+I", "-U", "+U", "-D"};
  return out << kNames[static_cast<int>(change.type)] << change.row;
}
inline Change Plus(TestRow row) { return {wire::ChangeType::kInsert, std::move(row)}; }
inline Change Before(TestRow row) { return {wire::ChangeType::kUpdateBefore, std::move(row)}; }
inline Change After(TestRow row) { return {wire::ChangeType::kUpdateAfter, std::move(row)}; }
inline Change Minus(TestRow row) { return {wire::ChangeType::kDelete, std::move(row)}; }

/// A bucket: its tablet, its log, and what a tablet server does between them.
class TestBucket {
 public:
  TestBucket(KeyStores& stores, std::string folder, types::TableInfo table, io::Pool* pool,
             size_t bytes_max = 16 << 20)
      : stores_(stores),
        folder_(std::move(folder)),
        table_(std::move(table)),
        pool_(pool),
        bytes_max_(bytes_max) {
    schemas_[table_.schema_id] = std::make_shared<const types::Schema>(table_.descriptor.schema);
  }

  /// Open the tablet anew (without closing it if it is open: a crash) and replay what its store
  /// lacks.
  Status Reopen() {
    tablet_.reset();
    loop_.RunPosted();
    KvOptions options;
    options.folder = folder_;
    options.bucket = {table_.table_id, std::nullopt, 0};
    options.table = table_;
    options.schema_of = [this](int32_t id) -> Result<std::shared_ptr<const types::Schema>> {
      const auto at = schemas_.find(id);
      if (at == schemas_.end()) return Error(ErrorCode::kSchemaNotExist, "no schema id=", id);
      return at->second;
    };
    options.stores = &stores_;
    options.loop = &loop_;
    options.flush_pool = pool_;
    options.write_back_bytes_max = bytes_max_;
    options.before_flush = before_flush;
    ASSIGN_OR_RAISE(tablet_, KvTablet::Open(std::move(options)));
    replayed_from = tablet_->applied_offset();
    return Replay();
  }

  Status Replay() {
    ASSIGN_OR_RAISE(const auto replayer, tablet_->MakeReplayer());
    for (const std::string& bytes : log_) {
      ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
      if (batch.header().next_offset() <= tablet_->log_offset()) continue;
      ASSIGN_OR_RAISE(const Replayed part, replayer->Fold(bytes, tablet_->log_offset()));
      tablet_->Apply(part);
    }
    return Status::OK();
  }

  std::string KvBatch(const std::vector<TestPut>& puts, int32_t schema_id = 0) {
    if (schema_id == 0) schema_id = table_.schema_id;
    const types::Schema& schema = *schemas_.at(schema_id);
    std::vector<TestRow> rows;
    for (const TestPut& put : puts) rows.push_back(put.row);
    const auto batch = ToArrow(schema, rows);
    std::vector<types::DataTypePtr> column_types;
    for (const auto& column : schema.columns) column_types.push_back(column.type);
    std::vector<std::string> encoded, keys;
    CHECK(types::RowCodec(types::RowFormat::kCompacted, column_types)
              .Encode(*batch, 0, batch->num_rows(), &encoded)
              .ok());
    auto encoder =
        types::KeyEncoder::Make(types::KeyFormat::kPaimon, {column_types[0]}, false).ValueOrDie();
    const std::vector<int> key_columns{0};
    CHECK(encoder.Encode(*batch, key_columns, &keys).ok());
    std::vector<wire::KvRecord> records;
    for (size_t i = 0; i < puts.size(); ++i) {
      records.push_back({keys[i], puts[i].is_delete
                                      ? std::nullopt
                                      : std::make_optional<std::string_view>(encoded[i])});
    }
    return wire::BuildKvBatch(static_cast<int16_t>(schema_id), -1, -1, records);
  }

  Result<Prepared> Prepare(const std::vector<TestPut>& puts, std::vector<int> targets = {},
                           int32_t schema_id = 0, PutMode mode = PutMode::kMerge) {
    const std::string bytes = KvBatch(puts, schema_id);
    ASSIGN_OR_RAISE(const auto batch, wire::KvBatchView::Parse(bytes));
    return tablet_->Prepare(batch, targets, mode);
  }

  /// Append the changelog and make it visible; what was appended.
  Result<std::vector<Change>> Finish(Prepared prepared) {
    ASSIGN_OR_RAISE(std::string bytes, tablet_->BuildChangelog(prepared, wire::LogBatchOptions{}));
    wire::StampBatch(bytes.data(), end_offset_, 1000);
    ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
    CHECK(batch.header().base_offset == end_offset_);
    const int64_t base = std::exchange(end_offset_, batch.header().next_offset());
    tablet_->Commit(std::move(prepared), base, end_offset_, bytes.size());
    auto changes = Decode(batch);
    log_.push_back(std::move(bytes));
    loop_.RunPosted();
    return changes;
  }

  Result<std::vector<Change>> Put(const std::vector<TestPut>& puts, std::vector<int> targets = {},
                                  int32_t schema_id = 0) {
    ASSIGN_OR_RAISE(Prepared prepared, Prepare(puts, std::move(targets), schema_id));
    return Finish(std::move(prepared));
  }

  Result<std::vector<Change>> Decode(const wire::LogBatchView& batch) {
    std::vector<Change> changes;
    if (batch.header().record_count == 0) return changes;
    ASSIGN_OR_RAISE(const auto rows,
                    wire::DecodeLogRows(batch, types::LogFormatOf(table_.descriptor),
                                        *schemas_.at(batch.header().schema_id)));
    const auto decoded = FromArrow(*rows.rows);
    for (size_t i = 0; i < decoded.size(); ++i) {
      changes.push_back({static_cast<wire::ChangeType>(rows.changes[i]), decoded[i]});
    }
    return changes;
  }

  /// The whole log folded by key.
  std::map<int32_t, TestRow> Folded() {
    std::map<int32_t, TestRow> state;
    for (const std::string& bytes : log_) {
      const auto changes = Decode(wire::LogBatchView::Parse(bytes).ValueOrDie()).ValueOrDie();
      for (const Change& change : changes) {
        if (change.type == wire::ChangeType::kDelete) state.erase(change.row.id);
        if (change.type == wire::ChangeType::kInsert ||
            change.type == wire::ChangeType::kUpdateAfter) {
          state[change.row.id] = change.row;
        }
      }
    }
    return state;
  }

  std::vector<TestRow> DecodeValues(const std::vector<std::string>& values) {
    std::vector<TestRow> rows;
    for (const std::string& value : values) {
      const auto stored = wire::ParseStoredValue(value).ValueOrDie();
      std::vector<types::DataTypePtr> column_types;
      for (const auto& column : schemas_.at(stored.schema_id)->columns)
        column_types.push_back(column.type);
      const std::vector<std::string_view> one{stored.row};
      const auto batch =
          types::RowCodec(types::RowFormat::kCompacted, column_types).Decode(one).ValueOrDie();
      rows.push_back(FromArrow(*batch).front());
    }
    return rows;
  }

  std::vector<TestRow> DecodeBatch(const std::string& batch) {
    std::vector<std::string> values;
    for (const wire::StoredValue& value : wire::ParseValueBatch(batch).ValueOrDie())
      values.push_back(wire::BuildStoredValue(value.schema_id, value.row));
    return DecodeValues(values);
  }

  std::string Key(int32_t id) {
    const std::string bytes = KvBatch({Del(id)});
    return std::string(wire::KvBatchView::Parse(bytes).ValueOrDie().records()[0].key);
  }

  std::optional<TestRow> Lookup(int32_t id) {
    const std::string key = Key(id);
    const std::vector<std::string_view> keys{key};
    auto values = tablet_->Lookup(keys).ValueOrDie();
    if (!values[0].has_value()) return std::nullopt;
    return DecodeValues({*values[0]}).front();
  }

  std::map<int32_t, TestRow> Scan(size_t bytes_max = 1 << 20) {
    return Drain(*tablet_->OpenScan().ValueOrDie(), bytes_max);
  }
  std::vector<TestRow> Next(KvScan& scan, size_t bytes_max, int64_t rows_max = INT64_MAX) {
    wire::ValueBatchBuilder values;
    EXPECT_OK(scan.Next(bytes_max, rows_max, &values));
    return DecodeBatch(values.Finish());
  }
  std::map<int32_t, TestRow> Drain(KvScan& scan, size_t bytes_max = 1 << 20) {
    std::map<int32_t, TestRow> rows;
    while (!scan.done()) {
      for (const TestRow& row : Next(scan, bytes_max)) {
        EXPECT_TRUE(rows.emplace(row.id, row).second) << "key twice in a scan " << row;
      }
    }
    return rows;
  }

  Status AddSchema(types::TableInfo table) {
    schemas_[table.schema_id] = std::make_shared<const types::Schema>(table.descriptor.schema);
    table_ = table;
    return tablet_->SetTable(std::move(table));
  }

  KvTablet& tablet() { return *tablet_; }
  void Drop() { tablet_.reset(); }
  ManualLoop& loop() { return loop_; }
  int64_t end_offset() const { return end_offset_; }
  std::string log() const { return std::accumulate(log_.begin(), log_.end(), std::string()); }
  int64_t replayed_from = 0;
  std::function<Status(int64_t)> before_flush;

 private:
  KeyStores& stores_;
  std::string folder_;
  types::TableInfo table_;
  io::Pool* pool_;
  size_t bytes_max_;
  std::map<int32_t, std::shared_ptr<const types::Schema>> schemas_;
  ManualLoop loop_;
  std::unique_ptr<KvTablet> tablet_;
  std::vector<std::string> log_;  // Stamped batches.
  int64_t end_offset_ = 0;
};

}  // namespace sluice::kv
