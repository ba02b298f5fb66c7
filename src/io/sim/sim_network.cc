#include "io/sim/sim_network.h"

#include <algorithm>

namespace sluice::io {
namespace internal {

constexpr size_t kPieceBytesMax = 16 << 10;
constexpr size_t kWindowBytes = 256 << 10;  // Sent and not yet read; a writer waits beyond that.

// One way of a stream.
struct SimWay {
  std::string arrived;         // Not yet read.
  size_t under_way_bytes = 0;  // Sent, not yet arrived.
  bool ended = false;          // The writer has closed, and all of it has arrived.
  std::chrono::nanoseconds last_arrival{0};
  std::optional<Completion<bool>> reader_waits;
  std::optional<Completion<bool>> writer_waits;
};

// Wakes whoever waits, once.
void Wake(std::optional<Completion<bool>>* waiting) {
  if (waiting->has_value()) (*waiting)->Set(true);
  waiting->reset();
}

// Both ways of a stream and what is known of its two ends.
struct SimLink {
  SimLink(SimWorld& in, std::chrono::nanoseconds latency, Loop& client, Loop& server)
      : world(in), latency_max(latency), loops{&client, &server} {}

  // Let `arrive` happen at the end that `way` leads to, after all that was sent that way before.
  void Deliver(int way, std::function<void()> arrive) {
    const auto late = std::chrono::nanoseconds(
        world.random().Below(static_cast<uint64_t>(latency_max.count()) + 1));
    const auto now = world.clock().Monotonic();
    ways[way].last_arrival = std::max(ways[way].last_arrival, now + late);
    world.Schedule(*loops[1 - way], ways[way].last_arrival - now, std::move(arrive));
  }

  void WakeAll() {
    for (SimWay& way : ways) {
      Wake(&way.reader_waits);
      Wake(&way.writer_waits);
    }
  }

  SimWorld& world;
  const std::chrono::nanoseconds latency_max;
  Loop* const loops[2];  // Of end 0 (client) and end 1 (server).
  SimWay ways[2];        // ways[end] leads away from that end.
  bool closed[2] = {false, false};
  bool broken = false;
};

Status SimFailure(const std::string& peer, std::string_view reason) {
  return Error(ErrorCode::kNetwork, "connection failed peer=", peer, " reason=", reason);
}

Task<Result<size_t>> SimRead(std::shared_ptr<SimLink> link, int end, std::string peer, char* out,
                             size_t size) {
  SimWay& way = link->ways[1 - end];
  while (way.arrived.empty()) {
    if (link->closed[end]) co_return SimFailure(peer, "closed");
    if (link->broken) co_return SimFailure(peer, "reset");
    if (way.ended) co_return size_t{0};
    Completion<bool> arrival(*link->loops[end]);
    way.reader_waits = arrival;
    co_await arrival;
  }
  if (link->closed[end]) co_return SimFailure(peer, "closed");
  const size_t got = 1 + link->world.random().Below(std::min(size, way.arrived.size()));
  std::copy_n(way.arrived.data(), got, out);
  way.arrived.erase(0, got);
  Wake(&way.writer_waits);
  co_return got;
}

Task<Status> SimWrite(std::shared_ptr<SimLink> link, int end, std::string peer, Payload payload) {
  CO_ASSIGN_OR_RETURN(const std::string bytes, payload.Flatten());
  SimWay& way = link->ways[end];
  for (size_t sent = 0; sent < bytes.size();) {
    if (link->closed[end]) co_return SimFailure(peer, "closed");
    if (link->broken || link->closed[1 - end]) co_return SimFailure(peer, "reset");
    if (way.under_way_bytes + way.arrived.size() >= kWindowBytes) {
      Completion<bool> room(*link->loops[end]);
      way.writer_waits = room;
      co_await room;
      continue;
    }
    std::string piece = bytes.substr(sent, 1 + link->world.random().Below(kPieceBytesMax));
    sent += piece.size();
    way.under_way_bytes += piece.size();
    link->Deliver(end, [link, end, piece = std::move(piece)] {
      if (link->broken) return;
      SimWay& arriving = link->ways[end];
      arriving.under_way_bytes -= piece.size();
      arriving.arrived += piece;
      Wake(&arriving.reader_waits);
    });
  }
  co_return link->closed[end] ? SimFailure(peer, "closed") : Status::OK();
}

class SimConnection : public Connection {
 public:
  SimConnection(std::shared_ptr<SimLink> link, int end, std::string peer)
      : link_(std::move(link)), end_(end), peer_(std::move(peer)) {}
  ~SimConnection() override { Close(); }

  Task<Result<size_t>> Read(char* out, size_t size) override {
    return SimRead(link_, end_, peer_, out, size);
  }
  Task<Status> Write(Payload payload) override {
    return SimWrite(link_, end_, peer_, std::move(payload));
  }
  void Close() override {
    if (std::exchange(link_->closed[end_], true)) return;
    Wake(&link_->ways[1 - end_].reader_waits);
    Wake(&link_->ways[end_].writer_waits);
    link_->Deliver(end_, [link = link_, end = end_] {
      link->ways[end].ended = true;
      link->WakeAll();
    });
  }
  std::optional<uint64_t> UnreadAtEnd() const override {
    const SimWay& way = link_->ways[1 - end_];
    if (!link_->closed[end_] && !link_->broken && !way.ended) return std::nullopt;
    return way.arrived.size();
  }
  const std::string& peer() const override { return peer_; }

 private:
  const std::shared_ptr<SimLink> link_;
  const int end_;
  const std::string peer_;
};

class SimListener : public Listener {
 public:
  SimListener(SimNetwork* network, uint16_t port) : network_(network), port_(port) {}
  ~SimListener() override { network_->targets_.erase(port_); }
  uint16_t port() const override { return port_; }

 private:
  SimNetwork* const network_;
  const uint16_t port_;
};

}  // namespace internal

using internal::SimConnection;
using internal::SimLink;

SimNetwork::~SimNetwork() = default;

Result<std::unique_ptr<Listener>> SimNetwork::Listen(const std::string& host, uint16_t port,
                                                     std::vector<Loop*> loops, Accept accept) {
  if (port == 0) port = next_port_++;
  if (targets_.contains(port)) {
    return Error(ErrorCode::kNetwork, "cannot listen address=", host, ":", port,
                 " reason=address in use");
  }
  targets_[port] = std::make_shared<Target>(Target{std::move(loops), std::move(accept)});
  return std::make_unique<internal::SimListener>(this, port);
}

Task<Result<std::unique_ptr<Connection>>> SimNetwork::Connect(Loop& loop, std::string host,
                                                              uint16_t port) {
  Completion<bool> tried(loop);
  const auto latency_us = static_cast<uint64_t>(latency_max_.count());
  world_.Schedule(loop, std::chrono::microseconds(world_.random().Below(latency_us + 1)),
                  [tried] { tried.Set(true); });
  co_await tried;
  const std::string address = host + ":" + std::to_string(port);
  const auto found = targets_.find(port);
  if (found == targets_.end()) {
    co_return Error(ErrorCode::kNetwork, "cannot connect address=", address,
                    " reason=connection refused");
  }
  const std::shared_ptr<Target> target = found->second;
  Loop& server = *target->loops[target->next++ % target->loops.size()];
  const auto link = std::make_shared<SimLink>(world_, latency_max_, loop, server);
  links_.push_back(link);
  const std::string client_address = "127.0.0.1:" + std::to_string(next_port_++);
  server.Post([target, link, client_address] {
    target->accept(std::make_unique<SimConnection>(link, 1, client_address));
  });
  co_return std::make_unique<SimConnection>(link, 0, address);
}

void SimNetwork::BreakConnections() {
  for (const auto& weak : links_) {
    const auto link = weak.lock();
    if (link == nullptr) continue;
    link->broken = true;
    for (auto& way : link->ways) way.arrived.clear();
    link->WakeAll();
  }
  links_.clear();
}

}  // namespace sluice::io
