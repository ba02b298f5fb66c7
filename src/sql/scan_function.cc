#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "sql/engine_guard.h"
#include "sql/engine_internal.h"
#include "sql/vectors.h"

namespace sluice::sql {

namespace {

using duckdb::Api;
using duckdb::Index;

/// What the function carries from registration on.
struct ScanExtra {
  ScanRegistry* scans;
};

/// From bind to the end of the query.
struct ScanBindData {
  std::shared_ptr<const ScanBinding> binding;
};

/// One scan, shared by the threads that run it.
struct ScanState {
  std::shared_ptr<const ScanBinding> binding;
  std::vector<int> wanted;   // Positions in the binding, per column of the source.
  std::vector<int> columns;  // Per output vector: column of the source, or -1 for one that nobody
                             // reads.
  std::unique_ptr<ScanSource> source;
  std::atomic<int> next_part{0};
};

/// One thread's place in the scan.
struct ScanLocal {
  std::unique_ptr<BatchReader> reader;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t next_row = 0;
};

template <typename T>
void Delete(void* pointer) {
  delete static_cast<T*>(pointer);
}

Status Bind(duckdb::BindInfo info) {
  const Api& api = duckdb::Loaded();
  const auto& extra = *static_cast<ScanExtra*>(api.bind_get_extra_info(info));
  duckdb::Owned<duckdb::Value> value(api.bind_get_parameter(info, 0), api.destroy_value);
  const int64_t id = api.get_int64(value.get());
  std::shared_ptr<const ScanBinding> binding = extra.scans->Find(id);
  if (binding == nullptr) return Error(ErrorCode::kUnknownServer, "scan is not bound, id=", id);
  // Where only the number of rows matters, the engine asks for the first column: one that costs
  // nothing, and that no statement names. Names differ between scans: joins are said with a star.
  const duckdb::Owned<duckdb::LogicalType> nothing =
      duckdb::MakeType(api, SqlType::Of(SqlKind::kBoolean));
  const std::string name = "sluice_nothing" + std::to_string(id);
  api.bind_add_result_column(info, name.c_str(), nothing.get());
  for (size_t i = 0; i < binding->names.size(); ++i) {
    const duckdb::Owned<duckdb::LogicalType> type = duckdb::MakeType(api, binding->types[i]);
    api.bind_add_result_column(info, binding->names[i].c_str(), type.get());
  }
  if (const auto rows = binding->view->RowCountHint(); rows && *rows >= 0) {
    api.bind_set_cardinality(info, static_cast<Index>(*rows), false);
  }
  api.bind_set_bind_data(info, new ScanBindData{std::move(binding)}, Delete<ScanBindData>);
  return Status::OK();
}

Status Init(duckdb::InitInfo info) {
  const Api& api = duckdb::Loaded();
  const auto& bound = *static_cast<ScanBindData*>(api.init_get_bind_data(info));
  auto state = std::make_unique<ScanState>();
  state->binding = bound.binding;
  std::vector<int> positions;
  for (Index i = 0; i < api.init_get_column_count(info); ++i) {
    const Index asked = api.init_get_column_index(info, i);
    if (asked == 0 || asked > bound.binding->names.size()) {  // Only the number of rows matters.
      state->columns.push_back(-1);
      continue;
    }
    const Index column = asked - 1;
    state->columns.push_back(static_cast<int>(state->wanted.size()));
    state->wanted.push_back(static_cast<int>(column));
    positions.push_back(bound.binding->positions[column]);
  }
  ASSIGN_OR_RAISE(state->source,
                  bound.binding->view->Open(std::move(positions), bound.binding->predicates));
  api.init_set_max_threads(info, static_cast<Index>(std::max(1, state->source->parts())));
  api.init_set_init_data(info, state.release(), Delete<ScanState>);
  return Status::OK();
}

Status InitLocal(duckdb::InitInfo info) {
  duckdb::Loaded().init_set_init_data(info, new ScanLocal, Delete<ScanLocal>);
  return Status::OK();
}

// Move to a batch with rows left; false at the end of all parts.
Result<bool> Advance(ScanState& state, ScanLocal& local) {
  while (local.batch == nullptr || local.next_row == local.batch->num_rows()) {
    RETURN_NOT_OK(state.binding->interruption->status());
    if (local.reader == nullptr) {
      const int part = state.next_part.fetch_add(1, std::memory_order_relaxed);
      if (part >= state.source->parts()) return false;
      ASSIGN_OR_RAISE(local.reader, state.source->OpenPart(part));
    }
    ASSIGN_OR_RAISE(local.batch, local.reader->Next());
    local.next_row = 0;
    if (local.batch == nullptr) local.reader.reset();
  }
  return true;
}

// Rows that go to the engine at once: a vector full, or fewer where they are wide, since the engine
// counts the texts in its vectors against its memory limit only in part.
int64_t RowsToEmit(const ScanLocal& local) {
  constexpr int64_t kBytesMax = 512 << 10;
  const int64_t left = local.batch->num_rows() - local.next_row;
  int64_t count = std::min(static_cast<int64_t>(duckdb::Loaded().vector_size()), left);
  const auto bytes = [&] {
    return arrow::util::ReferencedBufferSize(*local.batch->Slice(local.next_row, count)).ValueOr(0);
  };
  while (count > 1 && bytes() > kBytesMax) count = (count + 1) / 2;
  return count;
}

Status Emit(ScanState& state, ScanLocal& local, duckdb::DataChunk output) {
  const Api& api = duckdb::Loaded();
  ASSIGN_OR_RAISE(const bool more, Advance(state, local));
  if (!more) {
    api.data_chunk_set_size(output, 0);
    return Status::OK();
  }
  const int64_t count = RowsToEmit(local);
  for (size_t i = 0; i < state.columns.size(); ++i) {
    if (state.columns[i] < 0) continue;
    const int column = state.columns[i];
    const SqlType& type =
        state.binding->types[static_cast<size_t>(state.wanted[static_cast<size_t>(column)])];
    const Status filled =
        duckdb::FillVector(api, type, *local.batch->column(column), local.next_row, count,
                           api.data_chunk_get_vector(output, i));
    if (!filled.ok()) {
      return filled.WithMessage(filled.message(),
                                " column=", local.batch->schema()->field(column)->name());
    }
  }
  local.next_row += count;
  api.data_chunk_set_size(output, static_cast<Index>(count));
  return Status::OK();
}

Status Produce(duckdb::FunctionInfo info, duckdb::DataChunk output) {
  auto& state = *static_cast<ScanState*>(duckdb::Loaded().function_get_init_data(info));
  auto& local = *static_cast<ScanLocal*>(duckdb::Loaded().function_get_local_init_data(info));
  return Emit(state, local, output);
}

}  // namespace

Status RegisterScan(const Api& api, duckdb::Connection connection, ScanRegistry* scans) {
  duckdb::Owned<duckdb::TableFunction> function(api.create_table_function(),
                                                api.destroy_table_function);
  const duckdb::Owned<duckdb::LogicalType> id =
      duckdb::MakeType(api, SqlType::Of(SqlKind::kBigInt));
  api.table_function_set_name(function.get(), "sluice_scan");
  api.table_function_add_parameter(function.get(), id.get());
  api.table_function_set_extra_info(function.get(), new ScanExtra{scans}, Delete<ScanExtra>);
  api.table_function_set_bind(function.get(), duckdb::Callback<Bind>);
  api.table_function_set_init(function.get(), duckdb::Callback<Init>);
  api.table_function_set_local_init(function.get(), duckdb::Callback<InitLocal>);
  api.table_function_set_function(function.get(), duckdb::Callback<Produce>);
  api.table_function_supports_projection_pushdown(function.get(), true);
  return api.register_table_function(connection, function.get()) == duckdb::State::kSuccess
             ? Status::OK()
             : Status::Invalid("query engine does not take the scan function");
}

}  // namespace sluice::sql
