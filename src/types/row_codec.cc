#include <arrow/record_batch.h>

#include "base/bytes.h"
#include "base/check.h"
#include "types/row.h"
#include "types/row_reader_internal.h"
#include "types/row_writer_internal.h"

namespace sluice::types {
namespace {

RowLayout LayoutOfFormat(RowFormat format) {
  return format == RowFormat::kCompacted ? RowLayout::kCompacted : RowLayout::kIndexed;
}

std::vector<ValueLayout> LayoutsOf(const std::vector<DataTypePtr>& columns) {
  std::vector<ValueLayout> layouts;
  layouts.reserve(columns.size());
  for (const DataTypePtr& column : columns) layouts.push_back(LayoutOf(*column));
  return layouts;
}

}  // namespace

std::vector<DataTypePtr> TypesOf(const std::vector<Column>& columns) {
  std::vector<DataTypePtr> types;
  types.reserve(columns.size());
  for (const Column& column : columns) types.push_back(column.type);
  return types;
}

RowCodec::RowCodec(RowFormat format, std::vector<DataTypePtr> columns)
    : format_(format),
      columns_(std::move(columns)),
      layouts_(std::make_shared<const std::vector<ValueLayout>>(LayoutsOf(columns_))) {}

Status RowCodec::Encode(const arrow::RecordBatch& batch, int64_t from, int64_t count,
                        std::vector<std::string>* out) const {
  CHECK(from >= 0 && count >= 0 && from + count <= batch.num_rows());
  ASSIGN_OR_RAISE(const auto views, ViewColumns(columns_, batch));
  RowWriter writer(LayoutOfFormat(format_));
  out->reserve(out->size() + static_cast<size_t>(count));
  std::string row;  // Grows once; each row is copied out at its exact size.
  for (int64_t i = from; i < from + count; ++i) {
    row.clear();
    writer.AppendRow(views, i, &row);
    out->push_back(row);
  }
  return writer.status();
}

Status RowCodec::EncodeEach(const arrow::RecordBatch& batch, std::span<const int64_t> rows,
                            const TakeBytes& take) const {
  ASSIGN_OR_RAISE(const auto views, ViewColumns(columns_, batch));
  RowWriter writer(LayoutOfFormat(format_));
  std::string row;
  for (const int64_t i : rows) {
    CHECK(i >= 0 && i < batch.num_rows());
    row.clear();
    writer.AppendRow(views, i, &row);
    take(row);
  }
  return writer.status();
}

Result<std::shared_ptr<arrow::RecordBatch>> RowCodec::Decode(
    std::span<const std::string_view> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<ColumnSink> sinks = MakeSinks(columns_, count);
  const RowReader reader(LayoutOfFormat(format_));
  for (const std::string_view row : rows) RETURN_NOT_OK(reader.ReadRow(row, &sinks));
  return FinishSinks(columns_, std::move(sinks), count);
}

Result<std::shared_ptr<arrow::RecordBatch>> RowCodec::DecodeParts(
    std::span<const std::optional<std::string_view>> parts) const {
  CHECK(!columns_.empty() && parts.size() % columns_.size() == 0);
  const auto count = static_cast<int64_t>(parts.size() / columns_.size());
  std::vector<ColumnSink> sinks = MakeSinks(columns_, count);
  const RowReader reader(LayoutOfFormat(format_));
  for (size_t i = 0; i < parts.size(); ++i)
    RETURN_NOT_OK(reader.ReadPart(parts[i], &sinks[i % columns_.size()]));
  return FinishSinks(columns_, std::move(sinks), count);
}

Result<std::vector<std::optional<std::string_view>>> RowCodec::Split(std::string_view row) const {
  std::vector<std::optional<std::string_view>> parts(columns_.size());
  RETURN_NOT_OK(SplitInto(row, parts));
  return parts;
}

Status RowCodec::SplitInto(std::string_view row,
                           std::span<std::optional<std::string_view>> out) const {
  CHECK(out.size() == columns_.size());
  return format_ == RowFormat::kCompacted ? SplitCompacted(*layouts_, row, out)
                                          : SplitIndexed(*layouts_, row, out);
}

std::string RowCodec::Join(std::span<const std::optional<std::string_view>> parts) const {
  std::string row;
  JoinInto(parts, &row);
  return row;
}

void RowCodec::JoinInto(std::span<const std::optional<std::string_view>> parts,
                        std::string* out) const {
  CHECK(parts.size() == columns_.size());
  out->assign(NullBytes(parts.size()), '\0');
  size_t size_at = out->size();
  if (format_ == RowFormat::kIndexed)
    out->append(std::ranges::count_if(*layouts_, HasListedSize) * 4, '\0');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]) {
      (*out)[i / 8] = static_cast<char>((*out)[i / 8] | 1 << (i & 7));
      continue;
    }
    out->append(*parts[i]);
    if (format_ == RowFormat::kCompacted || !HasListedSize((*layouts_)[i])) continue;
    StoreLe(out->data() + size_at, static_cast<int32_t>(parts[i]->size()));
    size_at += 4;
  }
}

BinaryRowEncoder::BinaryRowEncoder(std::vector<DataTypePtr> columns)
    : columns_(std::move(columns)) {}

Status BinaryRowEncoder::Encode(const arrow::RecordBatch& batch, std::span<const int> columns,
                                int64_t row, std::string* out) const {
  CHECK(row >= 0 && row < batch.num_rows());
  ASSIGN_OR_RAISE(const auto views, ViewColumns(columns_, batch, columns));
  RowWriter writer(RowLayout::kBinary);
  writer.AppendRow(views, row, out);
  return writer.status();
}

Result<std::shared_ptr<arrow::RecordBatch>> DecodeBinaryRows(
    const std::vector<DataTypePtr>& columns, std::span<const std::string_view> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<ColumnSink> sinks = MakeSinks(columns, count);
  const RowReader reader(RowLayout::kBinary);
  for (const std::string_view row : rows) RETURN_NOT_OK(reader.ReadRow(row, &sinks));
  return FinishSinks(columns, std::move(sinks), count);
}

}  // namespace sluice::types
