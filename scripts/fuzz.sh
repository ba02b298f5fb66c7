#!/usr/bin/env bash
# Run every fuzz target for its share of FUZZ_SECONDS (240 in all unless given). Needs Clang 19 with libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
total=${FUZZ_SECONDS:-240}
if ! command -v clang++-19 >/dev/null; then
  if [ "$(id -u)" = 0 ]; then root=; else root=sudo; fi
  $root apt-get -o DPkg::Lock::Timeout=300 -qq install -y clang-19 libclang-rt-19-dev >/dev/null
fi
scripts/build.sh fuzz
targets=(build/fuzz/fuzz/*_fuzz)
each=$((total / ${#targets[@]}))
for target in "${targets[@]}"; do
  name=$(basename "$target")
  corpus=fuzz/corpus/${name%_fuzz}
  new=build/fuzz/corpus/$name
  mkdir -p "$new"
  echo "== $name for $each s"
  "$target" -max_total_time="$each" -artifact_prefix="build/fuzz/$name-" -print_final_stats=1 "$new" "$corpus" 2>&1 | tail -n 6
done
