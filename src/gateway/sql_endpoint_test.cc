#include "gateway/sql_endpoint.h"

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "base/testing.h"
#include "io/pool.h"
#include "io/task.h"
#include "sql/engine.h"
#include "sql/memory_catalog_testing.h"
#include "sql/session.h"

namespace sluice::gateway {
namespace {

// Long enough that only an interruption ends it.
std::string LongQuery() {
  const std::string eight = "(VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS ";
  std::string sql = "SELECT COUNT(*) FROM " + eight + "a(x)";
  for (const char name : std::string("bcdefghijklm")) sql += ", " + eight + name + "(x)";
  return sql + " WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x + h.x > m.x";
}

/// Time that tests set.
class StillClock : public io::Clock {
 public:
  int64_t NowMs() const override { return now_ms; }
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::milliseconds(now_ms); }
  std::atomic<int64_t> now_ms{1'000'000};
};

struct SqlEndpointTest : testing::Test {
  void SetUp() override {
    endpoint.Register(&server);
    ASSERT_OK(server.Start());
  }
  void TearDown() override {
    endpoint.Stop();
    server.Stop();
  }
  static sql::Engine& TheEngine() {
    static sql::Engine engine({.threads = 1, .memory_bytes_max = 512u << 20});
    return engine;
  }
  std::unique_ptr<sql::Session> MakeSession() {
    return std::make_unique<sql::Session>(TheEngine(), std::make_shared<sql::MemoryCatalog>(clock),
                                          clock);
  }
  httplib::Client Client() const { return httplib::Client("127.0.0.1", server.port()); }
  std::string NewSession() {
    const auto answer = Client().Post("/api/v1/sessions");
    return nlohmann::json::parse(answer->body)["id"];
  }
  /// Runs the long query on a thread; `*operation` is set once it runs.
  void Start(nlohmann::json body) {
    body["sql"] = LongQuery();
    ASSERT_TRUE(pool->TryPost([this, text = body.dump()] {
      httplib::Request request;
      request.method = "POST";
      request.path = "/api/v1/sql";
      request.headers = {{"Content-Type", "application/json"}};
      request.body = text;
      request.response_handler = [this](const httplib::Response& response) {
        begun.Set(response.get_header_value("Sluice-Operation"));
        return true;
      };
      std::string lines;
      request.content_receiver = [&lines](const char* data, size_t size, uint64_t, uint64_t) {
        lines.append(data, size);
        return true;
      };
      httplib::Client client("127.0.0.1", server.port());
      client.set_read_timeout(600);
      httplib::Response response;
      httplib::Error error = httplib::Error::Success;
      client.send(request, response, error);
      ended.Set(lines);
    }));
  }
  template <typename T>
  T Get(const io::Completion<T>& completion) {
    return io::SyncWait(loops->at(0), Take(completion));
  }
  template <typename T>
  static io::Task<T> Take(io::Completion<T> completion) {
    co_return co_await completion;
  }

  StillClock clock;
  std::unique_ptr<io::LoopThreads> loops = io::LoopThreads::Start("test", 1);
  io::Completion<std::string> begun{loops->at(0)}, ended{loops->at(0)};
  SqlEndpoint endpoint{{.make_session = [this] { return MakeSession(); },
                        .clock = clock,
                        .random = io::SystemRandom(),
                        .sessions_max = 2,
                        .statements_max = 1,
                        .watch_interval = std::chrono::milliseconds(2)}};
  HttpServer server{{.port = 0, .threads = 4}};
  std::unique_ptr<io::Pool> pool = io::Pool::Start({.name = "client", .threads = 1});
};

TEST_F(SqlEndpointTest, DeletingAnOperationEndsIt) {
  Start({});
  const std::string operation = Get(begun);
  EXPECT_EQ(Client().Delete("/api/v1/operations/" + operation)->status, 200);
  EXPECT_NE(Get(ended).find("the statement was cancelled"), std::string::npos);
  EXPECT_EQ(Client().Delete("/api/v1/operations/" + operation)->status, 404);
}

TEST_F(SqlEndpointTest, DeletingASessionEndsItsStatement) {
  const std::string session = NewSession();
  Start({{"session", session}});
  Get(begun);
  EXPECT_EQ(Client().Delete("/api/v1/sessions/" + session)->status, 200);
  EXPECT_NE(Get(ended).find("the session was ended"), std::string::npos);
  EXPECT_EQ(Client().Delete("/api/v1/sessions/" + session)->status, 404);
}

TEST_F(SqlEndpointTest, AStatementEndsWhenItsTimeIsUp) {
  Start({{"timeout_ms", 5000}});
  Get(begun);
  // The deadline counts from the statement's start, which follows the first bytes of the answer.
  io::Completion<std::string> all = ended;
  while (all.await_ready() == false) {
    clock.now_ms += 5000;
    std::ignore = Client().Get("/");
  }
  EXPECT_NE(Get(ended).find("REQUEST_TIME_OUT"), std::string::npos);
}

TEST_F(SqlEndpointTest, ABoundThatNoClockHoldsIsRefused) {
  const auto status_of = [&](const std::string& bound) {
    const std::string body = R"({"sql":"SELECT 1","timeout_ms":)" + bound + "}";
    return Client().Post("/api/v1/sql", body, "application/json")->status;
  };
  EXPECT_EQ(status_of("2592000000"), 200);  // 30 days.
  for (const char* bound : {"2592000001", "9223372036854", "9223372036854775807",
                            "9223372036854775808", "18446744073709551615", "-1", "1.5", "null"}) {
    EXPECT_EQ(status_of(bound), 400) << bound;
  }
}

TEST_F(SqlEndpointTest, ASessionThatIsNoTextIsRefused) {
  for (const char* session : {"17", "null", "true", R"(["a"])"}) {
    const std::string body = R"({"sql":"SELECT 1","session":)" + std::string(session) + "}";
    EXPECT_EQ(Client().Post("/api/v1/sql", body, "application/json")->status, 400) << session;
  }
}

TEST_F(SqlEndpointTest, StoppingEndsStatementsAndRefusesOthers) {
  Start({});
  Get(begun);
  endpoint.Stop();
  EXPECT_NE(Get(ended).find("the server is stopping"), std::string::npos);
  EXPECT_EQ(Client().Post("/api/v1/sql", R"({"sql":"SELECT 1"})", "application/json")->status, 503);
}

TEST_F(SqlEndpointTest, TooManyStatementsAreRefused) {
  Start({});
  Get(begun);
  const auto answer = Client().Post("/api/v1/sql", R"({"sql":"SELECT 1"})", "application/json");
  EXPECT_EQ(answer->status, 429);
  EXPECT_NE(answer->body.find("statements_max=1"), std::string::npos);
  endpoint.Stop();
  Get(ended);
}

TEST_F(SqlEndpointTest, AClientThatGoesEndsItsStatement) {
  {
    httplib::Client client("127.0.0.1", server.port());
    client.set_read_timeout(0, 1000);  // It gives up at once.
    client.Post("/api/v1/sql", nlohmann::json{{"sql", LongQuery()}}.dump(), "application/json");
  }
  // Its place is free again: there is one alone.
  int status = 429;
  while (status == 429) {
    status = Client().Post("/api/v1/sql", R"({"sql":"SELECT 1"})", "application/json")->status;
  }
  EXPECT_EQ(status, 200);
}

TEST_F(SqlEndpointTest, IdleSessionsEndByThemselves) {
  const std::string first = NewSession();
  NewSession();
  EXPECT_EQ(Client().Post("/api/v1/sessions")->status, 429);
  clock.now_ms += 30 * 60 * 1000 + 1;
  while (Client().Post("/api/v1/sessions")->status == 429) {
  }
  EXPECT_EQ(Client().Delete("/api/v1/sessions/" + first)->status, 404);
}

}  // namespace
}  // namespace sluice::gateway
