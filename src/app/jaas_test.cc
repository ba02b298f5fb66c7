#include "app/jaas.h"

#include "base/testing.h"

namespace sluice::app {
namespace {

using Options = std::map<std::string, std::string>;

constexpr std::string_view kModule = "org.apache.fluss.security.auth.sasl.plain.PlainLoginModule";

TEST(JaasTest, OptionsAreReadAsJavaReadsThem) {
  const std::string module(kModule);
  ASSERT_OK_AND_ASSIGN(const Options two,
                       ParseJaas(module + " required user_admin=\"a-pass\" user_b=\"x y=;\";"));
  EXPECT_EQ(two, (Options{{"user_admin", "a-pass"}, {"user_b", "x y=;"}}));
  ASSERT_OK_AND_ASSIGN(
      const Options escaped,
      ParseJaas(module +
                "\n  REQUIRED // users\n /* all */ user_a = \"q\\\"b\\\\\" user_b='it';\n"));
  EXPECT_EQ(escaped, (Options{{"user_a", "q\"b\\"}, {"user_b", "it"}}));
  ASSERT_OK_AND_ASSIGN(const Options client,
                       ParseJaas(module + " required username=alice password=\"wonder\";"));
  EXPECT_EQ(client, (Options{{"username", "alice"}, {"password", "wonder"}}));
  ASSERT_OK_AND_ASSIGN(const Options none, ParseJaas(module + " required;"));
  EXPECT_TRUE(none.empty());
}

TEST(JaasTest, WhatIsNoSuchTextIsRefusedWithoutItsSecrets) {
  const std::string module(kModule);
  for (const std::string& text : std::vector<std::string>{
           "", "user_a=\"hush\";", module, module + " required", module + " user_a=\"hush\";",
           module + " required user_a=\"hush\"", module + " required user_a=\"hush;",
           module + " required user_a \"hush\";", module + " required \"hush\";",
           module + " required user_a=\"x\" hush;", module + " required user_a=;",
           "x.OtherModule required user_a=\"hush\";",
           module + " required user_a=\"hush\"; " + module + " required;"}) {
    const Status refused = ParseJaas(text).status();
    EXPECT_CODE(ErrorCode::kInvalidConfig, refused);
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("hush"))) << text;
  }
}

}  // namespace
}  // namespace sluice::app
