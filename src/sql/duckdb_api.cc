#include "sql/duckdb_api.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string_view>

#include "base/check.h"

namespace sluice::sql::duckdb {

namespace {

std::mutex load_mutex;  // Covers the first load.
std::atomic<const Api*>
    loaded;  // Set once, never freed: the library's threads outlive every owner of ours.

Result<Api> Resolve(const std::string& path) {
  // Local symbols: the library brings its own copies of common ones. It is never unloaded, its
  // threads may still run.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Status::IOError("query engine cannot be loaded, path=", path,
                           " reason=", reason == nullptr ? "" : reason);
  }
  Api api;
  std::string_view missing;
#define SLUICE_DUCKDB_RESOLVE(result, name, arguments)                               \
  api.name = reinterpret_cast<result(*) arguments>(dlsym(library, "duckdb_" #name)); \
  if (api.name == nullptr) missing = "duckdb_" #name;
  SLUICE_DUCKDB_FUNCTIONS(SLUICE_DUCKDB_RESOLVE)
#undef SLUICE_DUCKDB_RESOLVE
  if (!missing.empty())
    return Status::IOError("query engine lacks a function, path=", path, " name=", missing);
  const std::string_view version = api.library_version();
  if (!version.starts_with(kLibraryVersion)) {
    return Status::IOError("query engine has another version, path=", path, " version=", version,
                           " expected=", kLibraryVersion);
  }
  return api;
}

}  // namespace

Result<const Api*> LoadApi(const std::string& path) {
  const std::lock_guard lock(load_mutex);
  if (loaded.load() == nullptr) {
    ASSIGN_OR_RAISE(Api api, Resolve(path));
    loaded.store(new Api(api));
  }
  return loaded.load();
}

const Api& Loaded() {
  const Api* api = loaded.load();
  CHECK(api != nullptr);
  return *api;
}

}  // namespace sluice::sql::duckdb
