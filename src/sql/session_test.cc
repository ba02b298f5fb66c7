#include <arrow/api.h>

#include "io/pool.h"
#include "sql/session_testing_internal.h"

namespace sluice::sql {
namespace {

/// Rows that never come, as of a log whose server does not answer.
class StuckView : public TableView {
 public:
  explicit StuckView(std::function<Status()> wait) : wait_(std::move(wait)) {}
  const std::vector<SourceColumn>& columns() const override { return columns_; }
  Result<std::unique_ptr<ScanSource>> Open(std::vector<int>, std::vector<Predicate>) override {
    return std::make_unique<Source>(wait_);
  }
  std::vector<std::string> Explain(const std::vector<int>&,
                                   const std::vector<Predicate>&) const override {
    return {};
  }

 private:
  struct Reader : BatchReader {
    explicit Reader(std::function<Status()> w) : wait(std::move(w)) {}
    Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
      RETURN_NOT_OK(wait());
      return nullptr;
    }
    std::function<Status()> wait;
  };
  struct Source : ScanSource {
    explicit Source(std::function<Status()> w) : wait(std::move(w)) {}
    int parts() const override { return 1; }
    Result<std::unique_ptr<BatchReader>> OpenPart(int) override {
      return std::make_unique<Reader>(wait);
    }
    std::function<Status()> wait;
  };

  std::vector<SourceColumn> columns_ = {
      {"a", types::DataType::Of(types::TypeKind::kInteger), false}};
  std::function<Status()> wait_;
};

class StuckCatalog : public MemoryCatalog {
 public:
  StuckCatalog(io::Clock& clock, io::Loop& loop)
      : MemoryCatalog(clock), loop_(loop), reply_(loop), waiting_(loop) {}
  Result<std::shared_ptr<TableView>> View(const TableRef&, const std::vector<SourceColumn>&,
                                          int) override {
    return std::make_shared<StuckView>([this] {
      waiting_.Set(true);
      return interruption()->Wait(loop_, Reply(reply_));
    });
  }
  /// Once a scan waits.
  static io::Task<Result<bool>> Waiting(StuckCatalog* self) { co_return co_await self->waiting_; }
  void Answer() { reply_.Set(true); }

 private:
  static io::Task<Status> Reply(io::Completion<bool> reply) {
    co_await reply;
    co_return Status::OK();
  }
  io::Loop& loop_;
  io::Completion<bool> reply_, waiting_;
};

struct SessionInterruptTest : testing::Test {
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto created,
                         session.Execute("CREATE TABLE t (a INT) WITH ('bucket.num' = '1')"));
  }
  /// The answer of a statement that runs on another thread.
  void Start(const std::string& sql) {
    ASSERT_TRUE(pool->TryPost([this, sql] { done.Set(RunAll(sql)); }));
  }
  Status RunAll(const std::string& sql) {
    ASSIGN_OR_RAISE(const auto stream, session.Execute(sql));
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return Status::OK();
    }
  }
  static io::Task<Result<bool>> Pause(io::Loop& loop) {
    co_await io::Sleep(loop, std::chrono::milliseconds(5));
    co_return true;
  }
  static io::Task<Status> End(io::Completion<Status> done) { co_return co_await done; }

  std::unique_ptr<io::LoopThreads> loops = io::LoopThreads::Start("test", 1);
  SetClock clock;
  std::shared_ptr<StuckCatalog> catalog = std::make_shared<StuckCatalog>(clock, loops->at(0));
  Session session{TestEngine(), catalog, clock};
  std::unique_ptr<io::Pool> pool = io::Pool::Start({.name = "statement", .threads = 1});
  io::Completion<Status> done{loops->at(0)};
};

TEST_F(SessionInterruptTest, EndsAScanThatWaitsForAServer) {
  Start("SELECT a FROM t");
  ASSERT_OK(io::SyncWait(loops->at(0), StuckCatalog::Waiting(catalog.get())).status());
  session.Interrupt(Error(ErrorCode::kRequestTimeOut, "out of time"));
  const Status ended = io::SyncWait(loops->at(0), End(done));
  EXPECT_CODE(ErrorCode::kRequestTimeOut, ended);
  EXPECT_EQ(ended.message(), "out of time");
  catalog->Answer();  // Late: nobody takes it.
}

TEST_F(SessionInterruptTest, RefusesStatementsUntilResumed) {
  session.Interrupt();
  EXPECT_TRUE(session.Execute("SELECT 1").status().IsCancelled());
  session.Resume();
  EXPECT_OK(RunAll("SELECT 1"));
}

TEST_F(SessionInterruptTest, EndsAQueryThatOnlyComputes) {
  Start(
      "SELECT COUNT(*) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS a(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS b(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS c(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS d(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS e(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS f(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS g(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS h(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS i(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS j(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS k(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS l(x)"
      ", (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS m(x)"
      " WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x + h.x > m.x");
  auto ended = std::make_shared<std::atomic<bool>>(false);
  const auto watch = [this, ended] {
    while (!ended->load()) {
      session.Interrupt();
      std::ignore = io::SyncWait(loops->at(0), Pause(loops->at(0)));
    }
  };
  auto watcher = io::Pool::Start({.name = "watch", .threads = 1});
  ASSERT_TRUE(watcher->TryPost(watch));
  const Status status = io::SyncWait(loops->at(0), End(done));
  ended->store(true);
  EXPECT_TRUE(status.IsCancelled()) << status.ToString();
}

// The engine holds a text once that stands in every row; batches hold it each time.
TEST(SessionTest, BatchesOfLongTextsAreCut) {
  SetClock clock;
  Session session(TestEngine(), std::make_shared<MemoryCatalog>(clock), clock);
  ASSERT_OK_AND_ASSIGN(const auto stream,
                       session.Execute("SELECT x, REPEAT('y', 10000000) AS y FROM "
                                       "(VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS t(x)"));
  std::vector<int64_t> sizes;
  int32_t next = 1;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, stream->Next());
    if (batch == nullptr) break;
    sizes.push_back(batch->num_rows());
    const auto& numbers = static_cast<const arrow::Int32Array&>(*batch->column(0));
    const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(1));
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      EXPECT_EQ(numbers.Value(row), next++);
      EXPECT_EQ(texts.value_length(row), 10000000);
    }
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{3, 3, 2}));
}

// What a log holds and the engine's microseconds do not.
TEST(SessionTest, TimestampsOutOfRangeAreErrors) {
  MemorySession memory;
  ASSERT_OK(memory.Run("CREATE TABLE t (ts TIMESTAMP(3)) WITH ('bucket.num' = '1')"));
  const auto write = [&](std::optional<int64_t> value_ms) -> Status {
    arrow::TimestampBuilder values(arrow::timestamp(arrow::TimeUnit::MILLI),
                                   arrow::default_memory_pool());
    RETURN_NOT_OK(value_ms.has_value() ? values.Append(*value_ms) : values.AppendNull());
    ASSIGN_OR_RAISE(const auto column, values.Finish());
    const auto schema = arrow::schema({arrow::field("ts", column->type())});
    ASSIGN_OR_RAISE(const auto sink,
                    memory.catalog.OpenSink({"fluss", "t"}, {.columns = {"ts"}, .deletes = false}));
    RETURN_NOT_OK(sink->Write(arrow::RecordBatch::Make(schema, 1, {column})));
    return sink->Finish();
  };
  ASSERT_OK(write(std::nullopt));
  ASSERT_OK(write(INT64_MAX / 1000 - 1));
  ASSERT_OK_AND_ASSIGN(const Answer near_the_end, memory.Run("SELECT COUNT(ts) FROM t"));
  EXPECT_EQ(near_the_end.rows[0][0], "1");
  ASSERT_OK(write(INT64_MIN / 1000 - 1));
  const auto answer = memory.Run("SELECT ts FROM t");
  EXPECT_FALSE(answer.ok());
  EXPECT_NE(answer.status().message().find("value=-9223372036854776"), std::string::npos)
      << answer.status().ToString();
  EXPECT_NE(answer.status().message().find("column=ts"), std::string::npos)
      << answer.status().ToString();
}

TEST(SessionTest, AMistakeInAJsonPathHasOneCodeWhereverItComesFrom) {
  MemorySession memory;
  for (const std::string path : {"a", "strict $.a", "$.a[*]", "$..a", "$.a[", "$.a ? (@ > 1)"}) {
    const Status constant = memory.Run("SELECT JSON_VALUE('{\"a\": 1}', '" + path + "')").status();
    const Status column =
        memory.Run("SELECT JSON_VALUE('{\"a\": 1}', p) FROM (VALUES ('" + path + "')) AS t(p)")
            .status();
    EXPECT_FALSE(constant.ok()) << path;
    EXPECT_EQ(CodeOf(constant), CodeOf(column)) << path << ": " << constant << " | " << column;
  }
}

// A catalog whose server does not answer when it is asked for a table.
class SilentCatalog : public MemoryCatalog {
 public:
  using MemoryCatalog::MemoryCatalog;
  Result<types::TableInfo> GetTable(const types::TablePath&) override {
    return Error(ErrorCode::kNetwork, "no answer");
  }
};

TEST(SessionTest, AggregateFunctionsAreOptionsOfTheirColumns) {
  MemorySession tables;
  ASSERT_OK(
      tables.Run("CREATE TABLE t (k INT, names STRING, `n.m` BIGINT, PRIMARY KEY (k) NOT "
                 "ENFORCED) WITH ('table.merge-engine' = 'aggregation', 'fields.names.agg' = "
                 "'LISTAGG', 'fields.names.listagg.delimiter' = ';', 'fields.n.m.agg' = "
                 "'last-value')"));
  ASSERT_OK_AND_ASSIGN(const types::TableInfo table, tables.catalog.GetTable({"fluss", "t"}));
  const auto& columns = table.descriptor.schema.columns;
  EXPECT_EQ(columns[1].agg_function, "listagg");
  EXPECT_EQ(columns[1].agg_parameters, (std::map<std::string, std::string>{{"delimiter", ";"}}));
  EXPECT_EQ(columns[2].agg_function, "last_value");
  ASSERT_OK_AND_ASSIGN(const Answer shown, tables.Run("SHOW CREATE TABLE t"));
  const std::string text = shown.rows.at(0).at(0).value_or("");
  for (const char* option : {"'fields.names.agg' = 'listagg'", "'fields.n.m.agg' = 'last_value'",
                             "'fields.names.listagg.delimiter' = ';'"}) {
    EXPECT_THAT(text, testing::HasSubstr(option));
  }
}

// As of a table in a lake: the server added where that is.
constexpr char kLikeSource[] =
    "CREATE TABLE s (k INT, d STRING, v BIGINT, PRIMARY KEY (k, d) NOT ENFORCED) PARTITIONED BY (d)"
    " WITH ('bucket.num' = '3', 'bucket.key' = 'k', 'mine' = '1', 'auto-increment.fields' = 'v',"
    " 'table.datalake.enabled' = 'true', 'table.datalake.format' = 'paimon',"
    " 'table.datalake.paimon.warehouse' = '/lake', 'fields.v.agg' = 'sum')";

TEST(SessionTest, ATableLikeAnotherTakesOverWhatItNames) {
  MemorySession tables;
  ASSERT_OK(tables.Run(kLikeSource));
  const auto made = [&](const std::string& tail) {
    EXPECT_OK(tables.Run("DROP TABLE IF EXISTS t"));
    EXPECT_OK(tables.Run("CREATE TABLE t " + tail));
    return tables.catalog.GetTable({"fluss", "t"})->descriptor;
  };
  for (const char* tail : {"LIKE s", "LIKE s (INCLUDING ALL)", "LIKE s (OVERWRITING OPTIONS)"}) {
    const auto whole = made(tail);
    EXPECT_EQ(whole.schema.primary_key, (std::vector<std::string>{"k", "d"}));
    EXPECT_EQ(whole.partition_keys, std::vector<std::string>{"d"});
    EXPECT_EQ(whole.bucket_count, 3);
    EXPECT_EQ(whole.schema.columns[2].agg_function, "sum");
    EXPECT_EQ(whole.custom_properties.at("mine"), "1");
    EXPECT_EQ(whole.properties,
              (std::map<std::string, std::string>{{"table.datalake.enabled", "true"},
                                                  {"table.datalake.format", "paimon"}}));
  }
  const auto bare = made("LIKE s (EXCLUDING ALL)");
  EXPECT_EQ(bare.schema.columns.size(), 3u);
  EXPECT_TRUE(bare.schema.primary_key.empty() && bare.partition_keys.empty());
  EXPECT_TRUE(bare.properties.empty() && bare.custom_properties.empty());
  EXPECT_TRUE(bare.schema.auto_increment.empty() && bare.schema.columns[2].agg_function.empty());
  const auto some = made(
      "(w INT) WITH ('mine' = '2') LIKE s (EXCLUDING ALL INCLUDING CONSTRAINTS "
      "OVERWRITING OPTIONS EXCLUDING DISTRIBUTION)");
  EXPECT_EQ(some.schema.columns.size(), 4u);
  EXPECT_TRUE(some.schema.has_primary_key() && some.partition_keys.empty());
  EXPECT_EQ(some.bucket_count, 1);  // As without a word.
  EXPECT_EQ(some.custom_properties.at("mine"), "2");
  for (const auto& [tail, problem] : std::vector<std::pair<std::string, std::string>>{
           {"WITH ('mine' = '2') LIKE s (INCLUDING OPTIONS)", "option=mine"},
           {"LIKE s (OVERWRITING CONSTRAINTS)", "cannot be overwritten"},
           {"LIKE s (INCLUDING ALL EXCLUDING ALL)", "named twice"},
           {"LIKE s (INCLUDING ROWS)", "needs a feature"},
           {"LIKE s ()", "INCLUDING"}}) {
    const Status refused = tables.Run("CREATE TABLE u " + tail).status();
    EXPECT_THAT(refused.message(), testing::HasSubstr(problem)) << tail;
  }
}

TEST(SessionTest, WhatShowCreateTableSaysMakesSuchATable) {
  MemorySession tables;
  ASSERT_OK(tables.Run(kLikeSource));
  const auto before = tables.catalog.GetTable({"fluss", "s"})->descriptor;
  ASSERT_OK_AND_ASSIGN(const Answer shown, tables.Run("SHOW CREATE TABLE s"));
  const std::string text = shown.rows.at(0).at(0).value_or("");
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("/lake")));
  ASSERT_OK(tables.Run("DROP TABLE s"));
  ASSERT_OK(tables.Run(text));
  auto after = tables.catalog.GetTable({"fluss", "s"})->descriptor;
  after.properties["table.datalake.paimon.warehouse"] = "/lake";  // As a server would.
  EXPECT_EQ(after.ToJson(), before.ToJson());
}

TEST(SessionTest, AViewIsMadeOnlyWhereThereIsNoTableForSure) {
  SetClock clock;
  const auto catalog = std::make_shared<SilentCatalog>(clock);
  Session session(TestEngine(), catalog, clock);
  EXPECT_CODE(ErrorCode::kNetwork, session.Execute("CREATE VIEW v AS SELECT 1 AS a"));
  ASSERT_OK_AND_ASSIGN(const auto views, catalog->ListViews("fluss"));
  EXPECT_TRUE(views.empty());
}

}  // namespace
}  // namespace sluice::sql
