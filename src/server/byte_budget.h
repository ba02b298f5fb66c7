#pragma once
#include <cstdint>
#include <memory>

#include "io/loop.h"
#include "io/task.h"

namespace sluice::server {

/// A bounded number of bytes that requests under way may hold. Who asks for more than is left waits
/// in line, so that reading from sockets stops and TCP pushes back.
///
/// Threads: any.
class ByteBudget {
 public:
  /// Bytes held; given back when it goes.
  class Grant {
   public:
    Grant() = default;
    Grant(Grant&& other) noexcept;
    Grant& operator=(Grant&& other) noexcept;
    ~Grant();
    uint64_t size_bytes() const { return size_bytes_; }

   private:
    friend class ByteBudget;
    struct State;
    Grant(std::shared_ptr<State> state, uint64_t size_bytes)
        : state_(std::move(state)), size_bytes_(size_bytes) {}
    std::shared_ptr<State> state_;
    uint64_t size_bytes_ = 0;
  };

  explicit ByteBudget(uint64_t total_bytes);
  /// Wait, in order of arrival, until `size_bytes` are free. More than the whole budget waits until
  /// nothing is held.
  io::Task<Grant> Take(io::Loop& loop, uint64_t size_bytes);
  uint64_t used_bytes() const;
  uint64_t total_bytes() const;
  /// Callers in line.
  size_t waiting() const;

 private:
  std::shared_ptr<Grant::State> state_;
};

}  // namespace sluice::server
