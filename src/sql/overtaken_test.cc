#include <arrow/api.h>

#include <functional>
#include <map>

#include "sql/session_testing_internal.h"

namespace sluice::sql {
namespace {

/// What becomes of the point that a view stands for while it is read.
struct Fate {
  int views_lost_max = 0;       ///< So many views, from the first on, lose their point.
  int64_t rows_before = 0;      ///< After so many rows of a scan,
  Status error;                 ///< with this error;
  std::function<void()> event;  ///< and this happens then.
  int views_taken = 0;
  int views_lost = 0;
};

/// A view of tables in memory whose point may be lost under the read.
class FatedView : public TableView {
 public:
  FatedView(std::shared_ptr<TableView> whole, Fate* fate)
      : whole_(std::move(whole)), fate_(fate), lost_(fate->views_taken < fate->views_lost_max) {
    ++fate->views_taken;
  }
  const std::vector<SourceColumn>& columns() const override { return whole_->columns(); }
  Result<std::unique_ptr<ScanSource>> Open(std::vector<int> columns,
                                           std::vector<Predicate> predicates) override {
    ASSIGN_OR_RAISE(auto source, whole_->Open(std::move(columns), std::move(predicates)));
    return std::make_unique<Source>(std::move(source), lost_ ? fate_ : nullptr);
  }
  std::vector<std::string> Explain(const std::vector<int>& columns,
                                   const std::vector<Predicate>& predicates) const override {
    return whole_->Explain(columns, predicates);
  }

 private:
  struct Reader : BatchReader {
    Reader(std::unique_ptr<BatchReader> r, Fate* f) : rows(std::move(r)), fate(f) {}
    Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
      if (fate != nullptr && given == fate->rows_before) {
        ++fate->views_lost;
        if (fate->event) fate->event();
        return fate->error;
      }
      while (left == nullptr || left->num_rows() == 0) {
        ASSIGN_OR_RAISE(left, rows->Next());
        if (left == nullptr) return nullptr;
      }
      const int64_t count = fate == nullptr ? left->num_rows() : fate->rows_before - given;
      const auto some = left->Slice(0, count);
      left = left->Slice(some->num_rows());
      given += some->num_rows();
      return some;
    }
    std::unique_ptr<BatchReader> rows;
    Fate* fate;
    std::shared_ptr<arrow::RecordBatch> left;
    int64_t given = 0;
  };
  struct Source : ScanSource {
    Source(std::unique_ptr<ScanSource> s, Fate* f) : source(std::move(s)), fate(f) {}
    int parts() const override { return source->parts(); }
    Result<std::unique_ptr<BatchReader>> OpenPart(int part) override {
      ASSIGN_OR_RAISE(auto rows, source->OpenPart(part));
      return std::make_unique<Reader>(std::move(rows), fate);
    }
    std::unique_ptr<ScanSource> source;
    Fate* fate;
  };

  std::shared_ptr<TableView> whole_;
  Fate* fate_;
  const bool lost_;
};

class FatedCatalog : public MemoryCatalog {
 public:
  using MemoryCatalog::MemoryCatalog;
  Result<std::shared_ptr<TableView>> View(const TableRef& ref,
                                          const std::vector<SourceColumn>& bound,
                                          int scans) override {
    ASSIGN_OR_RAISE(auto whole, MemoryCatalog::View(ref, bound, scans));
    scans_of[ref.path.table] = scans;
    if (ref.path.table != "t") return whole;
    return std::make_shared<FatedView>(std::move(whole), &fate);
  }
  Fate fate;
  std::map<std::string, int> scans_of;  ///< As the last statement said, by table.
};

class OvertakenTest : public testing::Test {
 protected:
  OvertakenTest() {
    Must("CREATE TABLE t (k INT, s STRING)");
    Must("CREATE TABLE copy (k INT, s STRING)");
    Must("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
  }

  void Must(std::string_view sql) { ASSERT_OK(Run(session_, sql).status()); }

  // More rows than the engine makes ahead of a fetch.
  void FillWithManyRows() {
    std::string values = "(0)";
    for (int k = 1; k < 5000; ++k) values += ", (" + std::to_string(k) + ")";
    Must("CREATE TABLE seed (k INT)");
    Must("INSERT INTO seed VALUES " + values);
    for (int copy = 0; copy < 40; ++copy) Must("INSERT INTO t SELECT k, 'x' FROM seed");
  }

  static Result<std::vector<std::string>> Run(Session& session, std::string_view sql) {
    ASSIGN_OR_RAISE(const auto stream, session.Execute(sql));
    std::vector<std::string> lines;
    while (true) {
      ASSIGN_OR_RAISE(const auto batch, stream->Next());
      if (batch == nullptr) return lines;
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::string line;
        RETURN_NOT_OK(AppendJsonLine(stream->columns(), *batch, row, &line));
        line.pop_back();
        lines.push_back(std::move(line));
      }
    }
  }
  Result<std::vector<std::string>> Run(std::string_view sql) { return Run(session_, sql); }

  // What another session does meanwhile.
  std::function<void()> Meanwhile(std::string sql) {
    return [this, sql] { ASSERT_OK(Run(other_, sql).status()); };
  }

  std::shared_ptr<TableCatalog> Borrowed() {
    return std::shared_ptr<TableCatalog>(std::shared_ptr<void>(), &catalog_);
  }

  static Status LogCut() {
    return Error(ErrorCode::kLogOffsetOutOfRange,
                 "log was cut before it was read, table=fluss.t table_id=1 bucket=0 from=3 to=9");
  }
  static Status SnapshotGone() {
    return Error(ErrorCode::kLakeSnapshotNotExist, "a file of the lake snapshot is gone");
  }

  SetClock clock_;
  FatedCatalog catalog_{clock_};
  Session session_{TestEngine(), Borrowed(), clock_};
  Session other_{TestEngine(), Borrowed(), clock_};
};

TEST_F(OvertakenTest, AQueryWhosePointIsGoneReadsANewOneWhole) {
  for (const Status& error : {LogCut(), SnapshotGone()}) {
    catalog_.fate = {.views_lost_max = 2, .rows_before = 2, .error = error};
    ASSERT_OK_AND_ASSIGN(const auto rows, Run("SELECT COUNT(*) AS n, SUM(k) AS s FROM t"));
    EXPECT_EQ(rows, std::vector<std::string>{R"({"n":3,"s":6})"}) << error;
    EXPECT_EQ(catalog_.fate.views_taken, 3);
    EXPECT_EQ(catalog_.fate.views_lost, 2);
  }
}

// The second plan has the rows of its own point, and nothing of the first one twice.
TEST_F(OvertakenTest, ANewPlanSeesWhatCameMeanwhile) {
  catalog_.fate = {.views_lost_max = 1,
                   .rows_before = 2,
                   .error = LogCut(),
                   .event = Meanwhile("INSERT INTO t VALUES (4, 'd')")};
  ASSERT_OK_AND_ASSIGN(const auto rows, Run("SELECT k FROM t ORDER BY k"));
  EXPECT_EQ(rows,
            (std::vector<std::string>{R"({"k":1})", R"({"k":2})", R"({"k":3})", R"({"k":4})"}));
}

// Both scans of a join must stand for one point, also after it moved.
TEST_F(OvertakenTest, AllScansOfAStatementMoveTogether) {
  catalog_.fate = {.views_lost_max = 1,
                   .rows_before = 3,
                   .error = SnapshotGone(),
                   .event = Meanwhile("INSERT INTO t VALUES (4, 'd')")};
  ASSERT_OK_AND_ASSIGN(const auto rows, Run("SELECT COUNT(*) AS n FROM t a JOIN t b ON a.k = b.k"));
  EXPECT_EQ(rows, std::vector<std::string>{R"({"n":4})"});
}

// One view, which knows that it is read more than once, whichever way the statement comes to it.
TEST_F(OvertakenTest, AllScansOfAStatementShareOneView) {
  Must("CREATE VIEW twice AS SELECT a.k FROM t a JOIN t b ON a.k = b.k");
  for (const auto& [sql, scans] : std::vector<std::pair<std::string, int>>{
           {"SELECT COUNT(*) FROM t", 1},
           {"SELECT COUNT(*) FROM t a JOIN t b ON a.k = b.k", 2},
           {"SELECT COUNT(*) - (SELECT COUNT(*) FROM t) FROM t", 2},
           {"WITH c AS (SELECT k FROM t) SELECT COUNT(*) FROM c x, c y, c z", 3},
           {"SELECT k FROM t UNION ALL SELECT k FROM twice", 3}}) {
    catalog_.fate = {};
    Must(sql);
    EXPECT_EQ(catalog_.fate.views_taken, 1) << sql;
    EXPECT_EQ(catalog_.scans_of["t"], scans) << sql;
  }
}

TEST_F(OvertakenTest, TriesAreBoundedAndTheErrorNamesThePlace) {
  catalog_.fate = {.views_lost_max = 1000, .error = LogCut()};
  const auto rows = Run("SELECT k FROM t");
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, rows);
  EXPECT_THAT(rows.status().message(),
              testing::HasSubstr("table=fluss.t table_id=1 bucket=0 from=3 to=9, also when "
                                 "planned anew, plans=5"));
  EXPECT_EQ(catalog_.fate.views_taken, 5);
}

// A client that has rows of one point must not get rows of another behind them.
TEST_F(OvertakenTest, NothingIsPlannedAnewBehindRowsThatWereGivenOut) {
  FillWithManyRows();
  catalog_.fate = {.views_lost_max = 1, .rows_before = 190000, .error = LogCut()};
  ASSERT_OK_AND_ASSIGN(const auto stream, session_.Execute("SELECT * FROM t"));
  int64_t rows = 0;
  Status ended;
  while (ended.ok()) {
    const auto batch = stream->Next();
    ended = batch.status();
    if (!batch.ok()) break;
    ASSERT_NE(*batch, nullptr);
    rows += (*batch)->num_rows();
  }
  EXPECT_GT(rows, 0);
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, ended);
  EXPECT_THAT(ended.message(), testing::HasSubstr("rows have been given out"));
  EXPECT_EQ(catalog_.fate.views_taken, 1);
}

TEST_F(OvertakenTest, AnInsertIsPlannedAnewUntilItWrote) {
  catalog_.fate = {.views_lost_max = 1, .rows_before = 2, .error = LogCut()};
  Must("INSERT INTO copy SELECT * FROM t");
  ASSERT_OK_AND_ASSIGN(const auto copied, Run("SELECT COUNT(*) AS n, SUM(k) AS s FROM copy"));
  EXPECT_EQ(copied, std::vector<std::string>{R"({"n":3,"s":6})"});

  FillWithManyRows();
  catalog_.fate = {.views_lost_max = 1, .rows_before = 190000, .error = LogCut()};
  EXPECT_CODE(ErrorCode::kLogOffsetOutOfRange, Run("INSERT INTO copy SELECT * FROM t"));
  EXPECT_EQ(catalog_.fate.views_taken, 1);
}

TEST_F(OvertakenTest, OtherErrorsAndSnapshotsThatTheUserNamedAreNotTriedAgain) {
  catalog_.fate = {.views_lost_max = 1, .error = Corrupt("log batch is damaged")};
  EXPECT_CODE(ErrorCode::kCorruptRecord, Run("SELECT k FROM t"));
  EXPECT_EQ(catalog_.fate.views_taken, 1);
  const auto rows = Run("SELECT k FROM t$lake FOR SYSTEM_VERSION AS OF 99");
  EXPECT_FALSE(rows.ok());
  EXPECT_THAT(rows.status().message(), testing::Not(testing::HasSubstr("planned anew")));
}

}  // namespace
}  // namespace sluice::sql
