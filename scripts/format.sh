#!/usr/bin/env bash
# Format every C++ source, or with --check tell those that the formatter would change and fail.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  --check) how=(--dry-run -Werror) ;;
  '') how=(-i) ;;
  *) echo "usage: scripts/format.sh [--check]" >&2; exit 2 ;;
esac
git ls-files -z '*.cc' '*.h' | xargs -0 -r -n 40 -P "$(nproc)" clang-format-19 "${how[@]}"
