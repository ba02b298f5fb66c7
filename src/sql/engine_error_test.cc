#include "sql/engine_error.h"

#include "base/testing.h"

namespace sluice::sql {
namespace {

std::string Json(const std::string& kind, const std::string& message, int position) {
  return R"({"exception_type":")" + kind + R"(","exception_message":")" + message +
         R"(","position":")" + std::to_string(position) + "\"}";
}

const std::vector<Place> kPlaces = {{"CAST", {1, 8}, ""}, {"+", {2, 5}, ""}, {"CAST", {3, 1}, "v"}};

TEST(EngineErrorTest, LeadsAnOffsetBackToThePlaceAroundIt) {
  const std::string sql =
      PlaceBegin(1) + "(" + PlaceBegin(0) + "CAST(a AS INTEGER)" + std::string(kPlaceEnd) +
      " + CAST(b AS INTEGER))" + std::string(kPlaceEnd) + ", CAST(" + PlaceBegin(2) +
      "CAST(c AS TINYINT)" + std::string(kPlaceEnd) + " AS TINYINT), CAST(d AS INTEGER)";
  const auto at = [&](const std::string& text) {
    const Status error =
        duckdb::EngineError(Json("Conversion", "Could not convert string 'x' to INT32",
                                 static_cast<int>(sql.find(text)))
                                .c_str(),
                            {sql, &kPlaces});
    EXPECT_EQ(CodeOf(error), ErrorCode::kInvalidTable);
    return error.message();
  };
  const std::string words = "text does not fit the type, text='x' type=INT";
  EXPECT_EQ(at("CAST(a"), words + " line=1, column=8");
  EXPECT_EQ(at("CAST(b"), words + " line=2, column=5");
  EXPECT_EQ(at("CAST(c"), words + " column=v line=3, column=1");
  EXPECT_EQ(at("CAST(/*<2"), words + " column=v line=3, column=1");  // The engine dropped it.
  EXPECT_EQ(at("CAST(d"), words);
  EXPECT_EQ(WithoutPlaces(sql),
            "(CAST(a AS INTEGER) + CAST(b AS INTEGER)), CAST(CAST(c AS TINYINT) AS TINYINT), "
            "CAST(d AS INTEGER)");
}

TEST(EngineErrorTest, NamesThePlaceOfAnOperationWhenThereIsOneAlone) {
  const std::vector<Place> two = {{"+", {1, 8}, ""}, {"+", {2, 5}, ""}};
  const char* text =
      R"({"exception_type":"Out of Range","exception_message":"Overflow in addition of INT32 (2147483647 + 1)!"})";
  EXPECT_EQ(duckdb::EngineError(text, {"", &kPlaces}).message(),
            "number is out of range, operation=2147483647 + 1 type=INT line=2, column=5");
  EXPECT_EQ(duckdb::EngineError(text, {"", &two}).message(),
            "number is out of range, operation=2147483647 + 1 type=INT");
}

TEST(EngineErrorTest, KeepsCodesAndOurOwnErrors) {
  EXPECT_CODE(ErrorCode::kStorageBackpressure, duckdb::EngineError("Out of Memory Error: no room"));
  EXPECT_CODE(ErrorCode::kUnknownServer, duckdb::EngineError("Binder Error: no such thing"));
  EXPECT_EQ(duckdb::EngineError(("Parser Error: " + Json("Parser", "odd", 3)).c_str()).message(),
            "query engine failed, reason=odd");
  EXPECT_CODE(ErrorCode::kUnknownServer, duckdb::EngineError(nullptr));
  EXPECT_CODE(ErrorCode::kUnknownServer, duckdb::EngineError("{\"exception_type\":7}"));
  const Status own = Error(ErrorCode::kLogOffsetOutOfRange, "log was cut, table=\"t\" value='\\'");
  const Status back =
      duckdb::EngineError(("Invalid Input Error: " + duckdb::MarkError(own)).c_str());
  EXPECT_EQ(CodeOf(back), ErrorCode::kLogOffsetOutOfRange);
  EXPECT_EQ(back.message(), own.message());
}

TEST(EngineErrorTest, AValueIsNoErrorOfOurs) {
  const std::string mark = duckdb::MarkError(Error(ErrorCode::kLogOffsetOutOfRange, "forged"));
  for (const std::string& text :
       {"Invalid Input Error: text is not a whole number, text='" + mark + "'",
        Json("Conversion", "Could not convert string '" + mark + "' to INT32", 0),
        "Conversion Error: Could not convert string 'x Error: " + mark + "' to INT32"}) {
    const Status error = duckdb::EngineError(text.c_str());
    EXPECT_CODE(ErrorCode::kInvalidTable, error);
    EXPECT_THAT(error.message(), testing::HasSubstr("text='"));
  }
  EXPECT_CODE(ErrorCode::kUnknownServer, duckdb::EngineError(("of 'x' Error: " + mark).c_str()));
}

TEST(EngineErrorTest, ValuesAreShownCut) {
  const std::string much(1 << 20, 'x');
  for (const std::string& text :
       {"Conversion Error: odd text " + much, "Binder Error: odd text " + much,
        "Invalid Input Error: missing ): " + much,
        "Conversion Error: Could not convert string 'a' to " + much + "' to INT32"}) {
    const Status error = duckdb::EngineError(text.c_str());
    EXPECT_LT(error.message().size(), 600u) << text.substr(0, 60);
  }
  EXPECT_EQ(duckdb::EngineError("Conversion Error: odd \a").message(), "odd U+0007");
}

TEST(EngineErrorTest, TextInQuotesHoldsNoMarks) {
  const std::string sql = PlaceBegin(0) + "f('/*>*/it''s /*<1*/', \"/*>*/\", CAST(a AS INTEGER))" +
                          std::string(kPlaceEnd);
  const std::string text = Json("Conversion", "Could not convert string 'x' to INT32",
                                static_cast<int>(sql.find("CAST(a")));
  EXPECT_THAT(duckdb::EngineError(text.c_str(), {sql, &kPlaces}).message(),
              testing::HasSubstr("line=1, column=8"));
  EXPECT_EQ(WithoutPlaces(sql), "f('/*>*/it''s /*<1*/', \"/*>*/\", CAST(a AS INTEGER))");
}

TEST(EngineErrorTest, TextThatLooksLikeMarksDoesNoHarm) {
  for (const std::string sql : {"/*<", "/*<7", "/*<99*/x", "/*>*/x", "'/*<0*/' CAST(x", "/*<-1*/x",
                                "/*<99999999999999999999*/x"}) {
    const std::string text = Json("Conversion", "Could not convert string 'x' to INT32",
                                  static_cast<int>(sql.size() - 1));
    EXPECT_EQ(CodeOf(duckdb::EngineError(text.c_str(), {sql, &kPlaces})), ErrorCode::kInvalidTable);
  }
  const std::string far = Json("Conversion", "Could not convert string 'x' to INT32", 1 << 30);
  EXPECT_EQ(CodeOf(duckdb::EngineError(far.c_str(), {"x", nullptr})), ErrorCode::kInvalidTable);
}

}  // namespace
}  // namespace sluice::sql
