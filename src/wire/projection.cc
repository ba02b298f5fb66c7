#include "wire/projection.h"

#include <arrow/type.h>

#include "base/check.h"
#include "wire/arrow_message_internal.h"
#include "wire/log_batch.h"
#include "wire/log_batch_internal.h"

namespace sluice::wire {
namespace {

// Bytes of a batch in front of its body: header, statistics, change types.
uint64_t BodyAt(const LogBatchHeader& header) {
  return header.header_bytes() + static_cast<uint64_t>(header.statistics_length) +
         (header.append_only() ? 0 : static_cast<uint64_t>(header.record_count));
}

void AddRange(ProjectedBatch* out, uint64_t position_bytes, uint64_t size_bytes) {
  if (size_bytes == 0) return;
  out->size_bytes += size_bytes;
  if (!out->ranges.empty()) {
    auto& last = out->ranges.back();
    if (last.position_bytes + last.size_bytes == position_bytes) {
      last.size_bytes += size_bytes;
      return;
    }
  }
  out->ranges.push_back({position_bytes, size_bytes});
}

}  // namespace

Result<BatchProjector> BatchProjector::Make(const arrow::Schema& schema,
                                            std::span<const int32_t> positions) {
  if (positions.empty())
    return Error(ErrorCode::kInvalidColumnProjection, "projection has no columns");
  BatchProjector projector;
  size_t wanted = 0;
  for (int32_t column = 0; column < schema.num_fields(); ++column) {
    ASSIGN_OR_RAISE(const auto layout, internal::LayoutOf(*schema.field(column)->type()));
    if (wanted < positions.size() && positions[wanted] == column) {
      projector.kept_.push_back(
          {projector.node_count_, layout.nodes, projector.buffer_count_, layout.buffers});
      ++wanted;
    }
    projector.node_count_ += layout.nodes;
    projector.buffer_count_ += layout.buffers;
  }
  if (wanted < positions.size()) {
    return Error(ErrorCode::kInvalidColumnProjection,
                 "projection is not ascending or outside the schema position=", positions[wanted],
                 " columns=", schema.num_fields());
  }
  return projector;
}

Result<uint64_t> BatchProjector::FrontBytes(std::string_view front) {
  if (front.size() < kLogBatchHeaderBytes) return kLogBatchHeaderBytes;
  if (front[12] == 1 && front.size() < kLogBatchHeaderBytesMax) return kLogBatchHeaderBytesMax;
  ASSIGN_OR_RAISE(const auto header, ParseLogBatchHeader(front));
  if (header.record_count == 0) return header.header_bytes();
  const uint64_t body_at = BodyAt(header);
  uint64_t needed = body_at + internal::kArrowPrefixBytes;
  if (needed <= front.size()) {
    ASSIGN_OR_RAISE(const uint64_t head_bytes, internal::ArrowHeadBytes(front.substr(body_at)));
    needed = body_at + head_bytes;
  }
  if (needed > header.size_bytes())
    return Corrupt("log batch ends inside its arrow metadata length=", header.length);
  return needed;
}

Result<ProjectedBatch> BatchProjector::Project(std::string_view front) const {
  ASSIGN_OR_RAISE(const uint64_t front_bytes, FrontBytes(front));
  if (front_bytes > front.size())
    return Corrupt("front of the log batch is cut size_bytes=", front.size());
  ASSIGN_OR_RAISE(const auto header, ParseLogBatchHeader(front));
  if (header.record_count == 0) return ProjectEmpty(front);
  ProjectedBatch out;
  out.head = internal::HeaderOfMagic0(front);
  ARROW_RETURN_NOT_OK(ProjectBody(header, front.substr(0, front_bytes), &out));
  out.size_bytes += out.head.size();
  internal::SetLogBatchLength(out.head.data(), out.size_bytes);
  return out;
}

Result<ProjectedBatch> BatchProjector::ProjectEmpty(std::string_view front) {
  ASSIGN_OR_RAISE(const auto header, ParseLogBatchHeader(front));
  CHECK(header.record_count == 0);
  ProjectedBatch out;
  out.head = internal::HeaderOfMagic0(front);
  out.size_bytes = out.head.size();
  internal::SetLogBatchLength(out.head.data(), out.size_bytes);
  return out;
}

Status BatchProjector::ProjectBody(const LogBatchHeader& header, std::string_view front,
                                   ProjectedBatch* out) const {
  const uint64_t body_at = BodyAt(header);
  const uint64_t columns_at = front.size();
  ASSIGN_OR_RAISE(const auto message, internal::ParseArrowHead(front.substr(body_at)));
  if (message.nodes.size() != node_count_ || message.buffers.size() != buffer_count_) {
    return Corrupt("log batch has other columns than its schema nodes=", message.nodes.size(),
                   " buffers=", message.buffers.size());
  }
  if (static_cast<uint64_t>(message.body_bytes) > header.size_bytes() - columns_at) {
    return Corrupt("log batch ends inside its columns body_bytes=", message.body_bytes);
  }
  internal::ArrowMessage kept;
  kept.version = message.version;
  kept.row_count = message.row_count;
  kept.codec = message.codec;
  for (const Kept& column : kept_) {
    kept.nodes.insert(kept.nodes.end(), message.nodes.begin() + column.first_node,
                      message.nodes.begin() + column.first_node + column.node_count);
    for (size_t i = column.first_buffer; i < column.first_buffer + column.buffer_count; ++i) {
      // A buffer goes with the padding behind it, up to where the next one begins.
      const auto& buffer = message.buffers[i];
      const int64_t end =
          i + 1 < message.buffers.size() ? message.buffers[i + 1].offset_bytes : message.body_bytes;
      if (end < buffer.offset_bytes + buffer.size_bytes)
        return Corrupt("log batch has buffers out of order");
      kept.buffers.push_back({kept.body_bytes, buffer.size_bytes});
      kept.body_bytes += end - buffer.offset_bytes;
      AddRange(out, columns_at + buffer.offset_bytes, end - buffer.offset_bytes);
    }
  }
  out->head += front.substr(header.header_bytes() + header.statistics_length,
                            body_at - header.header_bytes() - header.statistics_length);
  out->head += internal::BuildArrowHead(kept);
  return Status::OK();
}

Result<std::string> BatchProjector::ProjectInMemory(std::string_view batch) const {
  ASSIGN_OR_RAISE(const auto header, ParseLogBatchHeader(batch));
  if (header.size_bytes() > batch.size())
    return Corrupt("log batch ends early length=", header.length);
  ASSIGN_OR_RAISE(auto projected, Project(batch));
  std::string out = std::move(projected.head);
  out.reserve(projected.size_bytes);
  for (const auto& range : projected.ranges)
    out += batch.substr(range.position_bytes, range.size_bytes);
  return out;
}

}  // namespace sluice::wire
