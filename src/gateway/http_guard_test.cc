#include "gateway/http_guard.h"

#include "base/testing.h"

namespace sluice::gateway {
namespace {

using Headers = std::map<std::string, std::string>;

int StatusFor(const HttpGuard& guard, Headers headers, uint64_t body_bytes = 0) {
  HttpHead head;
  head.headers = std::move(headers);
  head.body_bytes = body_bytes;
  const auto refusal = guard.Check(head);
  return refusal ? refusal->status : 200;
}

TEST(HttpGuardTest, KnowsItsNames) {
  const HttpGuard local("127.0.0.1", {"console.example"});
  for (const char* host : {"localhost:9180", "LocalHost", "127.0.0.1:9180", "127.8.8.8", "[::1]:1",
                           "Console.Example:80"}) {
    EXPECT_EQ(StatusFor(local, {{"host", host}}), 200) << host;
  }
  for (const char* host : {"evil.example:9180", "127.evil.example", "localhost.evil.example",
                           "10.0.0.1", "[::2]", ":", "["}) {
    EXPECT_EQ(StatusFor(local, {{"host", host}}), 403) << host;
  }
  EXPECT_EQ(StatusFor(local, {}), 200);
  EXPECT_EQ(StatusFor(HttpGuard("0.0.0.0", {}), {{"host", "10.0.0.1:9180"}}), 200);
  EXPECT_EQ(StatusFor(HttpGuard("0.0.0.0", {}), {{"host", "evil.example"}}), 403);
  EXPECT_EQ(StatusFor(HttpGuard("box", {}), {{"host", "box:9180"}}), 200);
  EXPECT_EQ(StatusFor(HttpGuard("box", {"*"}), {{"host", "any.example"}}), 200);
}

TEST(HttpGuardTest, RefusesPagesOfOtherSites) {
  const HttpGuard guard("127.0.0.1", {"console.example"});
  const auto from = [&](const std::string& origin, const std::string& host) {
    return StatusFor(guard, {{"origin", origin}, {"host", host}});
  };
  EXPECT_EQ(from("http://localhost:9180", "localhost:9180"), 200);
  EXPECT_EQ(from("https://console.example", "console.example:443"), 200);
  EXPECT_EQ(from("https://console.example", "127.0.0.1:9180"), 200);  // Behind a proxy.
  EXPECT_EQ(from("http://localhost:3000", "localhost:9180"), 403);
  EXPECT_EQ(from("http://evil.example", "127.0.0.1:9180"), 403);
  EXPECT_EQ(from("null", "127.0.0.1:9180"), 403);
  EXPECT_EQ(from("http://evil.example", ""), 403);
}

TEST(HttpGuardTest, TakesNoBodyButJson) {
  const HttpGuard guard("127.0.0.1", {});
  EXPECT_EQ(StatusFor(guard, {{"content-type", "application/json"}}, 5), 200);
  EXPECT_EQ(StatusFor(guard, {{"content-type", "Application/JSON ; charset=utf-8"}}, 5), 200);
  EXPECT_EQ(StatusFor(guard, {{"content-type", "text/plain"}}, 5), 415);
  EXPECT_EQ(StatusFor(guard, {{"content-type", "text/plain; application/json"}}, 5), 415);
  EXPECT_EQ(StatusFor(guard, {}, 5), 415);
  EXPECT_EQ(StatusFor(guard, {}, 0), 200);
}

}  // namespace
}  // namespace sluice::gateway
