// Runs a fuzz target over the files of folders, where there is no libFuzzer. Usage: NAME_fuzz
// FOLDER…
#include <cstdio>

#include "io/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sluice {
namespace {

Result<int> Replay(const std::string& folder) {
  auto& files = io::LocalFileSystem();
  ASSIGN_OR_RAISE(const auto entries, files.List(folder));
  int count = 0;
  for (const auto& entry : entries) {
    ASSIGN_OR_RAISE(const std::string bytes, files.ReadFile(io::JoinPath(folder, entry.name)));
    const std::vector<uint8_t> exact(bytes.begin(),
                                     bytes.end());  // Its own allocation, for AddressSanitizer.
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    ++count;
  }
  return count;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto count = sluice::Replay(argv[i]);
    if (!count.ok() || *count == 0) {
      std::fprintf(stderr, "no inputs folder=%s %s\n", argv[i], count.status().ToString().c_str());
      return 1;
    }
    std::printf("replayed %d inputs of %s\n", *count, argv[i]);
  }
  return argc > 1 ? 0 : 1;
}
