// Random operations against a map, over both kinds of stores, with crashes and flushes between any
// two steps.
#include "io/pool.h"
#include "io/random.h"
#include "kv/tablet_fixture.h"

namespace sluice::kv {
namespace {

class KvOracleTest : public testing::TestWithParam<StoreKind> {
 protected:
  KvOracleTest() : stores_(MakeStores(GetParam())) {}
  std::string folder() const { return io::JoinPath(dir_.path(), "kv-0"); }

  TempDir dir_;
  std::unique_ptr<KeyStores> stores_;
};

// What the puts of one batch mean, computed without our code.
void ApplyToOracle(const std::vector<TestPut>& puts, bool partial,
                   std::map<int32_t, TestRow>* state) {
  for (const TestPut& put : puts) {
    const auto at = state->find(put.row.id);
    if (!put.is_delete && (!partial || at == state->end())) {
      TestRow row = put.row;
      if (partial) row.name = std::nullopt, row.version = std::nullopt;
      (*state)[row.id] = row;
    } else if (!put.is_delete) {
      at->second.amount = put.row.amount;
    } else if (at != state->end()) {
      if (partial) at->second.amount = std::nullopt;
      if (!partial || (!at->second.name && !at->second.version)) state->erase(at);
    }
  }
}

TestPut RandomPut(io::Random& random) {
  const auto id = static_cast<int32_t>(random.Below(60)) - 10;
  if (random.Below(4) == 0) return Del(id);
  TestRow row{id, {}, {}, {}};
  if (random.Below(3) != 0)
    row.name = std::string(random.Below(30), static_cast<char>('a' + random.Below(26)));
  if (random.Below(3) != 0) row.amount = static_cast<int64_t>(random.Next());
  if (random.Below(3) != 0) row.version = static_cast<int32_t>(random.Next());
  return Up(row);
}

using Apply = void (*)(const std::vector<TestPut>&, bool partial, std::map<int32_t, TestRow>*);

// Random operations, with crashes and flushes between any two.
void RunOperations(KeyStores& stores, const std::string& folder, uint64_t seeds,
                   const types::TableInfo& table, Apply apply) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    io::SeededRandom random(seed);
    ManualPool pool;
    TestBucket bucket(stores, folder + std::to_string(seed), table, &pool,
                      /*bytes_max=*/6 << 10);
    ASSERT_OK(bucket.Reopen());
    std::map<int32_t, TestRow> oracle;
    for (int step = 0; step < 150; ++step) {
      const uint64_t what = random.Below(20);
      if (what < 14) {
        std::vector<TestPut> puts(1 + random.Below(12));
        for (TestPut& put : puts) put = RandomPut(random);
        const bool partial = random.Below(4) == 0;
        const auto done = bucket.Put(puts, partial ? std::vector<int>{0, 2} : std::vector<int>{});
        if (done.ok()) {
          apply(puts, partial, &oracle);
        } else {
          EXPECT_CODE(ErrorCode::kStorageBackpressure, done.status());
          pool.RunAll();
          bucket.loop().RunPosted();
        }
      } else if (what == 14) {
        bucket.tablet().StartFlush();
      } else if (what == 15) {
        pool.RunAll();  // The store has it, the shard has not heard.
      } else if (what == 16) {
        pool.RunAll();
        bucket.loop().RunPosted();
      } else if (what == 17) {
        pool.RunAll();  // A destructor waits for a running move.
        ASSERT_OK(bucket.Reopen());
      } else if (what == 18) {
        while (bucket.tablet().flushing()) {  // Its end may begin another.
          pool.RunAll();
          bucket.loop().RunPosted();
        }
        ASSERT_OK(bucket.tablet().Close());
        ASSERT_OK(bucket.Reopen());
        EXPECT_EQ(bucket.replayed_from, bucket.end_offset());
      } else {
        ASSERT_EQ(bucket.Scan(50), oracle);
      }
      ASSERT_EQ(*bucket.tablet().RowCount(), static_cast<int64_t>(oracle.size()));
    }
    EXPECT_EQ(bucket.Scan(), oracle);
    EXPECT_EQ(bucket.Folded(), oracle);
    for (int32_t id = -10; id < 50; ++id) {
      const auto row = bucket.Lookup(id);
      const auto at = oracle.find(id);
      EXPECT_EQ(row, at == oracle.end() ? std::nullopt : std::make_optional(at->second));
    }
    pool.RunAll();
  }
}

TEST_P(KvOracleTest, StateIsTheChangelogFoldedThroughCrashesAndFlushes) {
  RunOperations(*stores_, folder(), GetParam().rocks ? 5 : 30, TestTable(), &ApplyToOracle);
}

// name is the greatest, amount the sum, version the last.
void AggregateInOracle(const std::vector<TestPut>& puts, bool partial,
                       std::map<int32_t, TestRow>* state) {
  for (const TestPut& put : puts) {
    const auto at = state->find(put.row.id);
    if (put.is_delete || at == state->end()) {
      ApplyToOracle({put}, partial, state);
      continue;
    }
    TestRow& row = at->second;
    if (put.row.amount) {
      row.amount = static_cast<int64_t>(static_cast<uint64_t>(row.amount.value_or(0)) +
                                        static_cast<uint64_t>(*put.row.amount));
    }
    if (partial) continue;
    row.name = std::max(row.name, put.row.name);  // None is the least.
    row.version = put.row.version;
  }
}

TEST_P(KvOracleTest, AggregatesLiveThroughCrashesAndFlushes) {
  types::TableInfo table =
      TestTable({{"table.merge-engine", "aggregation"}, {"table.delete.behavior", "ALLOW"}});
  table.descriptor.schema.columns[1].agg_function = "max";
  table.descriptor.schema.columns[2].agg_function = "sum";
  table.descriptor.schema.columns[3].agg_function = "last_value";
  RunOperations(*stores_, folder(), GetParam().rocks ? 5 : 30, table, &AggregateInOracle);
}

// Flushes run on a thread while the shard puts, reads and scans.
TEST_P(KvOracleTest, PutsAndFlushesRunBesideEachOther) {
  const auto pool = io::Pool::Start({.name = "flush", .threads = 1});
  TestBucket bucket(*stores_, folder(), TestTable(), pool.get(), /*bytes_max=*/64 << 10);
  ASSERT_OK(bucket.Reopen());
  io::SeededRandom random(7);
  std::map<int32_t, TestRow> oracle;
  std::vector<std::pair<std::unique_ptr<KvScan>, std::map<int32_t, TestRow>>> scans;
  int refused = 0;
  for (int step = 0; step < 1500; ++step) {
    std::vector<TestPut> puts(20);
    for (TestPut& put : puts) {
      put = RandomPut(random);
      put.row.id = static_cast<int32_t>(random.Below(500));
    }
    const auto done = bucket.Put(puts);
    if (done.ok()) {
      ApplyToOracle(puts, false, &oracle);
    } else {
      ++refused;
      bucket.loop().RunPosted();
    }
    ASSERT_LT(bucket.tablet().write_back_bytes(), 80u << 10);
    if (step % 100 == 0) {
      auto scan = bucket.tablet().OpenScan();
      if (scan.ok()) scans.emplace_back(std::move(*scan), oracle);
    }
  }
  for (auto& [scan, expected] : scans) EXPECT_EQ(bucket.Drain(*scan), expected);
  scans.clear();
  EXPECT_GT(bucket.tablet().applied_offset(), 0);
  ASSERT_OK(bucket.Reopen());  // Waits for the running flush, then replays the rest.
  EXPECT_EQ(bucket.Scan(), oracle);
  EXPECT_EQ(*bucket.tablet().RowCount(), static_cast<int64_t>(oracle.size()));
  while (bucket.tablet().flushing()) bucket.loop().RunPosted();
  ASSERT_OK(bucket.tablet().Close());
  RecordProperty("refused", refused);
}

INSTANTIATE_TEST_SUITE_P(Stores, KvOracleTest, testing::ValuesIn(kStoreKinds),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sluice::kv
