// HTTP requests, whole and in pieces: how a request is cut must not change what it says.
#include "base/check.h"
#include "gateway/http_head.h"

using namespace sluice;

namespace {

struct Outcome {
  int refused = 0;
  bool done = false;
  std::string path, body;
  bool operator==(const Outcome&) const = default;
};

Outcome Feed(std::string_view bytes, size_t piece_bytes) {
  gateway::HttpReader reader(/*head_bytes_max=*/4096, /*body_bytes_max=*/4096);
  Outcome outcome;
  std::string input;
  while (!bytes.empty() && !reader.done()) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    input += piece;
    // The first call stops behind the head.
    for (int call = 0; call < 2 && !reader.done(); ++call) {
      const auto refusal = reader.Feed(&input);
      if (!refusal.has_value()) continue;
      outcome.refused = refusal->status;
      return outcome;
    }
  }
  outcome.done = reader.done();
  if (reader.has_head()) outcome.path = reader.head().path;
  if (outcome.done) outcome.body = reader.TakeBody();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Feed(bytes, size + 1);
  const Outcome cut = Feed(bytes, 7);
  CHECK(whole.done == cut.done || whole.refused != 0 || cut.refused != 0);
  if (whole.done && cut.done) CHECK(whole == cut);
  return 0;
}
