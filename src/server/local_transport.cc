#include "server/local_transport.h"

#include <algorithm>
#include <atomic>

#include "wire/frame.h"

namespace sluice::server {
namespace {

bool HoldsFileRange(const io::Payload& payload) {
  return std::ranges::any_of(payload.parts(), [](const io::Payload::Part& part) {
    return std::holds_alternative<io::Payload::FileRange>(part);
  });
}

Status Closed() { return Error(ErrorCode::kNetwork, "transport is closed"); }

class LocalTransport : public io::Transport {
 public:
  LocalTransport(io::Service& service, io::Pool& pool, io::Principal principal)
      : service_(service),
        pool_(pool),
        principal_(std::make_shared<const io::Principal>(std::move(principal))) {}

  io::Task<Result<std::string>> Send(io::Loop& loop, io::Call call) override {
    return SendTo(service_, pool_, principal_, closed_, loop, std::move(call));
  }
  void Close() override { closed_->store(true); }

 private:
  // Keeps what it needs by itself, so that a transport may go while its calls are under way.
  static io::Task<Result<std::string>> SendTo(io::Service& service, io::Pool& pool,
                                              std::shared_ptr<const io::Principal> principal,
                                              std::shared_ptr<std::atomic<bool>> closed,
                                              io::Loop& loop, io::Call call) {
    if (*closed) co_return Closed();
    Result<io::Payload> answered =
        co_await service.Handle(loop, std::move(principal), std::move(call));
    if (*closed) co_return Closed();
    if (!answered.ok()) {
      const wire::ProtocolError error = wire::ToProtocolError(answered.status());
      co_return wire::FromProtocolError(error.code, error.message);
    }
    io::Payload payload = std::move(answered).ValueUnsafe();
    if (!HoldsFileRange(payload)) co_return payload.Flatten();
    const auto shared = std::make_shared<const io::Payload>(std::move(payload));
    const auto flatten = [shared] { return shared->Flatten(); };
    co_return co_await pool.Run(loop, flatten);
  }

  io::Service& service_;
  io::Pool& pool_;
  const std::shared_ptr<const io::Principal> principal_;
  const std::shared_ptr<std::atomic<bool>> closed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<io::Transport> MakeLocalTransport(io::Service& service, io::Pool& pool,
                                                  io::Principal principal) {
  return std::make_unique<LocalTransport>(service, pool, std::move(principal));
}

}  // namespace sluice::server
