#!/usr/bin/env bash
# Stop the server that `make run` left up: the one started in run/.
set -euo pipefail
cd "$(dirname "$0")/.."
source bin/running-pid.sh
stop_server "${SLUICE_RUN:-run}"
