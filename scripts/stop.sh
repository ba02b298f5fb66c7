#!/usr/bin/env bash
# Stop the server whose process id run/server.pid names.
set -euo pipefail
cd "$(dirname "$0")/.."
file=${SLUICE_RUN:-run}/server.pid
[ -e "$file" ] || { echo "no server is running"; exit 0; }
pid=$(cat "$file")
if kill "$pid" 2>/dev/null; then
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -0 "$pid" 2>/dev/null && { echo "server $pid does not stop" >&2; exit 1; }
  echo "server $pid stopped"
else
  echo "no server is running"
fi
rm -f "$file"
