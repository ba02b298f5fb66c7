#include "kv/row_check.h"

#include <arrow/api.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/testing.h"
#include "wire/log_rows.h"

namespace sluice::kv {
namespace {

using types::DataType;
using types::TypeKind;

class RowCheckTest : public testing::TestWithParam<types::RowFormat> {
 protected:
  RowCheckTest() {
    schema_.columns = {{"name", DataType::Of(TypeKind::kString), "", 0, "", {}},
                       {"tags", DataType::Array(DataType::Of(TypeKind::kString)), "", 1, "", {}},
                       {"count", DataType::Of(TypeKind::kBigInt), "", 2, "", {}}};
    std::vector<types::DataTypePtr> columns;
    for (const auto& column : schema_.columns) columns.push_back(column.type);
    codec_.emplace(GetParam(), columns);
    check_.emplace(schema_, *codec_);
  }
  std::string Row() {
    arrow::StringBuilder names;
    auto tag = std::make_shared<arrow::StringBuilder>();
    arrow::ListBuilder tags(arrow::default_memory_pool(), tag);
    arrow::Int64Builder counts;
    CHECK(names.Append("gr\xc3\xbc\xc3\x9f").ok() && tags.Append().ok() &&
          tag->Append("tagtag").ok() && counts.Append(-1).ok());
    const auto batch = arrow::RecordBatch::Make(
        schema_.ToArrow(), 1,
        {names.Finish().ValueOrDie(), tags.Finish().ValueOrDie(), counts.Finish().ValueOrDie()});
    std::vector<std::string> rows;
    CHECK(codec_->Encode(*batch, 0, 1, &rows).ok());
    return rows[0];
  }
  Status Check(const std::string& row) {
    ASSIGN_OR_RAISE(const auto parts, codec_->Split(row));
    const std::vector<std::string_view> rows{row};
    return check_->Check(rows, parts);
  }
  static std::string With(std::string row, const std::string& from, const std::string& to) {
    return row.replace(row.find(from), from.size(), to);
  }

  types::Schema schema_;
  std::optional<types::RowCodec> codec_;
  std::optional<RowCheck> check_;
};

TEST_P(RowCheckTest, WholeRowsPass) { EXPECT_OK(Check(Row())); }

TEST_P(RowCheckTest, BytesBehindTheLastColumnAreRefused) {
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(Row() + "x"));
}

TEST_P(RowCheckTest, TextMustBeUtf8) {
  for (const std::string bad : {"\xff\xff", "\xc3\x28", "\xed\xa0"}) {
    const Status status = Check(With(Row(), "\xc3\xbc", bad));
    EXPECT_CODE(ErrorCode::kCorruptRecord, status);
    EXPECT_NE(status.message().find("column=name"), std::string::npos) << status.message();
  }
}

TEST_P(RowCheckTest, TextInsideNestedValuesToo) {
  EXPECT_CODE(ErrorCode::kCorruptRecord, Check(With(Row(), "tagtag", "tag\xfftg")));
}

TEST_P(RowCheckTest, NestedValuesOfEveryRowAreLookedAt) {
  std::vector<std::string> rows(3000, Row());
  const auto check_log = [&] {
    const std::vector<std::string_view> views(rows.begin(), rows.end());
    ASSIGN_OR_RAISE(const std::string bytes, wire::BuildRowBatch({}, views, {}));
    ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
    const bool compacted = GetParam() == types::RowFormat::kCompacted;
    return CheckLogRows(
        batch, compacted ? types::LogFormat::kCompacted : types::LogFormat::kIndexed, schema_);
  };
  EXPECT_OK(check_log());
  for (const size_t at : {0, 1023, 1024, 2999}) {
    rows[at] = With(Row(), "tagtag", "tag\xfftg");
    EXPECT_CODE(ErrorCode::kCorruptRecord, check_log());
    rows[at] = Row();
  }
}

// Beside a key's row the same row in a batch for a log.
class RowRangeTest : public RowCheckTest {
 protected:
  void Use(const types::DataTypePtr& type) {
    schema_.columns = {{"value", type, "", 0, "", {}}};
    codec_.emplace(GetParam(), std::vector{type});
    check_.emplace(schema_, *codec_);
  }
  std::string RowOf(const std::string& part) { return codec_->Join(Parts{part}); }
  Status CheckInLog(const std::string& row) {
    const std::vector<std::string_view> rows{row};
    ASSIGN_OR_RAISE(const std::string bytes, wire::BuildRowBatch({}, rows, {}));
    ASSIGN_OR_RAISE(const auto batch, wire::LogBatchView::Parse(bytes));
    return CheckLogRows(
        batch, compacted() ? types::LogFormat::kCompacted : types::LogFormat::kIndexed, schema_);
  }
  Status Replay(const std::string& row) {
    const std::vector<std::string_view> rows{row};
    ASSIGN_OR_RAISE(const auto batch, codec_->Decode(rows));
    return batch->ValidateFull();
  }
  bool compacted() const { return GetParam() == types::RowFormat::kCompacted; }

  std::string Number(int64_t value) {
    std::string part;
    types::PartValue(GetParam(), codec_->columns()[0]).PutInteger(value, &part);
    return part;
  }
  std::string Bytes(const std::string& value) {
    std::string part;
    if (compacted()) AppendVarint(&part, value.size());
    return part + value;
  }
  std::string Time(int64_t ms, int32_t nanos) {
    std::string part;
    if (compacted()) {
      AppendVarint(&part, static_cast<uint64_t>(ms));
      AppendVarint(&part, static_cast<uint32_t>(nanos));
    } else {
      AppendLe(&part, ms);
      AppendLe(&part, nanos);
    }
    return part;
  }
  void ExpectRange(const std::vector<std::string>& good, const std::vector<std::string>& bad) {
    for (const std::string& part : good) {
      SCOPED_TRACE(ToHex(part));
      EXPECT_OK(Check(RowOf(part)));
      EXPECT_OK(CheckInLog(RowOf(part)));
      EXPECT_OK(Replay(RowOf(part)));
    }
    for (const std::string& part : bad) {
      SCOPED_TRACE(ToHex(part));
      EXPECT_CODE(ErrorCode::kCorruptRecord, Check(RowOf(part)));
      EXPECT_CODE(ErrorCode::kCorruptRecord, CheckInLog(RowOf(part)));
    }
  }
};

TEST_P(RowRangeTest, DecimalsHaveTheirDigits) {
  Use(DataType::Decimal(5, 2));
  ExpectRange({Number(99'999), Number(-99'999)}, {Number(100'000), Number(1'000'000'000)});
  Use(DataType::Decimal(38, 0));
  ExpectRange({Bytes("\x7f"), Bytes(std::string(16, '\xff'))},
              {Bytes(""), Bytes(std::string(16, '\x7f')), Bytes(std::string(17, '\xff'))});
}

TEST_P(RowRangeTest, TimesLieWithinTheDay) {
  for (const int precision : {0, 3, 9}) {
    Use(DataType::Time(precision));
    ExpectRange({Number(0), Number(86'399'999)}, {Number(-1), Number(86'400'000)});
  }
}

TEST_P(RowRangeTest, TimestampsAreOnesThatArrowHolds) {
  for (const auto& type : {DataType::Timestamp(6), DataType::TimestampLtz(9)}) {
    Use(type);
    ExpectRange({Time(0, 999'999), Time(-1, 0)},
                {Time(0, 2'000'000), Time(0, -1), Time(INT64_MAX, 0), Time(INT64_MIN, 0)});
  }
  Use(DataType::Timestamp(3));
  ExpectRange({Number(INT64_MAX), Number(INT64_MIN)}, {});
}

TEST_P(RowRangeTest, BinariesAreNotTooLong) {
  Use(DataType::Binary(4));
  ExpectRange({Bytes("four")}, {Bytes("nine byte")});
}

// A NULL takes a bit here and all bytes where it is read.
TEST_P(RowRangeTest, BinariesOfALogBatchFitInMemory) {
  Use(DataType::Binary(200 << 20));
  EXPECT_OK(CheckInLog(codec_->Join(Parts(1))));
  Use(DataType::Binary(300 << 20));
  EXPECT_CODE(ErrorCode::kRecordTooLarge, CheckInLog(codec_->Join(Parts(1))));
}

INSTANTIATE_TEST_SUITE_P(Formats, RowRangeTest,
                         testing::Values(types::RowFormat::kCompacted, types::RowFormat::kIndexed),
                         [](const auto& info) {
                           return info.param == types::RowFormat::kCompacted ? "compacted"
                                                                             : "indexed";
                         });

INSTANTIATE_TEST_SUITE_P(Formats, RowCheckTest,
                         testing::Values(types::RowFormat::kCompacted, types::RowFormat::kIndexed),
                         [](const auto& info) {
                           return info.param == types::RowFormat::kCompacted ? "compacted"
                                                                             : "indexed";
                         });

}  // namespace
}  // namespace sluice::kv
