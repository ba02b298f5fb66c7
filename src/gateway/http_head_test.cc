#include "gateway/http_head.h"

#include "base/testing.h"

namespace sluice::gateway {
namespace {

constexpr size_t kHeadMax = 1000;
constexpr size_t kBodyMax = 100;

// The status of a refusal, 200 when the head was read, 0 when it is not whole.
int StatusOfHead(std::string text, size_t head_bytes_max = kHeadMax) {
  HttpReader reader(head_bytes_max, kBodyMax);
  const auto refusal = reader.Feed(&text);
  if (refusal) return refusal->status;
  return reader.has_head() ? 200 : 0;
}

bool KeepsAlive(std::string text) {
  HttpReader reader(kHeadMax, kBodyMax);
  EXPECT_FALSE(reader.Feed(&text));
  return reader.head().keep_alive;
}

TEST(HttpReaderTest, ReadsTargetQueryAndHeaders) {
  HttpReader reader(kHeadMax, kBodyMax);
  std::string input =
      "POST /a%20b/c?x=1%262&y=a+b&z HTTP/1.1\r\n"
      "Content-Length: 12\r\nX-Two:  words here \r\n"
      "Expect: 100-continue\r\n\r\n";
  ASSERT_FALSE(reader.Feed(&input));
  ASSERT_TRUE(reader.has_head());
  const HttpHead& head = reader.head();
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/a b/c");
  EXPECT_EQ(head.query,
            (std::map<std::string, std::string>{{"x", "1&2"}, {"y", "a b"}, {"z", ""}}));
  EXPECT_EQ(head.Header("x-two"), "words here");
  EXPECT_EQ(head.body_bytes, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_go);
  EXPECT_FALSE(reader.done());
}

TEST(HttpReaderTest, TakesOneRequestHoweverItComes) {
  const std::string all = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nonePOST ";
  for (size_t step = 1; step <= all.size(); ++step) {
    HttpReader reader(kHeadMax, kBodyMax);
    std::string input;
    for (size_t at = 0; at < all.size(); at += step) {
      input += all.substr(at, step);
      ASSERT_FALSE(reader.Feed(&input)) << step;
      if (reader.has_head()) {
        ASSERT_FALSE(reader.Feed(&input)) << step;
      }
    }
    ASSERT_TRUE(reader.done()) << step;
    EXPECT_EQ(reader.head().Header("host"), "h");
    EXPECT_EQ(reader.TakeBody(), "one");
    EXPECT_EQ(input, "POST ");
  }
}

TEST(HttpReaderTest, KnowsWhenTheConnectionEnds) {
  EXPECT_FALSE(KeepsAlive("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(KeepsAlive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_TRUE(KeepsAlive("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(KeepsAlive("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
}

TEST(HttpReaderTest, RefusesWhatIsMalformed) {
  for (const char* text :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
        "GET nowhere HTTP/1.1\r\n\r\n", "GET /%4 HTTP/1.1\r\n\r\n", "GET /%00 HTTP/1.1\r\n\r\n",
        "GET /?%zz HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n: empty\r\n\r\n",
        "GET / HTTP/1.1\r\nA b: c\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"}) {
    EXPECT_EQ(StatusOfHead(text), 400) << text;
  }
}

TEST(HttpReaderTest, BoundsWhatItReads) {
  const std::string start = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(StatusOfHead(start + "X: " + std::string(kHeadMax, 'x')), 431);
  EXPECT_EQ(StatusOfHead(start + "X: " + std::string(kHeadMax, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(StatusOfHead(start + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(StatusOfHead(start + "Transfer-Encoding: gzip\r\n\r\n"), 411);
  EXPECT_EQ(StatusOfHead(start + "Content-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(StatusOfHead(start + "Content-Length: 100\r\n\r\n"), 200);

  const std::string longest(HttpReader::kPathBytesMax - 1, 'a');
  EXPECT_EQ(StatusOfHead("GET /" + longest + " HTTP/1.1\r\n\r\n", 32 << 10), 200);
  EXPECT_EQ(StatusOfHead("GET /" + longest + "a HTTP/1.1\r\n\r\n", 32 << 10), 414);

  HttpReader reader(kHeadMax, kBodyMax);  // Header after header.
  std::string input = start;
  std::optional<HttpRefusal> refusal;
  for (size_t i = 0; i < kHeadMax && !refusal; ++i) {
    input += "X: y\r\n";
    refusal = reader.Feed(&input);
  }
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 431);
}

TEST(HttpReaderTest, NamesStatuses) {
  EXPECT_EQ(HttpReason(404), "Not Found");
  EXPECT_EQ(HttpReason(431), "Request Header Fields Too Large");
}

}  // namespace
}  // namespace sluice::gateway
