#include "kv/row_check.h"

#include <arrow/api.h>

#include "base/check.h"
#include "base/testing.h"

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

INSTANTIATE_TEST_SUITE_P(Formats, RowCheckTest,
                         testing::Values(types::RowFormat::kCompacted, types::RowFormat::kIndexed),
                         [](const auto& info) {
                           return info.param == types::RowFormat::kCompacted ? "compacted"
                                                                             : "indexed";
                         });

}  // namespace
}  // namespace sluice::kv
