#include "gateway/http_head.h"

#include "base/testing.h"

namespace sluice::gateway {
namespace {

TEST(HttpHeadTest, ReadsTargetQueryAndHeaders) {
  ASSERT_OK_AND_ASSIGN(const HttpHead head,
                       ParseHttpHead("POST /a%20b/c?x=1%262&y=a+b&z HTTP/1.1\r\n"
                                     "Content-Length: 12\r\nX-Two:  words here \r\n"
                                     "Expect: 100-continue"));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/a b/c");
  EXPECT_EQ(head.query,
            (std::map<std::string, std::string>{{"x", "1&2"}, {"y", "a b"}, {"z", ""}}));
  EXPECT_EQ(head.headers.at("x-two"), "words here");
  EXPECT_EQ(head.body_bytes, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_go);
  EXPECT_FALSE(head.chunked);
}

TEST(HttpHeadTest, KnowsWhenTheConnectionEnds) {
  EXPECT_FALSE(ParseHttpHead("GET / HTTP/1.0")->keep_alive);
  EXPECT_TRUE(ParseHttpHead("GET / HTTP/1.0\r\nConnection: keep-alive")->keep_alive);
  EXPECT_FALSE(ParseHttpHead("GET / HTTP/1.1\r\nConnection: Close")->keep_alive);
}

TEST(HttpHeadTest, RefusesWhatIsMalformed) {
  for (const char* text :
       {"", "GET", "GET /", "GET / HTTP/2", "GET nowhere HTTP/1.1", "GET /%4 HTTP/1.1",
        "GET /%00 HTTP/1.1", "GET /?%zz HTTP/1.1", "GET / HTTP/1.1\r\n: empty",
        "GET / HTTP/1.1\r\nA b: c", "GET / HTTP/1.1\r\nContent-Length: -1",
        "GET / HTTP/1.1\r\nContent-Length: 1x", "GET / HTTP/1.1\r\nContent-Length:",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2"}) {
    EXPECT_FALSE(ParseHttpHead(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::gateway
