#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::kv {

/// Values of a container that are an array; more are bits.
constexpr uint32_t kBitmapArrayMax = 4096;

/// The values of a Roaring bitmap that share all but their last 16 bits.
struct BitmapContainer {
  enum class Kind : uint8_t { kRuns, kBits, kArray };

  uint64_t key = 0;  ///< What they share.
  Kind kind = Kind::kArray;
  uint32_t cardinality = 0;
  std::string_view bytes;  ///< As serialized.
};

/// In order of their keys, none twice and none empty. Views the bitmap they were read from.
using BitmapContainers = std::vector<BitmapContainer>;

/// Takes parts off the front of serialized bytes. Errors: kInvalidTable at their end.
class BitmapReader {
 public:
  explicit BitmapReader(std::string_view bytes) : rest_(bytes) {}

  Result<std::string_view> Take(size_t size);
  template <typename T>
  Result<T> TakeLe();
  /// A container's own bytes. `count` is how many values an array has.
  Result<BitmapContainer> TakeContainer(BitmapContainer::Kind kind, uint32_t count);
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

Status BadBitmap(std::string_view what);

Result<BitmapContainers> ReadBitmap32(std::string_view bytes);
std::string WriteBitmap32(const BitmapContainers& containers);
Result<BitmapContainers> ReadBitmap64(std::string_view bytes);
std::string WriteBitmap64(const BitmapContainers& containers);

}  // namespace sluice::kv
