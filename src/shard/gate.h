#pragma once
#include <memory>
#include <optional>

#include "io/loop.h"
#include "io/task.h"

namespace sluice::shard {

/// Lets work in until it is closed, and then waits for what is inside. Stopping is built on it:
/// close the gate of a part, then destroy the part.
///
/// Threads: any.
class Gate {
 public:
  /// Held by a piece of work while it runs; may outlive the gate.
  class Pass {
   public:
    Pass(Pass&&) noexcept = default;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass();

   private:
    friend class Gate;
    struct State;
    explicit Pass(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  Gate();
  /// Enter; nothing when the gate is closed.
  std::optional<Pass> Enter();
  /// Let nobody in any more.
  void Close();
  /// Close, and go on on `loop` once all passes are gone. At most one coroutine waits at a time.
  io::Task<void> CloseAndWait(io::Loop& loop);
  bool closed() const;
  size_t inside() const;

 private:
  std::shared_ptr<Pass::State> state_;
};

}  // namespace sluice::shard
