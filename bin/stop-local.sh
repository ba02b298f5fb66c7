#!/usr/bin/env bash
# Stop the server that start-local.sh started.
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
source "$home/bin/running-pid.sh"
stop_server "$home"
