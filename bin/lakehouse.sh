#!/usr/bin/env bash
# The tiering service: lakehouse.sh [-D key=value]...
# It runs as threads of the server, so there is no job to submit: this says what each setting means here, and whether
# the server of this folder runs.
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
usage() { echo "usage: lakehouse.sh [-D key=value]..." >&2; exit 2; }
note() { echo "lakehouse.sh: $1" >&2; }
while [ $# -gt 0 ]; do
  case $1 in
    -D) [ $# -ge 2 ] || usage; setting=$2; shift 2 ;;
    -D?*) setting=${1#-D}; shift ;;
    *) usage ;;
  esac
  case $setting in
    *=*) key=${setting%%=*} ;;
    *) usage ;;
  esac
  case $key in
    flink.*) note "$key has no effect: no Flink job is needed" ;;
    fluss.*) note "$key has no effect: the service is in the server" ;;
    datalake.* | lake.tiering.* | tiering.*)
      note "$key is a setting of the server and stays as it is: put it into conf/server.yaml, or give it to start-local.sh" ;;
    database) note "$key is not supported: every table with table.datalake.enabled is tiered"; exit 1 ;;
    *) note "unknown setting key=$key"; exit 1 ;;
  esac
done
source "$home/bin/running-pid.sh"
if ! pid=$(running_pid "$home"); then
  note "no server runs; start it with $home/bin/start-local.sh"
  exit 1
fi
echo "the tiering service runs in the server, process $pid; log in $home/log/server.out"
