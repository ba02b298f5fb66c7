#include "base/testing.h"

#include <cstdlib>
#include <filesystem>

#include "base/check.h"

namespace sluice {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice_test.XXXXXX").string();
  CHECK(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice
