#include <arrow/api.h>

#include <algorithm>

#include "sql/memory_view_testing_internal.h"

namespace sluice::sql {

namespace {

std::shared_ptr<arrow::Schema> ArrowSchemaOf(const std::vector<SourceColumn>& columns,
                                             const std::vector<int>& chosen) {
  arrow::FieldVector fields;
  for (const int column : chosen) {
    const SourceColumn& source = columns[static_cast<size_t>(column)];
    fields.push_back(arrow::field(source.name, source.type->ToArrow(), source.type->nullable()));
  }
  return arrow::schema(std::move(fields));
}

class OneBatch : public BatchReader {
 public:
  explicit OneBatch(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return std::exchange(batch_, nullptr);
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
};

class OnePart : public ScanSource {
 public:
  explicit OnePart(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}
  int parts() const override { return 1; }
  Result<std::unique_ptr<BatchReader>> OpenPart(int) override {
    return std::make_unique<OneBatch>(batch_);
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
};

class MemoryView : public TableView {
 public:
  MemoryView(std::vector<SourceColumn> columns, std::vector<MemoryRow> rows)
      : columns_(std::move(columns)), rows_(std::move(rows)) {}
  const std::vector<SourceColumn>& columns() const override { return columns_; }
  std::optional<int64_t> RowCountHint() const override {
    return static_cast<int64_t>(rows_.size());
  }

  Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                           std::vector<Predicate> predicates) override {
    const std::vector<MemoryRow> rows = Pruned(predicates);
    const auto schema = ArrowSchemaOf(columns_, columns);
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(schema->field(static_cast<int>(i))->type()));
      for (const MemoryRow& row : rows) {
        const auto& value = row[static_cast<size_t>(columns[i])];
        RETURN_NOT_OK(value->is_valid ? builder->AppendScalar(*value) : builder->AppendNull());
      }
      ASSIGN_OR_RAISE(auto array, builder->Finish());
      arrays.push_back(std::move(array));
    }
    return std::make_unique<OnePart>(
        arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(arrays)));
  }

  std::vector<std::string> Explain(const std::vector<int>&,
                                   const std::vector<Predicate>& predicates) const override {
    return {"memory: rows=" + std::to_string(rows_.size()) +
            " predicates=" + std::to_string(predicates.size())};
  }

 private:
  // Skips all that a scan may skip: a predicate that says more than its query changes an answer.
  std::vector<MemoryRow> Pruned(const std::vector<Predicate>& predicates) const {
    std::vector<MemoryRow> rows;
    std::ranges::copy_if(rows_, std::back_inserter(rows), [&](const MemoryRow& row) {
      return std::ranges::all_of(predicates, [&](const Predicate& predicate) {
        const auto column = std::ranges::find(columns_, predicate.column, &SourceColumn::name);
        return lake::Meets(predicate, *row[static_cast<size_t>(column - columns_.begin())]);
      });
    });
    return rows;
  }

  std::vector<SourceColumn> columns_;
  std::vector<MemoryRow> rows_;
};

}  // namespace

std::shared_ptr<TableView> MakeMemoryView(std::vector<SourceColumn> columns,
                                          std::vector<MemoryRow> rows) {
  return std::make_shared<MemoryView>(std::move(columns), std::move(rows));
}

}  // namespace sluice::sql
