#!/usr/bin/env bash
# Stop the server that start-local.sh started.
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
pidfile=$home/server.pid
[ -e "$pidfile" ] || { echo "not running"; exit 0; }
pid=$(cat "$pidfile")
kill "$pid" 2>/dev/null || true
for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
if kill -0 "$pid" 2>/dev/null; then echo "process $pid does not stop" >&2; exit 1; fi
rm -f "$pidfile"
echo "stopped"
