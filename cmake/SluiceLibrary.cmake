# sluice_library(NAME SRCS … HDRS … [DEPS module…] [EXTERNAL library…] [TESTS …] [PROTOS …])
# A module of src/NAME: the library sluice_NAME, the test program NAME_test over TESTS, and (SLUICE_LINK_CHECKS)
# NAME_links, which links the whole archive against its DEPS alone, so that an undeclared use fails.

add_library(sluice_options INTERFACE)
target_include_directories(sluice_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers
  -march=x86-64-v2 -fPIE -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these wrongly in std::string and coroutine frames once it inlines.
  target_compile_options(sluice_options INTERFACE -fpch-preprocess -Wno-restrict -Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-dangling-pointer -Wno-free-nonheap-object)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a unity build the .cc files count as headers, where GCC warns of members whose type is local to one file.
  target_compile_options(sluice_options INTERFACE -Wno-subobject-linkage)
endif()
target_compile_definitions(sluice_options INTERFACE SPDLOG_FMT_EXTERNAL SPDLOG_COMPILED_LIB)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=undefined)
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
  if(SLUICE_SANITIZE STREQUAL "thread")
    # ThreadSanitizer does not follow fences, and GCC refuses them there; Asio's queues have their mutexes besides.
    target_compile_definitions(sluice_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
target_link_libraries(sluice_options INTERFACE arrow::arrow Threads::Threads)

# One precompiled header for all modules: the standard library and Status.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch.cc CONTENT "// Holds the precompiled header.\n")
add_library(sluice_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cc)
target_link_libraries(sluice_pch PRIVATE sluice_options)
target_precompile_headers(sluice_pch PRIVATE
  <algorithm> <array> <atomic> <chrono> <coroutine> <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>
  <arrow/result.h> <arrow/status.h>)

function(sluice_library name)
  cmake_parse_arguments(A "" "" "SRCS;HDRS;DEPS;EXTERNAL;TESTS;TEST_DEPS;PROTOS" ${ARGN})
  add_library(sluice_${name} STATIC ${A_SRCS} ${A_HDRS})
  set(links sluice_options)
  foreach(dep IN LISTS A_DEPS)
    list(APPEND links sluice_${dep})
  endforeach()
  target_link_libraries(sluice_${name} PUBLIC ${links} ${A_EXTERNAL})
  target_precompile_headers(sluice_${name} REUSE_FROM sluice_pch)
  if(A_PROTOS)
    sluice_protos(${name} ${A_PROTOS})
  endif()
  if(SLUICE_LINK_CHECKS)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/links/${name}.cc CONTENT "int main() { return 0; }\n")
    add_executable(${name}_links ${CMAKE_BINARY_DIR}/links/${name}.cc)
    target_link_libraries(${name}_links PRIVATE -Wl,--whole-archive sluice_${name} -Wl,--no-whole-archive)
  endif()
  if(SLUICE_TESTS AND A_TESTS)
    sluice_test(${name}_test SRCS ${A_TESTS} DEPS ${name} ${A_TEST_DEPS})
  endif()
endfunction()

# sluice_test(NAME SRCS … DEPS module…): one test program, run by ctest in the source folder of its module.
function(sluice_test name)
  cmake_parse_arguments(A "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  foreach(dep IN LISTS A_DEPS)
    target_link_libraries(${name} PRIVATE sluice_${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE sluice_options GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM sluice_pch)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${SLUICE_TEST_TIMEOUT})
endfunction()

# Generate the messages of a module's .proto files; includes read "NAME/proto/x.pb.h".
function(sluice_protos name)
  foreach(proto IN LISTS ARGN)
    get_filename_component(stem ${proto} NAME_WE)
    set(out ${CMAKE_BINARY_DIR}/proto/${name}/proto/${stem}.pb)
    add_custom_command(OUTPUT ${out}.cc ${out}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/proto
      COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/proto -I${CMAKE_SOURCE_DIR}/src
              ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto})
    set_source_files_properties(${out}.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "-Wno-error")
    target_sources(sluice_${name} PRIVATE ${out}.cc ${out}.h)
  endforeach()
  target_include_directories(sluice_${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
  target_link_libraries(sluice_${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()
