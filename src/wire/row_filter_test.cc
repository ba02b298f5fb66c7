#include "wire/row_filter.h"

#include <arrow/api.h>

#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/testing.h"
#include "io/random.h"
#include "wire/batch_statistics.h"
#include "wire/log_batch.h"
#include "wire/proto/log.pb.h"
#include "wire/sample_rows_testing_internal.h"
#include "wire/testing_internal.h"

namespace sluice::wire {
namespace {

using internal::EveryCut;
using internal::RandomDamage;
using internal::RowsFromJson;
using types::DataType;
using types::TypeKind;
using Op = RowFilter::Op;

types::Schema SchemaOf(std::vector<types::DataTypePtr> types) {
  types::Schema schema;
  for (auto& type : types) {
    const auto id = static_cast<int32_t>(schema.columns.size());
    schema.columns.push_back({.name = "c" + std::to_string(id), .type = std::move(type), .id = id});
  }
  return schema;
}

// Every type that has statistics, and two that have none.
types::Schema AllTypes() {
  return SchemaOf({DataType::Of(TypeKind::kBoolean),
                   DataType::Of(TypeKind::kTinyInt),
                   DataType::Of(TypeKind::kSmallInt),
                   DataType::Of(TypeKind::kInteger),
                   DataType::Of(TypeKind::kBigInt),
                   DataType::Of(TypeKind::kFloat),
                   DataType::Of(TypeKind::kDouble),
                   DataType::Of(TypeKind::kString),
                   DataType::Char(4),
                   DataType::Decimal(9, 2),
                   DataType::Decimal(38, 4),
                   DataType::Of(TypeKind::kDate),
                   DataType::Time(0),
                   DataType::Time(3),
                   DataType::Time(6),
                   DataType::Time(9),
                   DataType::Timestamp(0),
                   DataType::Timestamp(3),
                   DataType::Timestamp(6),
                   DataType::Timestamp(9),
                   DataType::TimestampLtz(1),
                   DataType::TimestampLtz(9),
                   DataType::Of(TypeKind::kBytes),
                   DataType::Array(DataType::Of(TypeKind::kInteger))});
}
constexpr int kWithStatistics = 22;

RowFilter Leaf(Op op, int32_t column, std::vector<std::optional<OrderedValue>> values = {}) {
  return {.op = op, .column_id = column, .values = std::move(values), .children = {}};
}
RowFilter Joined(Op op, std::vector<RowFilter> children) {
  return {.op = op, .column_id = -1, .values = {}, .children = std::move(children)};
}

// --- an oracle: whether one row meets a filter, for some reader ---

// Less, equal, greater by the order of numbers (`in_order` false) or Java's, which tells -0.0 from
// 0.0; in both NaN equals itself and is above all.
int OrderOf(const OrderedValue& a, const OrderedValue& b, bool in_order) {
  if (const auto* real = std::get_if<double>(&a)) {
    const double x = *real, y = std::get<double>(b);
    if (std::isnan(x) || std::isnan(y)) return int{std::isnan(x)} - int{std::isnan(y)};
    if (x == y && in_order) return int{std::signbit(y)} - int{std::signbit(x)};
    return x < y ? -1 : x > y ? 1 : 0;
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

bool RowMeets(const RowFilter& filter, const arrow::RecordBatch& rows, int64_t row, bool in_order) {
  const auto meets = [&](const RowFilter& part) { return RowMeets(part, rows, row, in_order); };
  if (filter.op == Op::kAnd) return std::ranges::all_of(filter.children, meets);
  if (filter.op == Op::kOr) return std::ranges::any_of(filter.children, meets);
  std::optional<OrderedValue> value;
  if (filter.column_id < rows.num_columns())
    value = OrderedValueOf(*rows.column(filter.column_id), row);
  if (filter.op == Op::kIsNull) return !value;
  if (!value) return false;
  if (filter.op == Op::kIsNotNull) return true;
  const auto equals = [&](const std::optional<OrderedValue>& other) {
    return other && OrderOf(*value, *other, in_order) == 0;
  };
  if (filter.op == Op::kIn) return std::ranges::any_of(filter.values, equals);
  if (filter.op == Op::kNotIn) {
    return std::ranges::all_of(filter.values,
                               [&](const auto& other) { return other && !equals(other); });
  }
  if (!filter.values.front()) return false;
  const OrderedValue& other = *filter.values.front();
  const int order = OrderOf(*value, other, in_order);
  const auto* text = std::get_if<std::string>(&*value);
  const std::string part = text == nullptr ? "" : std::get<std::string>(other);
  switch (filter.op) {
    case Op::kEqual:
      return order == 0;
    case Op::kNotEqual:
      return order != 0;
    case Op::kLess:
      return order < 0;
    case Op::kLessOrEqual:
      return order <= 0;
    case Op::kGreater:
      return order > 0;
    case Op::kGreaterOrEqual:
      return order >= 0;
    case Op::kStartsWith:
      return text != nullptr && text->starts_with(part);
    case Op::kContains:
      return text != nullptr && text->find(part) != std::string::npos;
    case Op::kEndsWith:
      return text != nullptr && text->ends_with(part);
    default:
      return true;
  }
}

// --- random rows and filters ---

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }

  // Around `base`, so that batches have ranges of their own.
  std::shared_ptr<arrow::RecordBatch> Rows(const types::Schema& schema, int64_t count,
                                           int64_t base) {
    arrow::ArrayVector columns;
    for (const types::Column& column : schema.columns) {
      const auto builder = arrow::MakeBuilder(column.type->ToArrow()).ValueOrDie();
      const uint64_t nulls = Below(4);  // None, some or all.
      for (int64_t row = 0; row < count; ++row) {
        const bool null = nulls == 3 || (nulls > 0 && Below(3) == 0);
        EXPECT_OK(null ? builder->AppendNull() : Append(*column.type, base, builder.get()));
      }
      columns.push_back(builder->Finish().ValueOrDie());
    }
    return arrow::RecordBatch::Make(schema.ToArrow(), count, std::move(columns));
  }

  RowFilter Filter(const types::Schema& schema, int64_t base, int depth) {
    if (depth > 0 && Below(3) == 0) {
      std::vector<RowFilter> children;
      for (uint64_t i = 1 + Below(3); i > 0; --i)
        children.push_back(Filter(schema, base, depth - 1));
      return Joined(Below(2) == 0 ? Op::kAnd : Op::kOr, std::move(children));
    }
    const size_t at = Below(schema.columns.size());
    const types::DataType& type = *schema.columns[at].type;
    const bool text = type.kind() == TypeKind::kString || type.kind() == TypeKind::kChar;
    auto op = static_cast<Op>(Below(13));
    const bool needs_text = op == Op::kStartsWith || op == Op::kContains || op == Op::kEndsWith;
    const bool nested = type.kind() == TypeKind::kArray;
    if (nested || (needs_text && !text)) op = Below(2) == 0 ? Op::kIsNull : Op::kIsNotNull;
    RowFilter leaf = Leaf(op, schema.columns[at].id);
    if (op == Op::kIsNull || op == Op::kIsNotNull) return leaf;
    const bool list = op == Op::kIn || op == Op::kNotIn;
    for (uint64_t i = list ? Below(4) : 1; i > 0; --i) {
      const auto builder = arrow::MakeBuilder(type.ToArrow()).ValueOrDie();
      EXPECT_OK(Below(12) == 0 ? builder->AppendNull() : Append(type, base, builder.get()));
      leaf.values.push_back(OrderedValueOf(*builder->Finish().ValueOrDie(), 0));
    }
    return leaf;
  }

 private:
  int64_t Near(int64_t base) { return base + static_cast<int64_t>(Below(8)) - 4; }

  double Real(int64_t base) {
    switch (Below(10)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return -0.0;
      case 2:
        return 0.0;
      case 3:
        return std::numeric_limits<double>::infinity();
      default:
        return static_cast<double>(Near(base)) / 2;
    }
  }

  Status Append(const types::DataType& type, int64_t base, arrow::ArrayBuilder* builder) {
    using namespace arrow;
    const int64_t value = Near(base);
    switch (builder->type()->id()) {
      case Type::BOOL:
        return static_cast<BooleanBuilder*>(builder)->Append(value % 2 == 0);
      case Type::INT8:
        return static_cast<Int8Builder*>(builder)->Append(static_cast<int8_t>(value));
      case Type::INT16:
        return static_cast<Int16Builder*>(builder)->Append(static_cast<int16_t>(value));
      case Type::INT32:
        return static_cast<Int32Builder*>(builder)->Append(static_cast<int32_t>(value));
      case Type::INT64:
        return static_cast<Int64Builder*>(builder)->Append(value * 1'000'000'007);
      case Type::FLOAT:
        return static_cast<FloatBuilder*>(builder)->Append(static_cast<float>(Real(base)));
      case Type::DOUBLE:
        return static_cast<DoubleBuilder*>(builder)->Append(Real(base));
      case Type::STRING: {
        std::string text(Below(3), 'a');
        text += std::to_string(value);
        if (type.kind() == TypeKind::kString && Below(6) == 0) text += std::string(2000, '~');
        return static_cast<StringBuilder*>(builder)->Append(text);
      }
      case Type::BINARY:
        return static_cast<BinaryBuilder*>(builder)->Append(std::to_string(value));
      case Type::DECIMAL128:
        return static_cast<Decimal128Builder*>(builder)->Append(
            type.precision() > 18 ? Decimal128(value) * Decimal128(INT64_MAX) : Decimal128(value));
      case Type::DATE32:
        return static_cast<Date32Builder*>(builder)->Append(static_cast<int32_t>(value));
      case Type::TIME32:
        return static_cast<Time32Builder*>(builder)->Append(static_cast<int32_t>(std::abs(value)));
      case Type::TIME64:
        return static_cast<Time64Builder*>(builder)->Append(std::abs(value) * 333'333);
      case Type::TIMESTAMP:
        return static_cast<TimestampBuilder*>(builder)->Append(value * 333'333);
      case Type::LIST:
        return static_cast<ListBuilder*>(builder)->Append();
      default:
        return Status::NotImplemented(builder->type()->ToString());
    }
  }

  io::SeededRandom random_;
};

std::vector<int> FirstColumns(int count) {
  std::vector<int> positions;
  for (int i = 0; i < count; ++i) positions.push_back(i);
  return positions;
}

// A literal can say times of day only to the millisecond.
RowFilter AsTold(const RowFilter& filter, const types::Schema& schema) {
  RowFilter told = filter;
  for (RowFilter& child : told.children) child = AsTold(child, schema);
  if (filter.op == Op::kAnd || filter.op == Op::kOr) return told;
  if (schema.columns[static_cast<size_t>(filter.column_id)].type->kind() != TypeKind::kTime)
    return told;
  for (auto& value : told.values) {
    if (value) std::get<int64_t>(*value) -= std::get<int64_t>(*value) % 1'000'000;
  }
  return told;
}

// --- tests ---

// What no reader would miss may be left out, and nothing else; also with statistics of some
// columns, with columns that were added after the batch, and through the message.
TEST(RowFilterTest, LeavesOutNoRowThatMeetsIt) {
  const types::Schema schema = AllTypes();
  types::Schema newer = schema;
  newer.columns.push_back({.name = "added", .type = DataType::Of(TypeKind::kInteger), .id = 24});
  Generator generate(20261130);
  int left_out = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto base = static_cast<int64_t>(generate.Below(40)) - 20;
    const auto rows = generate.Rows(schema, 1 + static_cast<int64_t>(generate.Below(4)), base);
    const int columns = generate.Below(4) == 0 ? 1 : kWithStatistics;
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         StatisticsWriter(schema, FirstColumns(columns)).Encode(*rows));
    ASSERT_OK_AND_ASSIGN(const auto statistics, BatchStatistics::Parse(bytes, schema));
    EXPECT_EQ(statistics.column_count(), static_cast<size_t>(columns));
    const auto near = base + static_cast<int64_t>(generate.Below(16)) - 8;
    const RowFilter filter = AsTold(generate.Filter(newer, near, 2), newer);
    PbPredicate message;
    ASSERT_OK(WriteFilter(filter, newer, &message));
    ASSERT_OK_AND_ASSIGN(const RowFilter read, ReadFilter(message, newer));
    const bool may = MayMatch(read, schema, &statistics, rows->num_rows());
    EXPECT_EQ(may, MayMatch(filter, schema, &statistics, rows->num_rows()));
    left_out += may ? 0 : 1;
    for (int64_t row = 0; row < rows->num_rows(); ++row) {
      for (const bool in_order : {false, true}) {
        ASSERT_TRUE(may || !RowMeets(filter, *rows, row, in_order))
            << "round " << round << "\n"
            << message.DebugString() << rows->ToString();
        ASSERT_TRUE(MayMatch(filter, schema, nullptr, rows->num_rows()) ||
                    !RowMeets(filter, *rows, row, in_order));
      }
    }
  }
  EXPECT_GT(left_out, 1000);
}

TEST(RowFilterTest, BoundsDecide) {
  const types::Schema schema =
      SchemaOf({DataType::Of(TypeKind::kInteger), DataType::Of(TypeKind::kString),
                DataType::Of(TypeKind::kDouble)});
  const auto rows =
      RowsFromJson(schema.ToArrow(), R"([[10, "b", -0.0], [20, "bz", 0.0], [null, "c", -0.0]])");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, StatisticsWriter(schema, {0, 1, 2}).Encode(*rows));
  ASSERT_OK_AND_ASSIGN(const auto statistics, BatchStatistics::Parse(bytes, schema));
  const auto may = [&](const RowFilter& filter) {
    return MayMatch(filter, schema, &statistics, rows->num_rows());
  };
  const auto number = [](int64_t value) { return OrderedValue(value); };
  const auto text = [](const char* value) { return OrderedValue(std::string(value)); };
  EXPECT_FALSE(may(Leaf(Op::kEqual, 0, {number(9)})));
  EXPECT_TRUE(may(Leaf(Op::kEqual, 0, {number(15)})));
  EXPECT_FALSE(may(Leaf(Op::kLess, 0, {number(10)})));
  EXPECT_TRUE(may(Leaf(Op::kLessOrEqual, 0, {number(10)})));
  EXPECT_FALSE(may(Leaf(Op::kGreater, 0, {number(20)})));
  EXPECT_TRUE(may(Leaf(Op::kGreaterOrEqual, 0, {number(20)})));
  EXPECT_TRUE(may(Leaf(Op::kIsNull, 0)));
  EXPECT_FALSE(may(Leaf(Op::kIsNull, 1)));
  EXPECT_FALSE(may(Leaf(Op::kIn, 0, {number(1), std::nullopt, number(21)})));
  EXPECT_TRUE(may(Leaf(Op::kIn, 0, {number(1), number(11)})));
  EXPECT_FALSE(may(Leaf(Op::kNotIn, 0, {number(1), std::nullopt})));
  EXPECT_FALSE(may(Leaf(Op::kEqual, 0, {std::nullopt})));
  EXPECT_FALSE(may(Leaf(Op::kStartsWith, 1, {text("a")})));
  EXPECT_FALSE(may(Leaf(Op::kStartsWith, 1, {text("d")})));
  EXPECT_TRUE(may(Leaf(Op::kStartsWith, 1, {text("bz")})));
  EXPECT_TRUE(may(Leaf(Op::kContains, 1, {text("z")})));
  // Some readers tell the two zeros apart, others do not.
  for (const Op op : {Op::kEqual, Op::kNotEqual, Op::kLess, Op::kGreater}) {
    EXPECT_TRUE(may(Leaf(op, 2, {OrderedValue(0.0)})));
    EXPECT_TRUE(may(Leaf(op, 2, {OrderedValue(-0.0)})));
  }
  EXPECT_FALSE(may(Leaf(Op::kLess, 2, {OrderedValue(-0.5)})));
  EXPECT_FALSE(may(Joined(
      Op::kAnd, {Leaf(Op::kIsNull, 0), Joined(Op::kOr, {Leaf(Op::kEqual, 0, {number(9)}),
                                                        Leaf(Op::kEqual, 0, {number(21)})})})));
  // A column that the batch's schema lacks is NULL; of one without statistics nothing is known.
  EXPECT_FALSE(may(Leaf(Op::kEqual, 7, {number(1)})));
  EXPECT_TRUE(may(Leaf(Op::kIsNull, 7)));
  EXPECT_TRUE(MayMatch(Leaf(Op::kEqual, 0, {number(9)}), schema, nullptr, 3));
}

TEST(RowFilterTest, RefusesMessagesThatSayNothing) {
  const types::Schema schema = AllTypes();
  PbPredicate good;
  ASSERT_OK(WriteFilter(
      Joined(Op::kAnd, {Leaf(Op::kEqual, 3, {OrderedValue(int64_t{1})}), Leaf(Op::kIsNull, 5)}),
      schema, &good));
  ASSERT_OK(ReadFilter(good, schema).status());
  const auto broken = [&](auto change) {
    PbPredicate message = good;
    change(&message);
    SCOPED_TRACE(message.DebugString());
    EXPECT_CODE(ErrorCode::kCorruptMessage, ReadFilter(message, schema));
  };
  const auto leaf = [](PbPredicate* message) {
    return message->mutable_compound()->mutable_children(0)->mutable_leaf();
  };
  broken([](PbPredicate* message) { message->set_type(0); });
  broken([](PbPredicate* message) { message->set_type(2); });
  broken([](PbPredicate* message) { message->clear_compound(); });
  broken([](PbPredicate* message) { message->mutable_compound()->set_function(2); });
  broken([&](PbPredicate* message) { leaf(message)->set_function(13); });
  broken([&](PbPredicate* message) { leaf(message)->set_function(-1); });
  broken([&](PbPredicate* message) { leaf(message)->set_field_id(99); });
  broken([&](PbPredicate* message) { leaf(message)->clear_literals(); });
  broken([&](PbPredicate* message) { leaf(message)->mutable_literals(0)->set_literal_type(4); });
  broken([&](PbPredicate* message) {
    leaf(message)->set_field_id(10);
    leaf(message)->mutable_literals(0)->set_literal_type(9);
    leaf(message)->mutable_literals(0)->set_decimal_bytes(std::string(17, 'x'));
  });
}

// The layout, by hand: version, columns, NULLs, and a row of 8 bytes of bits and 8 per value.
TEST(BatchStatisticsTest, HaveTheLayoutOfJava) {
  const types::Schema schema =
      SchemaOf({DataType::Of(TypeKind::kInteger), DataType::Of(TypeKind::kBytes), DataType::Char(2),
                DataType::Of(TypeKind::kString, /*nullable=*/false)});
  const auto rows = RowsFromJson(
      schema.ToArrow(), R"([[7, "", "x", "bb"], [null, "", "y", "a"], [-2, "", "z", "b"]])");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, StatisticsWriter(schema, {0, 2, 3}).Encode(*rows));
  std::string expected = "\x01";
  for (const int16_t value : {3, 0, 2, 3}) AppendLe(&expected, value);
  for (const int32_t value : {1, 0, 0}) AppendLe(&expected, value);
  const auto row = [&](int32_t number, std::string text) {
    const uint64_t size_and_mark = 0x80 | text.size();
    text.resize(7);
    AppendLe(&expected, int32_t{32});
    AppendLe(&expected, int64_t{1} << (8 + 1));  // The bound of the CHAR is NULL.
    AppendLe(&expected, static_cast<int64_t>(static_cast<uint32_t>(number)));
    AppendLe(&expected, int64_t{0});
    expected += text + static_cast<char>(size_and_mark);
  };
  row(-2, "a");
  row(7, "bb");
  EXPECT_EQ(ToHex(bytes), ToHex(expected));
}

TEST(BatchStatisticsTest, TravelWithTheirBatch) {
  const types::Schema schema = AllTypes();
  const auto rows = Generator(1).Rows(schema, 100, 0);
  LogBatchOptions options;
  ASSERT_OK_AND_ASSIGN(const std::string without, BuildLogBatch(options, *rows, {}));
  options.statistics =
      std::make_shared<const StatisticsWriter>(schema, FirstColumns(kWithStatistics));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, BuildLogBatch(options, *rows, {}));
  ASSERT_OK_AND_ASSIGN(const auto batch, LogBatchView::Parse(bytes));
  EXPECT_EQ(batch.header().magic, 1);
  EXPECT_TRUE(batch.CrcMatches());
  EXPECT_OK(CheckRows(batch, *schema.ToArrow()));
  ASSERT_OK_AND_ASSIGN(const auto back, DecodeRows(batch, schema.ToArrow()));
  EXPECT_TRUE(back->Equals(*rows, false, arrow::EqualOptions().nans_equal(true)));
  ASSERT_OK_AND_ASSIGN(const auto statistics, BatchStatistics::Parse(batch.statistics(), schema));
  EXPECT_EQ(statistics.column_count(), static_cast<size_t>(kWithStatistics));
  EXPECT_EQ(ToHex(ToMagic0(batch)), ToHex(without));
}

TEST(BatchStatisticsTest, DamageIsAnErrorOrOtherBounds) {
  const types::Schema schema = AllTypes();
  const auto rows = Generator(2).Rows(schema, 20, 0);
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       StatisticsWriter(schema, FirstColumns(kWithStatistics)).Encode(*rows));
  EveryCut(bytes, [&](std::string_view cut) {
    EXPECT_CODE(ErrorCode::kCorruptRecord, BatchStatistics::Parse(cut, schema));
  });
  RandomDamage(bytes, 5000, [&](std::string_view damaged) {
    const auto statistics = BatchStatistics::Parse(damaged, schema);
    if (statistics.ok()) {
      (void)MayMatch(Generator(3).Filter(schema, 0, 2), schema, &*statistics, 20);
    } else {
      EXPECT_CODE(ErrorCode::kCorruptRecord, statistics);
    }
  });
}

}  // namespace
}  // namespace sluice::wire
