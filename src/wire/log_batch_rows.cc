#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/arrow_message_internal.h"
#include "wire/batch_statistics.h"
#include "wire/column_check_internal.h"
#include "wire/log_batch.h"
#include "wire/log_batch_internal.h"
#include "wire/unpack_internal.h"
#include "wire/zstd_internal.h"

namespace sluice::wire {
namespace {

// Arrow's writer appends straight to our string.
class StringOutput : public arrow::io::OutputStream {
 public:
  explicit StringOutput(std::string* out) : out_(out), start_(out->size()) {}
  Status Close() override { return Status::OK(); }
  bool closed() const override { return false; }
  Result<int64_t> Tell() const override { return static_cast<int64_t>(out_->size() - start_); }
  Status Write(const void* data, int64_t size) override {
    out_->append(static_cast<const char*>(data), static_cast<size_t>(size));
    return Status::OK();
  }
  using arrow::io::OutputStream::Write;

 private:
  std::string* out_;
  size_t start_;
};

Result<arrow::ipc::IpcWriteOptions> WriteOptions(const LogBatchOptions& options) {
  auto ipc = arrow::ipc::IpcWriteOptions::Defaults();
  ipc.use_threads = false;
  if (options.compression == ArrowCompression::kLz4Frame) {
    ASSIGN_OR_RAISE(ipc.codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
  } else if (options.compression == ArrowCompression::kZstd) {
    ASSIGN_OR_RAISE(ipc.codec, internal::ZstdCodec(options.zstd_level));
  }
  return ipc;
}

struct Message {
  uint64_t head_bytes;
  internal::ArrowMessage metadata;
};

// The Arrow message of a batch that has rows; what is wrong with it that metadata shows.
Result<Message> CheckedMessage(const LogBatchView& batch, const arrow::Schema& schema) {
  constexpr auto kLastChangeType = static_cast<uint8_t>(ChangeType::kDelete);
  const auto known = [](char type) { return static_cast<uint8_t>(type) <= kLastChangeType; };
  if (!std::ranges::all_of(batch.change_types(), known))
    return Corrupt("log batch has an unknown change type");
  const std::string_view bytes = batch.body();
  ASSIGN_OR_RAISE(const uint64_t head_bytes, internal::ArrowHeadBytes(bytes));
  if (head_bytes > bytes.size()) return Corrupt("log batch ends inside its arrow metadata");
  ASSIGN_OR_RAISE(auto metadata, internal::ParseArrowHead(bytes.substr(0, head_bytes)));
  ARROW_RETURN_NOT_OK(internal::CheckColumns(metadata, bytes.substr(head_bytes), schema));
  if (metadata.row_count != batch.header().record_count) {
    return Corrupt("log batch has another row count than its header row_count=",
                   metadata.row_count);
  }
  return Message{head_bytes, std::move(metadata)};
}

// Arrow verifies parts of the metadata that we do not read.
Status CheckFlatbuffer(std::string_view head) {
  head.remove_prefix(internal::kArrowPrefixBytes);
  const auto metadata = std::make_shared<arrow::Buffer>(head);
  const auto opened = arrow::ipc::Message::Open(metadata, /*body=*/nullptr);
  if (!opened.ok()) return Corrupt("arrow metadata is malformed: ", opened.status().message());
  return Status::OK();
}

// `flatbuffer` is the message's metadata, `body` its columns, aligned and not compressed: raw
// buffers of the result point into it.
Result<std::shared_ptr<arrow::RecordBatch>> ReadRows(std::string_view flatbuffer,
                                                     std::shared_ptr<arrow::Buffer> body,
                                                     const std::shared_ptr<arrow::Schema>& schema) {
  const auto metadata = arrow::Buffer::FromString(std::string(flatbuffer));
  ASSIGN_OR_RAISE(const auto message, arrow::ipc::Message::Open(metadata, std::move(body)));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  arrow::ipc::DictionaryMemo no_dictionaries;
  ASSIGN_OR_RAISE(auto rows,
                  arrow::ipc::ReadRecordBatch(*message, schema, &no_dictionaries, options));
  // Offsets inside columns come from outside too.
  ARROW_RETURN_NOT_OK(rows->ValidateFull());
  return rows;
}

Result<std::shared_ptr<arrow::RecordBatch>> ReadMessage(
    const Message& message, std::string_view bytes, const std::shared_ptr<arrow::Schema>& schema) {
  std::string_view head = bytes.substr(0, message.head_bytes);
  const std::string_view body = bytes.substr(message.head_bytes, message.metadata.body_bytes);
  if (message.metadata.codec.has_value()) {
    ARROW_RETURN_NOT_OK(CheckFlatbuffer(head));
    ASSIGN_OR_RAISE(auto plain, internal::Unpack(message.metadata, body));
    const std::string plain_head = internal::BuildArrowHead(plain.metadata);
    return ReadRows(std::string_view(plain_head).substr(internal::kArrowPrefixBytes),
                    std::move(plain.body), schema);
  }
  // Copied once, since it must be aligned.
  ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> owned,
                  arrow::AllocateBuffer(static_cast<int64_t>(body.size())));
  if (!body.empty()) std::memcpy(owned->mutable_data(), body.data(), body.size());
  head.remove_prefix(internal::kArrowPrefixBytes);
  return ReadRows(head, std::move(owned), schema);
}

}  // namespace

Result<std::string> BuildLogBatch(const LogBatchOptions& options, const arrow::RecordBatch& rows,
                                  std::span<const ChangeType> changes) {
  CHECK(rows.num_rows() > 0 && rows.num_rows() <= INT32_MAX);
  CHECK(changes.empty() || changes.size() == static_cast<size_t>(rows.num_rows()));
  std::string statistics;
  if (options.statistics != nullptr) {
    ASSIGN_OR_RAISE(statistics, options.statistics->Encode(rows));
  }
  std::string batch = internal::StartLogBatch(options, changes.empty(),
                                              static_cast<int32_t>(rows.num_rows()), statistics);
  batch.append(reinterpret_cast<const char*>(changes.data()), changes.size());
  ASSIGN_OR_RAISE(const auto ipc, WriteOptions(options));
  StringOutput out(&batch);
  int32_t metadata_length = 0;
  int64_t body_length = 0;
  ARROW_RETURN_NOT_OK(arrow::ipc::WriteRecordBatch(rows, /*buffer_start_offset=*/0, &out,
                                                   &metadata_length, &body_length, ipc));
  if (batch.size() > INT32_MAX) {
    return Error(ErrorCode::kRecordTooLarge, "log batch is too large size_bytes=", batch.size());
  }
  internal::FinishLogBatch(&batch);
  return batch;
}

Result<std::shared_ptr<arrow::RecordBatch>> DecodeRows(
    const LogBatchView& batch, const std::shared_ptr<arrow::Schema>& schema) {
  if (batch.header().record_count == 0) return arrow::RecordBatch::MakeEmpty(schema);
  ASSIGN_OR_RAISE(const auto message, CheckedMessage(batch, *schema));
  auto rows = ReadMessage(message, batch.body(), schema);
  if (!rows.ok()) return Corrupt("log batch rows are malformed: ", rows.status().message());
  return rows;
}

Result<ArrowCompression> CompressionOf(const LogBatchView& batch) {
  if (batch.header().record_count == 0) return ArrowCompression::kNone;
  const std::string_view bytes = batch.body();
  ASSIGN_OR_RAISE(const uint64_t head_bytes, internal::ArrowHeadBytes(bytes));
  if (head_bytes > bytes.size()) return Corrupt("log batch ends inside its arrow metadata");
  ASSIGN_OR_RAISE(const auto metadata, internal::ParseArrowHead(bytes.substr(0, head_bytes)));
  if (!metadata.codec.has_value()) return ArrowCompression::kNone;
  return *metadata.codec == 0 ? ArrowCompression::kLz4Frame : ArrowCompression::kZstd;
}

Status CheckRows(const LogBatchView& batch, const arrow::Schema& schema) {
  if (batch.header().record_count == 0) return Status::OK();
  ASSIGN_OR_RAISE(const auto message, CheckedMessage(batch, schema));
  ARROW_RETURN_NOT_OK(CheckFlatbuffer(batch.body().substr(0, message.head_bytes)));
  size_t node = 0;
  for (const auto& field : schema.fields()) {
    if (!field->nullable() && message.metadata.nodes[node].null_count > 0) {
      return Error(ErrorCode::kInvalidTable, "column does not allow NULL column=", field->name());
    }
    ASSIGN_OR_RAISE(const auto layout, internal::LayoutOf(*field->type()));
    node += layout.nodes;
  }
  return Status::OK();
}

}  // namespace sluice::wire
