#pragma once
#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>

#include "base/error.h"
#include "wire/arrow_message_internal.h"

namespace sluice::wire::internal {

/// An Arrow message whose buffers are not compressed.
struct PlainMessage {
  ArrowMessage metadata;
  std::shared_ptr<arrow::Buffer> body;
};

/// Unpack the buffers of a compressed message that CheckColumns accepted, all into one piece of
/// memory. Errors: kCorruptRecord for damage inside a frame.
Result<PlainMessage> Unpack(const ArrowMessage& message, std::string_view body);

}  // namespace sluice::wire::internal
