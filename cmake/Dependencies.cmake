# Every library from outside, by one name each. Arrow comes from .deps (scripts/install-deps.sh) unless
# SLUICE_ARROW_ROOT names another install with include/ and lib/.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(RocksDB REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_library(SLUICE_HTTPLIB cpp-httplib REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_library(SLUICE_ZSTD zstd REQUIRED)
find_library(SLUICE_LZ4 lz4 REQUIRED)
find_package(ZLIB REQUIRED)
find_library(SLUICE_EDIT edit REQUIRED)
if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
endif()

set(SLUICE_DEPS ${CMAKE_SOURCE_DIR}/.deps)
set(SLUICE_ARROW_ROOT ${SLUICE_DEPS}/arrow CACHE PATH "Folder with Arrow's include/ and lib/")
set(SLUICE_DUCKDB_LIBRARY ${SLUICE_DEPS}/duckdb/lib/libduckdb.so CACHE FILEPATH "DuckDB's shared library, loaded at first use")

function(sluice_arrow name)
  file(GLOB candidates ${SLUICE_ARROW_ROOT}/lib/lib${name}.so*)
  if(NOT candidates)
    message(FATAL_ERROR "lib${name} is not in ${SLUICE_ARROW_ROOT}/lib: run scripts/install-deps.sh")
  endif()
  list(GET candidates 0 library)
  add_library(arrow::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(arrow::${name} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${SLUICE_ARROW_ROOT}/include
    INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()
sluice_arrow(arrow)
sluice_arrow(arrow_compute arrow::arrow)
sluice_arrow(parquet arrow::arrow)

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  # Precompiled headers are safe with ccache only when it may ignore their times.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SLUICE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
