#pragma once
#include <string>
#include <string_view>

#include "meta/catalog_state.h"

namespace sluice::meta {

/// The document of a lake offsets file: arrays by bucket, -1 = no data, trailing
/// gaps left out.
std::string LakeOffsetsToJson(int64_t table_id, const BucketOffsets& offsets);

struct LakeOffsetsDocument {
  int64_t table_id = -1;
  BucketOffsets offsets;
};
/// Errors: kCorruptRecord.
Result<LakeOffsetsDocument> LakeOffsetsFromJson(std::string_view json);

}  // namespace sluice::meta
