#pragma once
#include <cstdint>
#include <string>

namespace sluice::io {

/// Random numbers as the code sees them, from one seed in simulation.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;
  /// Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  /// A version 4 UUID in its 36-character lower-case text.
  std::string Uuid();
};

/// Seeded by the operating system; safe to use from any thread.
Random& SystemRandom();

/// The same numbers for the same seed (splitmix64). Confined to one thread.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override;

 private:
  uint64_t state_;
};

}  // namespace sluice::io
