#!/usr/bin/env bash
# Figures of a release build on this machine: start and memory at rest, the floor, then each workload over the wire against a
# fresh server.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
scripts/build.sh release sluice floor wire_bench lake_bench
run=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$run"' EXIT
started=$(date +%s%N)
build/release/src/app/sluice server -D "data.dir=$run/data" -D "remote.data.dir=$run/remote" \
  -D "datalake.paimon.warehouse=$run/warehouse" -D coordinator.bind.listeners=CLIENT://127.0.0.1:19123 \
  -D tablet-server.bind.listeners=CLIENT://127.0.0.1:19124 -D http.port=19180 -D sql.threads=1 >"$run/server.out" 2>&1 &
server=$!
until grep -q 'server is ready' "$run/server.out"; do kill -0 "$server"; sleep 0.005; done
ready_ms=$((($(date +%s%N) - started) / 1000000))
rss_kib() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
# Before the workloads, which leave their traces in memory; the first query loads the engine.
sleep 5
before=$(rss_kib)
build/release/src/app/sluice sql --url http://127.0.0.1:19180 -e 'SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(a)' >/dev/null
after=$(rss_kib)
sleep 60
echo "{\"workload\":\"idle\",\"ready_ms\":$ready_ms,\"rss_kib_before_first_query\":$before,\"rss_kib_after_query\":$after,\"rss_kib_60_s_later\":$(rss_kib)}"
build/release/bench/floor
build/release/bench/floor --compression none
for compression in ZSTD NONE; do
  build/release/bench/wire_bench --bootstrap-servers 127.0.0.1:19123 --server-pid "$server" \
    --compression "$compression" --workloads append,scan,scan1 "$@"
done
build/release/bench/wire_bench --bootstrap-servers 127.0.0.1:19123 --server-pid "$server" --workloads upsert,lookup,tail "$@"
build/release/bench/lake_bench --bootstrap-servers 127.0.0.1:19123 --url http://127.0.0.1:19180 --warehouse "$run/warehouse" \
  --server-pid "$server"
echo "{\"workload\":\"memory\",\"rss_kib\":$(rss_kib)}"
