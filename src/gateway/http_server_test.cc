#include "gateway/http_server.h"

#include <httplib.h>

#include "base/testing.h"
#include "io/file.h"
#include "io/net.h"

namespace sluice::gateway {
namespace {

HttpServer::Options AnyPort() { return {.port = 0, .threads = 4}; }

TEST(HttpServerTest, AnswersRoutesWithQueryAndBody) {
  HttpServer server(AnyPort());
  server.Route("POST", "/echo", [](const HttpRequest& request) {
    return HttpResponse{.content_type = "text/plain",
                        .body = request.query.at("who") + ":" + request.body};
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Post("/echo?who=me", "hello", "application/json");
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

TEST(HttpServerTest, AStarStandsForOneLastSegment) {
  HttpServer server(AnyPort());
  server.Route("DELETE", "/api/things/*", [](const HttpRequest& r) {
    return HttpResponse{.content_type = "text/plain", .body = r.path};
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Delete("/api/things/a-1")->body, "/api/things/a-1");
  EXPECT_EQ(client.Get("/api/things/a-1")->status, 405);
  for (const char* path : {"/api/things", "/api/things/", "/api/things/a/b", "/api/thingsa"}) {
    EXPECT_EQ(client.Delete(path)->status, 404) << path;
  }
}

// As long as a head may be: whatever looks at the path must not need a stack of that length.
TEST(HttpServerTest, LongPathsAreRefused) {
  HttpServer server(AnyPort());
  server.Route("DELETE", "/api/things/*", [](const HttpRequest&) { return HttpResponse{}; });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  for (const char c : {'a', '-', '/'}) {
    EXPECT_EQ(client.Get("/api/things/" + std::string(28'000, c))->status, 414);
    EXPECT_EQ(client.Get("/" + std::string(2000, c))->status, 404);
  }
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
    return HttpResponse{.content_type = "text/plain", .body = r.body};
  });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = client.Post("/echo", std::string(101, 'x'), "application/json");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
}

// --- what httplib does not send ---

io::Task<Result<std::string>> Exchange(io::Loop& loop, uint16_t port, std::string bytes) {
  CO_ASSIGN_OR_RETURN(const auto connection,
                      co_await io::SystemNetwork().Connect(loop, "127.0.0.1", port));
  io::Payload payload(std::move(bytes));
  CO_RETURN_NOT_OK(co_await connection->Write(std::move(payload)));
  std::string answer;
  std::string chunk(4096, '\0');
  while (true) {
    CO_ASSIGN_OR_RETURN(const size_t count, co_await connection->Read(chunk.data(), chunk.size()));
    if (count == 0) co_return answer;
    answer.append(chunk, 0, count);
  }
}

io::Task<Status> WriteOn(std::shared_ptr<io::Connection> connection, io::Payload payload) {
  co_return co_await connection->Write(std::move(payload));
}

struct RawHttpTest : testing::Test {
  void Serve(HttpServer::Options options) {
    options.port = 0;
    options.threads = 2;
    server = std::make_unique<HttpServer>(std::move(options));
    server->Route("POST", "/echo", [](const HttpRequest& r) {
      return HttpResponse{.content_type = "text/plain", .body = "<" + r.body + ">"};
    });
    ASSERT_OK(server->Start());
  }
  std::string Send(std::string bytes) {
    auto answer =
        io::SyncWait(loops->at(0), Exchange(loops->at(0), server->port(), std::move(bytes)));
    return answer.ok() ? *answer : answer.status().ToString();
  }
  std::unique_ptr<io::LoopThreads> loops = io::LoopThreads::Start("test", 1);
  std::unique_ptr<HttpServer> server;
};

TEST_F(RawHttpTest, AnswersRequestsThatCameTogether) {
  Serve({});
  const std::string answer = Send(
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\none"
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 3\r\nConnection: "
      "close\r\n\r\ntwo");
  EXPECT_NE(answer.find("<one>"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("<two>")) << answer;
}

TEST_F(RawHttpTest, RefusesARequestThatDoesNotCome) {
  Serve({.request_max = std::chrono::milliseconds(20), .linger = std::chrono::milliseconds(1)});
  EXPECT_TRUE(Send("POST /echo HT").starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(
      Send("POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nfew")
          .starts_with("HTTP/1.1 408 "));
}

// Far more slow clients than threads: they hold none.
TEST_F(RawHttpTest, SlowClientsHoldNoThread) {
  Serve({.linger = std::chrono::milliseconds(1)});
  std::vector<std::shared_ptr<io::Connection>> slow;
  for (int i = 0; i < 20; ++i) {
    auto connected = io::SyncWait(
        loops->at(0), io::SystemNetwork().Connect(loops->at(0), "127.0.0.1", server->port()));
    ASSERT_OK(connected.status());
    io::Payload start(std::string("POST /echo HTTP/1.1\r\nContent-Le"));
    slow.emplace_back(connected->release(), [this](io::Connection* owned) {
      loops->at(0).Post([owned] { delete owned; });
    });
    ASSERT_OK(io::SyncWait(loops->at(0), WriteOn(slow.back(), std::move(start))));
  }
  const std::string answer = Send(
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: "
      "close\r\n\r\nhi");
  EXPECT_TRUE(answer.ends_with("<hi>")) << answer;
  slow.clear();
}

TEST_F(RawHttpTest, RefusesWhatIsTooLarge) {
  Serve({.connections_max = 8,
         .head_bytes_max = 1000,
         .body_bytes_max = 100,
         .linger = std::chrono::milliseconds(1)});
  EXPECT_TRUE(Send("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(
      Send("POST /echo HTTP/1.1\r\nContent-Length: 101\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(Send("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
                  .starts_with("HTTP/1.1 411 "));
  EXPECT_TRUE(Send("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST(HttpServerTest, ServesFilesAndNothingBeside) {
  TempDir folder;
  ASSERT_OK(io::LocalFileSystem().MakeFolders(folder.path() + "/site"));
  for (const char* name : {"/site/index.html", "/site/app.js", "/secret"}) {
    ASSERT_OK(io::LocalFileSystem().ReplaceFile(folder.path() + name, name));
  }
  HttpServer server({.port = 0, .threads = 2, .files = folder.path() + "/site"});
  server.Route("POST", "/post", [](const HttpRequest&) { return HttpResponse{}; });
  ASSERT_OK(server.Start());
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Get("/")->body, "/site/index.html");
  EXPECT_EQ(client.Get("/app.js")->get_header_value("Content-Type"),
            "text/javascript; charset=utf-8");
  EXPECT_EQ(client.Head("/app.js")->get_header_value("Content-Length"), "12");
  EXPECT_EQ(client.Get("/../secret")->status, 404);
  EXPECT_EQ(client.Get("/%2e%2e/secret")->status, 404);
  EXPECT_EQ(client.Get("/missing")->status, 404);
  EXPECT_EQ(client.Get("/post")->status, 405);
}

}  // namespace
}  // namespace sluice::gateway
