#!/usr/bin/env bash
# More than CI has time for: the tests, the published Java clients (JDK 17, Maven), what the released program holds of
# memory, every header by itself, clang-tidy over every source, ThreadSanitizer over the unit tests, the fuzzers.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test.sh

echo "== the published Java clients"
export SLUICE_BIN=$PWD/build/asan/src/app/sluice
tests/java/run.sh
tests/java/run.sh -Pclient-1.0.0

echo "== memory, of the program as it is released"
scripts/build.sh release
SLUICE_PLAIN=1 SLUICE_BIN=$PWD/build/release/src/app/sluice .deps/venv-test/bin/python -m pytest tests/test_memory.py -q -x

echo "== headers compile alone"
flags=$(python3 - <<'PY'
import json
for entry in json.load(open("build/asan/compile_commands.json")):
    if entry["file"].endswith("src/base/error.cc"):
        words = entry["command"].split()
        keep = [w for i, w in enumerate(words) if w.startswith(("-I", "-D", "-std", "-march")) or
                words[i - 1] == "-isystem" or w == "-isystem"]
        print(" ".join(keep))
        break
PY
)
failed=0
for header in $(git ls-files 'src/*.h'); do
  c++ $flags -Isrc -Ibuild/asan/proto -fsyntax-only -x c++ -include "$header" /dev/null || { echo "$header"; failed=1; }
done
[ "$failed" = 0 ]

echo "== clang-tidy"
scripts/tidy.sh

echo "== ThreadSanitizer"
scripts/build.sh tsan
# Arrow, RocksDB and DuckDB come without its instructions: it would not see how they synchronise.
TSAN_OPTIONS=ignore_noninstrumented_modules=1 ctest --test-dir build/tsan --output-on-failure

scripts/fuzz.sh
