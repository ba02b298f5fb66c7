#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "base/testing.h"
#include "base/text.h"

namespace sluice {

// Check value of CRC-32C from its definition (RFC 3720, appendix B.4).
TEST(Crc32cTest, MatchesTheKnownCheckValue) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
}

TEST(Crc32cTest, ContinuesFromAnEarlierPart) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(text.substr(cut), Crc32c(text.substr(0, cut))), Crc32c(text))
        << "cut at " << cut;
  }
}

TEST(BytesTest, VarintsComeBack) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, ~uint64_t{0}}) {
    std::string out;
    AppendVarint(&out, value);
    std::string_view in = out;
    uint64_t back = 0;
    ASSERT_TRUE(TakeVarint(&in, &back));
    EXPECT_EQ(back, value);
    EXPECT_TRUE(in.empty());
    std::string_view torn = std::string_view(out).substr(0, out.size() - 1);
    EXPECT_FALSE(TakeVarint(&torn, &back));
  }
}

TEST(BytesTest, BigEndianIsBigEndian) {
  std::string out;
  AppendBe<int32_t>(&out, -2);
  AppendBe<uint16_t>(&out, 0x0102);
  EXPECT_EQ(ToHex(out), "fffffffe0102");
  EXPECT_EQ(LoadBe<int32_t>(out.data()), -2);
}

TEST(MemoryBudgetTest, PartsTogetherKeepToTheLimitAndGoWithTheirHolders) {
  MemoryBudget budget(100);
  {
    MemoryBudget::Part first(budget), second(budget);
    EXPECT_TRUE(first.Hold(60));
    EXPECT_TRUE(second.Grow(40));
    EXPECT_FALSE(second.Grow(1));
    EXPECT_EQ(budget.used_bytes(), 101);
    EXPECT_TRUE(first.Hold(59));
    MemoryBudget::Part moved(std::move(first));
    EXPECT_EQ(budget.used_bytes(), 100);
    second = MemoryBudget::Part(budget);
    EXPECT_EQ(budget.used_bytes(), 59);
    second = std::move(moved);
    EXPECT_EQ(second.bytes(), 59);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(TextTest, TrimsSpacesAlone) {
  EXPECT_EQ(TrimSpaces("  a b "), "a b");
  EXPECT_EQ(TrimSpaces("\ta "), "\ta");
  EXPECT_EQ(TrimSpaces("  "), "");
}

TEST(ErrorTest, CarriesItsCode) {
  const Status status = Error(ErrorCode::kTableNotExist, "unknown table table=", "db.t");
  EXPECT_EQ(CodeOf(status), ErrorCode::kTableNotExist);
  EXPECT_EQ(status.message(), "unknown table table=db.t");
  EXPECT_EQ(CodeOf(Status::OK()), ErrorCode::kNone);
  EXPECT_EQ(CodeOf(Status::IOError("x")), ErrorCode::kUnknownServer);
}

TEST(MetricsTest, GroupsSamplesOfOneNameAndEscapesLabels) {
  MetricRegistry registry;
  registry.AddSource([](std::vector<MetricSample>* out) {
    out->push_back(
        {"sluice_rows_total", "Rows.", MetricSample::Kind::kCounter, {{"table", "a\"b"}}, 3});
    out->push_back({"sluice_lag_seconds", "Lag.", MetricSample::Kind::kGauge, {}, 0.5});
    out->push_back(
        {"sluice_rows_total", "Rows.", MetricSample::Kind::kCounter, {{"table", "c"}}, 4});
  });
  EXPECT_EQ(
      registry.PrometheusText(),
      "# HELP sluice_lag_seconds Lag.\n# TYPE sluice_lag_seconds gauge\nsluice_lag_seconds 0.5\n"
      "# HELP sluice_rows_total Rows.\n# TYPE sluice_rows_total counter\n"
      "sluice_rows_total{table=\"a\\\"b\"} 3\nsluice_rows_total{table=\"c\"} 4\n");
}

}  // namespace sluice
