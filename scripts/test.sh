#!/usr/bin/env bash
# Build the sanitizer configuration and run every test on it. Prints the closing lines of ctest and pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

step "dependencies"; scripts/install-deps.sh --test
step "source checks"; python3 scripts/check_sources.py; scripts/format.sh --check
step "console"; scripts/build-console.sh
step "build"; scripts/build.sh asan
export ASAN_OPTIONS=abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
step "unit tests, simulation, fuzz corpora"
ctest --test-dir build/asan --output-on-failure -j "$(nproc)"
grep -h '^simulation: ' build/asan/Testing/Temporary/LastTest.log
step "whole-system tests"
export SLUICE_BIN=$PWD/build/asan/src/app/sluice
.deps/venv-test/bin/python -m pytest tests -q -x --durations=10
step "done"
