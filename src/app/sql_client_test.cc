#include "app/sql_client.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/sql_event.h"
#include "app/sql_printer.h"
#include "base/check.h"
#include "base/testing.h"
#include "gateway/http_server.h"

namespace sluice::app {
namespace {

TEST(SqlEventTest, TakesEventsAndNothingElse) {
  for (const char* line :
       {R"({"kind":"end"})", R"({"kind":"later","rows":{}})", R"({"kind":"written","rows":3})",
        R"({"kind":"columns","columns":[{"name":"a","type":"INT"}]})",
        R"({"kind":"rows","rows":[[1,"]]]",null],[]]})"}) {
    EXPECT_OK(ParseSqlEvent(line));
  }
  for (const char* line :
       {"", "[]", "7", "{", "{}", R"({"kind":7})", R"({"kind":"rows"})",
        R"({"kind":"rows","rows":{"a":1}})", R"({"kind":"rows","rows":[1]})",
        R"({"kind":"columns","columns":[1]})", R"({"kind":"columns","columns":[{"name":"a"}]})",
        R"({"kind":"columns","columns":[{"name":1,"type":"INT"}]})", R"({"kind":"written"})",
        R"({"kind":"written","rows":"3"})", R"({"kind":"written","rows":-1})",
        R"({"kind":"written","rows":9223372036854775808})", R"({"kind":"end","rows":-1})"}) {
    EXPECT_CODE(ErrorCode::kNetwork, ParseSqlEvent(line));
  }
}

TEST(SqlEventTest, ValuesThatNestTooDeepAreRefused) {
  const auto rows = [](size_t depth) {
    return R"({"kind":"rows","rows":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_OK(ParseSqlEvent(rows(50)));
  EXPECT_CODE(ErrorCode::kNetwork, ParseSqlEvent(rows(200)));
  EXPECT_CODE(ErrorCode::kNetwork, ParseSqlEvent(rows(1'000'000)));
  std::string type;
  for (int i = 0; i < 200'000; ++i) type += "ARRAY<";
  EXPECT_CODE(
      ErrorCode::kNetwork,
      ParseSqlEvent(R"({"kind":"columns","columns":[{"name":"a","type":")" + type + "\"}]}"));
}

TEST(SqlEventTest, ForeignLinesAreShownCutAndWithoutControlCharacters) {
  const Status odd = ParseSqlEvent("\x1b[31m" + std::string(100'000, 'x')).status();
  EXPECT_EQ(odd.message().find('\x1b'), std::string::npos);
  EXPECT_NE(odd.message().find("\\x1b[31mxxx"), std::string::npos);
  EXPECT_LT(odd.message().size(), 400U);
}

TEST(SqlEventTest, ColumnsComeOnceAndBeforeTheirRows) {
  const nlohmann::json columns = {{"kind", "columns"}, {"columns", nlohmann::json::array()}};
  const nlohmann::json rows = {{"kind", "rows"}, {"rows", nlohmann::json::array()}};
  const nlohmann::json end = {{"kind", "end"}};
  EventOrder order;
  EXPECT_CODE(ErrorCode::kNetwork, order.Take(rows));
  EXPECT_OK(order.Take(columns));
  EXPECT_OK(order.Take(rows));
  EXPECT_CODE(ErrorCode::kNetwork, order.Take(columns));
  EXPECT_OK(order.Take(end));
  EXPECT_CODE(ErrorCode::kNetwork, order.Take(rows));
  EXPECT_OK(order.Take(columns));
}

TEST(SqlEventTest, ErrorsKeepTheirCode) {
  EXPECT_CODE(ErrorCode::kTableNotExist,
              ErrorOfEvent({{"code", "TABLE_NOT_EXIST"}, {"message", "gone"}}));
  EXPECT_CODE(ErrorCode::kUnknownServer, ErrorOfEvent({{"code", 7}, {"message", {1, 2}}}));
}

// A server that answers every statement with `body`.
struct OddServer {
  explicit OddServer(std::string id, std::string body, int status = 200)
      : http({.port = 0, .threads = 2}) {
    http.Route("POST", "/api/v1/sessions",
               [id](const gateway::HttpRequest&) { return gateway::HttpResponse{.body = id}; });
    http.Route("POST", "/api/v1/sql", [body, status](const gateway::HttpRequest&) {
      return gateway::HttpResponse{.status = status, .body = body};
    });
    CHECK(http.Start().ok());
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(http.port()); }
  gateway::HttpServer http;
};

// As the shell does it.
Status PrintAnswer(const std::string& body, const std::string& format, int status = 200) {
  OddServer server(R"({"id":"a-1"})", body, status);
  ASSIGN_OR_RAISE(const auto client, SqlClient::Connect(server.url()));
  std::ostringstream out;
  ASSIGN_OR_RAISE(const auto printer, SqlPrinter::Make(format, out));
  Status printed;
  RETURN_NOT_OK(client->Run("SELECT 1", [&](const nlohmann::json& event) {
    if (event["kind"] == "columns") printer->Columns(event["columns"]);
    if (event["kind"] == "rows") printed = printer->Rows(event["rows"]);
    return printed.ok();
  }));
  return printed;
}

TEST(SqlClientTest, OddAnswersAreErrors) {
  const std::string columns =
      R"({"kind":"columns","columns":[{"name":"a","type":"MAP<INT, INT>"}]})"
      "\n";
  const std::string end = "{\"kind\":\"end\"}\n";
  for (const char* format : {"table", "csv", "json"}) {
    EXPECT_OK(PrintAnswer(columns + "{\"kind\":\"rows\",\"rows\":[[[[1,2]]]]}\n" + end, format));
    // A map whose entries are none.
    EXPECT_OK(PrintAnswer(columns + "{\"kind\":\"rows\",\"rows\":[[[1,[]]],[7]]}\n" + end, format));
    for (const std::string rows : {"[[1,2]]", "[[]]", "[1]", "{}", "7"}) {
      EXPECT_FALSE(
          PrintAnswer(columns + "{\"kind\":\"rows\",\"rows\":" + rows + "}\n" + end, format).ok())
          << rows;
    }
    EXPECT_FALSE(PrintAnswer("{\"kind\":\"rows\",\"rows\":[[1]]}\n" + end, format).ok());
  }
  EXPECT_CODE(ErrorCode::kNetwork, PrintAnswer(columns, "csv"));
  EXPECT_CODE(ErrorCode::kUnknownServer,
              PrintAnswer("{\"kind\":\"error\",\"code\":[],\"message\":7}\n", "csv"));
  EXPECT_CODE(ErrorCode::kUnknownServer, PrintAnswer(R"({"code":1,"message":null})", "csv", 400));
  EXPECT_CODE(ErrorCode::kNetwork, PrintAnswer("[]", "csv", 500));
}

TEST(SqlClientTest, ASessionHasAnIdThatIsOne) {
  for (const char* id : {R"({"id":7})", R"({"id":"../x"})", R"({"id":""})", "[]"}) {
    EXPECT_CODE(ErrorCode::kNetwork, SqlClient::Connect(OddServer(id, "").url()));
  }
}

}  // namespace
}  // namespace sluice::app
