#include "server/request_stats.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace sluice::server {
namespace {

using std::chrono::nanoseconds;

double MsOf(nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

std::string NameOf(int16_t api_key) {
  const wire::ApiInfo* api = wire::FindApi(api_key);
  return api == nullptr ? "UNKNOWN" : std::string(api->name);
}

}  // namespace

size_t RequestStats::IndexOf(int16_t api_key) {
  if (api_key < kFirstKey || api_key > kLastKey) return kUnknown;
  return static_cast<size_t>(api_key - kFirstKey);
}

void RequestStats::Count(const ServedRequest& request, nanoseconds now) {
  Counters& counters = counters_[IndexOf(request.api_key)];
  const nanoseconds took = std::max(request.took(), nanoseconds(0));
  counters.requests.fetch_add(1, std::memory_order_relaxed);
  counters.took_ns.fetch_add(static_cast<uint64_t>(took.count()), std::memory_order_relaxed);
  if (request.failed) counters.failed.fetch_add(1, std::memory_order_relaxed);
  if (options_.slow_from.count() == 0 || took < options_.slow_from) return;
  counters.slow.fetch_add(1, std::memory_order_relaxed);
  uint64_t not_shown = 0;
  if (!MayWrite(now, &not_shown)) return;
  const std::string line = LineOf(request, not_shown);
  if (options_.write) return options_.write(line);
  LogInfo("{}", line);
}

bool RequestStats::MayWrite(nanoseconds now, uint64_t* not_shown) {
  const std::lock_guard lock(mutex_);
  if (lines_ == 0 || now - second_began_ >= std::chrono::seconds(1)) {
    second_began_ = now;
    lines_ = 0;
  }
  if (lines_ >= options_.lines_per_second) {
    ++not_shown_;
    return false;
  }
  ++lines_;
  *not_shown = std::exchange(not_shown_, 0);
  return true;
}

std::string RequestStats::LineOf(const ServedRequest& request, uint64_t not_shown) const {
  const io::CallNotes& notes = request.notes;
  std::string about;
  if (notes.table_id >= 0) {
    const std::string name = options_.name_of ? options_.name_of(notes.table_id) : std::string();
    about +=
        name.empty() ? fmt::format(" table_id={}", notes.table_id) : fmt::format(" table={}", name);
    if (notes.partition_id) about += fmt::format(" partition_id={}", *notes.partition_id);
    if (notes.buckets > 0) about += fmt::format(" bucket={}", notes.bucket);
    if (notes.buckets > 1) about += fmt::format(" buckets={}", notes.buckets);
  }
  std::string line = fmt::format(
      "slow request api={} key={} listener={} peer={}{} queue_ms={:.1f} handle_ms={:.1f} "
      "asked_wait_ms={:.1f} received_bytes={} sent_bytes={} failed={}",
      NameOf(request.api_key), request.api_key, request.listener, request.peer, about,
      MsOf(request.queued), MsOf(request.handled - notes.waited), MsOf(notes.waited),
      request.received_bytes, request.sent_bytes, request.failed);
  if (not_shown > 0) line += fmt::format(" not_shown={}", not_shown);
  return line;
}

void RequestStats::Collect(std::vector<MetricSample>* samples) const {
  for (size_t i = 0; i < counters_.size(); ++i) {
    const Counters& counters = counters_[i];
    const uint64_t requests = counters.requests.load(std::memory_order_relaxed);
    if (requests == 0) continue;
    const std::string api =
        i == kUnknown ? "UNKNOWN" : NameOf(static_cast<int16_t>(kFirstKey + static_cast<int>(i)));
    const auto add = [&](const char* name, const char* help, double value) {
      samples->push_back({name, help, MetricSample::Kind::kCounter, {{"api", api}}, value});
    };
    const auto load = [](const std::atomic<uint64_t>& counter) {
      return static_cast<double>(counter.load(std::memory_order_relaxed));
    };
    add("sluice_api_requests_total", "Requests answered.", static_cast<double>(requests));
    add("sluice_api_failed_requests_total", "Those answered by an error as a whole.",
        load(counters.failed));
    add("sluice_api_slow_requests_total",
        "Those that took server.slow-request.threshold or longer.", load(counters.slow));
    add("sluice_api_request_seconds_total",
        "Their time in the server, without the waits that callers asked for.",
        load(counters.took_ns) / 1e9);
  }
}

}  // namespace sluice::server
