#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "io/loop.h"
#include "io/task.h"

namespace sluice::server {

/// A bounded number of bytes that requests under way may hold. Where there are none left its sender
/// is not read from, and TCP pushes back.
///
/// Requests of up to kSmallBytes have an eighth of it, which no larger one takes. A larger one
/// grows as its body comes, in five eighths; one at a time, which cannot go on there, grows in the
/// last quarter as far as it needs, beyond it if it is larger: so bodies that are half there, and
/// wait for one another, all come to their end. In the first two parts one address holds half at
/// most. A part that nobody holds takes any step.
///
/// Threads: any.
class ByteBudget {
 public:
  static constexpr uint64_t kSmallBytes = 16 << 10;

  /// What one request holds; given back when it goes. Confined to one thread at a time.
  class Grant {
   public:
    Grant() = default;
    Grant(Grant&& other) noexcept = default;
    Grant& operator=(Grant&& other) noexcept;
    ~Grant();
    /// Hold `size_bytes` in all, if they are there; false = nothing has changed.
    bool TryGrowTo(uint64_t size_bytes);
    /// The same, after a wait in line; false after Cancel.
    io::Task<bool> GrowTo(io::Loop& loop, uint64_t size_bytes);
    /// End a wait that is under way.
    void Cancel();

   private:
    friend class ByteBudget;
    struct State;
    struct Claim;
    Grant(std::shared_ptr<State> state, std::shared_ptr<Claim> claim)
        : state_(std::move(state)), claim_(std::move(claim)) {}
    std::shared_ptr<State> state_;
    std::shared_ptr<Claim> claim_;
  };

  explicit ByteBudget(uint64_t total_bytes);
  /// For a request of `size_bytes` from `peer` ("127.0.0.1:40312"), which holds nothing yet.
  Grant Open(std::string_view peer, uint64_t size_bytes);
  uint64_t used_bytes() const;
  uint64_t total_bytes() const;
  /// Callers in line.
  size_t waiting() const;

 private:
  std::shared_ptr<Grant::State> state_;
};

}  // namespace sluice::server
