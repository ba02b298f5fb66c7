#!/usr/bin/env bash
# Start one server with all roles in the background: start-local.sh [-D key=value]...
# Folders without a slash in front lie below this release's.
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
pidfile=$home/server.pid
source "$home/bin/running-pid.sh"
status=0
pid=$(running_pid "$home") || status=$?
if [ $status != 1 ]; then
  echo "already running, process ${pid:-$(cat "$pidfile") of another user}" >&2
  exit 1
fi
cd "$home"
mkdir -p log
nohup "$home/bin/sluice" server --conf "$home/conf/server.yaml" "$@" >"$home/log/server.out" 2>&1 &
pid=$!
echo "$pid" >"$pidfile"
for _ in $(seq 1800); do
  grep -q 'server is ready' "$home/log/server.out" && { echo "started, process $pid; log in $home/log/server.out"; exit 0; }
  kill -0 "$pid" 2>/dev/null || { cat "$home/log/server.out" >&2; rm -f "$pidfile"; exit 1; }
  sleep 0.1
done
echo "not ready after 180 s; see $home/log/server.out" >&2
exit 1
