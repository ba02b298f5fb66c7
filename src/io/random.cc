#include "io/random.h"

#include <sys/random.h>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::io {
namespace {

class MachineRandom : public Random {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    CHECK(getrandom(&value, sizeof(value), 0) == sizeof(value));
    return value;
  }
};

}  // namespace

std::string Random::Uuid() {
  char raw[16];
  StoreBe(raw, Next());
  StoreBe(raw + 8, Next());
  raw[6] = static_cast<char>((raw[6] & 0x0f) | 0x40);  // Version 4.
  raw[8] = static_cast<char>((raw[8] & 0x3f) | 0x80);  // Variant of RFC 4122.
  std::string text = ToHex(std::string_view(raw, sizeof(raw)));
  for (const size_t dash : {8, 13, 18, 23}) text.insert(dash, 1, '-');
  return text;
}

Random& SystemRandom() {
  static MachineRandom random;
  return random;
}

uint64_t SeededRandom::Next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace sluice::io
