#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy: over every source, or over those that differ from commit $TIDY_BASE and
# those beside headers that do. Takes some seconds a file.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-tidy-19 >/dev/null || ! command -v clang++-19 >/dev/null; then
  if [ "$(id -u)" = 0 ]; then root=; else root=sudo; fi
  $root apt-get -o DPkg::Lock::Timeout=300 -qq install -y clang-19 clang-tidy-19 >/dev/null
fi
# Clang reads neither GCC's precompiled header nor all of its flags, so the commands come from a build of its own, of
# which only the generated headers are made.
cmake --preset dev -B build/tidy -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
mkdir -p build/tidy/proto
protoc --cpp_out=build/tidy/proto -Isrc $(git ls-files 'src/*.proto')
if [ -n "${TIDY_BASE:-}" ]; then
  files=$(git diff --name-only --diff-filter=d "$TIDY_BASE" -- '*.cc' '*.h' | sed 's/\.h$/.cc/' | sort -u)
else
  files=$(git ls-files '*.cc')
fi
for file in $files; do if [ -e "$file" ]; then echo "$file"; fi; done |
  xargs -r -P "$(nproc)" -n 1 clang-tidy-19 -p build/tidy --quiet
