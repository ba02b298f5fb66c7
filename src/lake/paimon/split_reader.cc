#include "lake/paimon/split_reader.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/paimon/merge.h"

namespace sluice::lake::paimon {
namespace {

std::shared_ptr<arrow::Schema> SchemaOf(const std::vector<types::Column>& columns) {
  arrow::FieldVector fields;
  for (const types::Column& column : columns) {
    fields.push_back(
        arrow::field(column.name, LakeArrowType(*column.type), column.type->nullable()));
  }
  return arrow::schema(fields);
}

class RawReader : public LakeReader {
 public:
  RawReader(const ReadContext& context, std::shared_ptr<const LakeSchema> newest,
            const LakeSplit& split, std::vector<types::Column> columns, BatchSize batch)
      : context_(context),
        newest_(std::move(newest)),
        detail_(std::static_pointer_cast<const SplitDetail>(split.detail)),
        columns_(std::move(columns)),
        batch_(batch),
        schema_(SchemaOf(columns_)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      if (file_ == nullptr) {
        if (next_file_ == detail_->files.size()) return nullptr;
        const ManifestEntry& entry = detail_->files[next_file_++];
        ASSIGN_OR_RAISE(file_,
                        FileRowsReader::Open(context_, *newest_, columns_, entry,
                                             PathOf(entry, detail_->folder),
                                             /*with_keys=*/false, batch_, detail_->predicates));
      }
      ASSIGN_OR_RAISE(const auto rows, file_->Next());
      if (rows != nullptr)
        return arrow::RecordBatch::Make(schema_, rows->count, std::move(rows->columns));
      file_.reset();
    }
  }

 private:
  ReadContext context_;
  std::shared_ptr<const LakeSchema> newest_;
  std::shared_ptr<const SplitDetail> detail_;
  std::vector<types::Column> columns_;
  BatchSize batch_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t next_file_ = 0;
  std::unique_ptr<FileRowsReader> file_;
};

class MergedReader : public LakeReader {
 public:
  MergedReader(const std::vector<types::Column>& columns, std::unique_ptr<MergeReader> merge)
      : schema_(SchemaOf(columns)), merge_(std::move(merge)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ASSIGN_OR_RAISE(auto rows, merge_->Next());
    if (rows == nullptr) return nullptr;
    return arrow::RecordBatch::Make(schema_, rows->count, std::move(rows->columns));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<MergeReader> merge_;
};

}  // namespace

Result<std::unique_ptr<LakeReader>> OpenSplitReader(const ReadContext& context,
                                                    std::shared_ptr<const LakeSchema> newest,
                                                    const LakeSplit& split,
                                                    std::vector<types::Column> columns,
                                                    int64_t bytes_max) {
  if (split.raw) {
    return std::make_unique<RawReader>(context, std::move(newest), split, std::move(columns),
                                       BatchSize{.bytes = bytes_max});
  }
  const std::string engine = newest->Option("merge-engine", "deduplicate");
  if (engine != "deduplicate" || !newest->Option("sequence.field").empty()) {
    return Error(ErrorCode::kInvalidTable,
                 "lake table merges in a way that is not supported, merge-engine=", engine,
                 " sequence.field=", newest->Option("sequence.field"));
  }
  const auto& detail = *static_cast<const SplitDetail*>(split.detail.get());
  const BatchSize batch = MergeReader::BatchOf(detail.files.size(), bytes_max);
  std::vector<std::unique_ptr<FileRowsReader>> files;
  for (const ManifestEntry& entry : detail.files) {
    ASSIGN_OR_RAISE(auto file, FileRowsReader::Open(context, *newest, columns, entry,
                                                    PathOf(entry, detail.folder),
                                                    /*with_keys=*/true, batch, detail.predicates));
    files.push_back(std::move(file));
  }
  return std::make_unique<MergedReader>(
      columns, std::make_unique<MergeReader>(std::move(files), /*drop_deleted=*/true, bytes_max));
}

}  // namespace sluice::lake::paimon
