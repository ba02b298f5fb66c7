#include "lake/paimon/avro.h"

#include "base/testing.h"

namespace sluice::lake::paimon::avro {
namespace {

constexpr std::string_view kSync = "0123456789abcdef";
constexpr std::string_view kRecord =
    R"({"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"],"default":null},)"
    R"({"name":"c","type":{"type":"array","items":["null","long"]}},{"name":"d","type":{"type":"map","values":"bytes"}}]})";

std::vector<Value> SomeValues() {
  std::vector<Value> values;
  values.push_back(Value(Value::List{1, std::string("x"),
                                     Value(Value::List{int64_t{-1}, Value(), int64_t{1} << 40}),
                                     Value(Value::List{std::string("k"), std::string("\0v", 2)})}));
  values.push_back(
      Value(Value::List{-2147483647, Value(), Value(Value::List{}), Value(Value::List{})}));
  return values;
}

TEST(AvroTest, EncodesAsTheSpecificationSays) {
  ASSERT_OK_AND_ASSIGN(const auto schema, Schema::Parse(kRecord));
  std::string out;
  ASSERT_OK(Encode(*schema, SomeValues()[0], &out));
  // int 1; union branch 1, "x"; array of three in one block; map of one; both ended by 0.
  const std::string expected(
      "\x02\x02\x02x\x06\x02\x01\x00\x02\x80\x80\x80\x80\x80\x40\x00\x02\x02k\x04\x00v\x00", 23);
  EXPECT_EQ(out, expected);
}

TEST(AvroTest, ContainersKeepTheirValuesInEveryCodec) {
  for (const Codec codec : {Codec::kNull, Codec::kDeflate, Codec::kZstandard}) {
    ASSERT_OK_AND_ASSIGN(const std::string file,
                         WriteContainer(kRecord, SomeValues(), codec, kSync));
    ASSERT_OK_AND_ASSIGN(const Container read, ReadContainer(file));
    EXPECT_EQ(read.values, SomeValues());
  }
}

TEST(AvroTest, EveryCutContainerIsAnError) {
  for (const Codec codec : {Codec::kNull, Codec::kDeflate, Codec::kZstandard}) {
    ASSERT_OK_AND_ASSIGN(const std::string file,
                         WriteContainer(kRecord, SomeValues(), codec, kSync));
    const size_t block = file.find(kSync) +
                         kSync.size();  // A file that ends behind its header is one without values.
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_EQ(ReadContainer(std::string_view(file).substr(0, size)).ok(), size == block)
          << "cut to " << size;
    }
  }
}

TEST(AvroTest, FlippedBytesNeverCrash) {
  ASSERT_OK_AND_ASSIGN(const std::string file,
                       WriteContainer(kRecord, SomeValues(), Codec::kNull, kSync));
  for (size_t i = 0; i < file.size(); ++i) {
    std::string broken = file;
    broken[i] = static_cast<char>(broken[i] ^ 0xff);
    const auto read = ReadContainer(broken);
    if (read.ok()) continue;
    EXPECT_CODE(ErrorCode::kCorruptRecord, read.status());
  }
}

TEST(AvroTest, RefusesTypesThatContainThemselves) {
  EXPECT_CODE(
      ErrorCode::kCorruptRecord,
      Schema::Parse(
          R"({"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]})"));
  std::string deep(100, '[');
  EXPECT_CODE(ErrorCode::kCorruptRecord, Schema::Parse(deep + "\"int\"" + std::string(100, ']')));
}

// A record of two of the last one, again and again: a few bytes of schema, 2^n values.
TEST(AvroTest, NamesDoNotUnfoldWithoutBound) {
  const auto tower = [](int levels, int fields) {
    std::string last = R"({"type":"record","name":"r0","fields":[]})";
    for (int i = 1; i <= levels; ++i) {
      std::string next = R"({"type":"record","name":"r)" + std::to_string(i) + R"(","fields":[)";
      for (int field = 0; field < fields; ++field) {
        next += R"({"name":"f)" + std::to_string(field) + R"(","type":)" +
                (field == 0 ? last : "\"r" + std::to_string(i - 1) + "\"") + "},";
      }
      next.back() = ']';
      last = next + "}";
    }
    return last;
  };
  EXPECT_OK(Schema::Parse(tower(8, 2)).status());
  EXPECT_CODE(ErrorCode::kCorruptRecord, Schema::Parse(tower(28, 2)));
  // Side by side in one record, each type names the one before it: no deeper in the text.
  std::string chain = R"({"type":"record","name":"all","fields":[)";
  for (int i = 0; i < 40; ++i) {
    const std::string last = i == 0 ? R"("int")" : "\"c" + std::to_string(i - 1) + "\"";
    chain += R"({"name":"f","type":{"type":"record","name":"c)" + std::to_string(i) +
             R"(","fields":[{"name":"x","type":)" + last + "}]}},";
  }
  chain.back() = ']';
  EXPECT_CODE(ErrorCode::kCorruptRecord, Schema::Parse(chain + "}"));
}

TEST(AvroTest, ValuesOfNoBytesAreBounded) {
  ASSERT_OK_AND_ASSIGN(const auto schema, Schema::Parse(R"({"type":"array","items":"null"})"));
  std::string_view many("\x80\x80\x80\x20\x00", 5);  // 2^25 of them.
  EXPECT_CODE(ErrorCode::kCorruptRecord, Decode(*schema, &many));
  std::string_view few("\x06\x00", 2);
  ASSERT_OK_AND_ASSIGN(const Value value, Decode(*schema, &few));
  EXPECT_EQ(std::get<Value::List>(value.datum).size(), 3u);
}

TEST(AvroTest, NamedTypesMayBeUsedTwice) {
  ASSERT_OK_AND_ASSIGN(const auto schema, Schema::Parse(R"({"type":"record","name":"n.r","fields":[
      {"name":"a","type":{"type":"fixed","name":"f","size":2}},{"name":"b","type":"n.f"}]})"));
  std::string out;
  ASSERT_OK(Encode(*schema, Value(Value::List{std::string("ab"), std::string("cd")}), &out));
  EXPECT_EQ(out, "abcd");
}

}  // namespace
}  // namespace sluice::lake::paimon::avro
