#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

// Assertions over Status and Result, for tests only.
#define ASSERT_OK(expr)                                             \
  do {                                                              \
    const ::arrow::Status sluice_status_ = ::arrow::ToStatus(expr); \
    ASSERT_TRUE(sluice_status_.ok()) << sluice_status_.ToString();  \
  } while (false)
#define EXPECT_OK(expr)                                             \
  do {                                                              \
    const ::arrow::Status sluice_status_ = ::arrow::ToStatus(expr); \
    EXPECT_TRUE(sluice_status_.ok()) << sluice_status_.ToString();  \
  } while (false)
#define ASSERT_OK_AND_ASSIGN(lhs, rexpr) \
  ASSERT_OK_AND_ASSIGN_(SLUICE_CONCAT(sluice_result_, __COUNTER__), lhs, rexpr)
#define ASSERT_OK_AND_ASSIGN_(result, lhs, rexpr)         \
  auto&& result = (rexpr);                                \
  ASSERT_TRUE(result.ok()) << result.status().ToString(); \
  lhs = std::move(result).ValueUnsafe()
/// The expression fails with this protocol code.
#define EXPECT_CODE(expected, expr)                                                           \
  do {                                                                                        \
    const ::arrow::Status sluice_status_ = ::arrow::ToStatus(expr);                           \
    EXPECT_EQ(::sluice::NameOf(expected), ::sluice::NameOf(::sluice::CodeOf(sluice_status_))) \
        << sluice_status_.ToString();                                                         \
  } while (false)

namespace sluice {
/// Path of a new empty folder, removed when the object goes.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
}  // namespace sluice
