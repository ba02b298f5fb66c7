#include "gateway/http_server.h"

#include <httplib.h>

#include "base/testing.h"

namespace sluice::gateway {
namespace {

HttpServer::Options AnyPort() { return {.port = 0, .threads = 4}; }

TEST(HttpServerTest, AnswersRoutesWithQueryAndBody) {
  HttpServer server(AnyPort());
  server.Route("POST", "/echo", [](const HttpRequest& request) {
    return HttpResponse{200, "text/plain", request.query.at("who") + ":" + request.body, nullptr};
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Post("/echo?who=me", "hello", "text/plain");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "me:hello");
  EXPECT_EQ(client.Get("/nowhere")->status, 404);
}

TEST(HttpServerTest, StreamsPieceAfterPiece) {
  HttpServer server(AnyPort());
  server.Route("GET", "/count", [](const HttpRequest&) {
    HttpResponse response;
    response.stream = [n = 0](std::string* piece) mutable {
      if (n < 1000) *piece = std::to_string(n++) + "\n";
    };
    return response;
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Get("/count");
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::count(answer->body.begin(), answer->body.end(), '\n'), 1000);
  EXPECT_TRUE(answer->body.ends_with("999\n"));
}

TEST(HttpServerTest, ShowsErrorsWithTheirCodeAndAFittingStatus) {
  HttpServer server(AnyPort());
  server.Route("GET", "/missing", [](const HttpRequest&) {
    return ErrorResponse(Error(ErrorCode::kTableNotExist, "unknown table table=a.b"));
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Get("/missing");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, R"({"code":"TABLE_NOT_EXIST","message":"unknown table table=a.b"})");
}

TEST(HttpServerTest, RefusesAPortInUse) {
  HttpServer first(AnyPort());
  ASSERT_OK(first.Start());
  HttpServer second({.port = first.port(), .threads = 1});
  const Status status = second.Start();
  EXPECT_CODE(ErrorCode::kNetwork, status);
  EXPECT_NE(status.message().find(std::to_string(first.port())), std::string::npos);
}

TEST(HttpServerTest, RefusesABodyPastItsBound) {
  HttpServer server({.port = 0, .threads = 2, .body_bytes_max = 100});
  server.Route("POST", "/echo", [](const HttpRequest& r) {
    return HttpResponse{200, "text/plain", r.body, nullptr};
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Post("/echo", std::string(101, 'x'), "text/plain");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
}

}  // namespace
}  // namespace sluice::gateway
