#!/usr/bin/env bash
# Configure and build one preset: scripts/build.sh release|asan|dev|tsan [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1; shift
cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; rm -f "build-$preset.log"; exit 1; }
rm -f "build-$preset.log"
exec cmake --build "build/$preset" --target "${@:-all}"
