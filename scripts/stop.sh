#!/usr/bin/env bash
# Stop the server that `make run` left up: the one started in run/release, or in run/ where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
source bin/running-pid.sh
run=${SLUICE_RUN:-run}
if [ -d "$run/release" ]; then
  running_pid "$run" >/dev/null && stop_server "$run"  # Left up by an older version.
  stop_server "$run/release"
else
  stop_server "$run"
fi
