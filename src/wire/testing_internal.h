#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/random.h"

namespace sluice::wire::internal {

/// A file of wire/testdata. Tests run in the source folder.
inline std::string ReadTestData(const std::string& name) {
  return io::LocalFileSystem().ReadFile("wire/testdata/" + name).ValueOrDie();
}

/// Bytes in an allocation of exactly their size, so that AddressSanitizer sees every read past
/// their end.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes)
      : bytes_(new char[bytes.size()]), size_(bytes.size()) {
    bytes.copy(bytes_.get(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }
  char& operator[](size_t at) { return bytes_[at]; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

/// Call `use` with every proper prefix of `bytes`.
template <typename Use>
void EveryCut(std::string_view bytes, Use use) {
  for (size_t size = 0; size < bytes.size(); ++size) use(ExactBytes(bytes.substr(0, size)).view());
}

/// Call `use` with copies of `bytes` in which one to four bytes are other than before. Half of the
/// changes put in numbers that lengths and counts break on.
template <typename Use>
void RandomDamage(std::string_view bytes, int rounds, Use use) {
  io::SeededRandom random(20260823);
  static constexpr char kNasty[] = {'\x00', '\x01', '\x7f', '\x80', '\xff'};
  for (int round = 0; round < rounds; ++round) {
    ExactBytes copy(bytes);
    for (uint64_t changes = 1 + random.Below(4); changes-- > 0;) {
      // Most of what can break lies in front.
      const size_t at =
          random.Below(random.Below(2) == 0 ? std::min<size_t>(bytes.size(), 400) : bytes.size());
      copy[at] = random.Below(2) == 0 ? kNasty[random.Below(sizeof kNasty)]
                                      : static_cast<char>(copy[at] ^ (1 << random.Below(8)));
    }
    use(copy.view());
  }
}

}  // namespace sluice::wire::internal
