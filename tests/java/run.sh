#!/usr/bin/env bash
# Run the Java client tests.
#   tests/java/run.sh [maven options]                   start our server ($SLUICE_BIN, else the newest build) on free ports
#   tests/java/run.sh --java HOST:PORT [maven options]  against the real Java server, which runs already
#   tests/java/run.sh --ours HOST:PORT [maven options]  against a server of ours that runs already
# With -Ddata=FOLDER, the server's data folder, also the tests of remote logs run on such a server (README.md).
# SecurityTest of a server that runs already needs the address of a listener with logins: -Dsasl=HOST:PORT.
# Client generation: -Pclient-1.0.0; without it 0.9.1-incubating. One class: -Dtest=PartitionsTest
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

maven() { mvn -q -B test "$@"; }

case ${1:-} in
  --java) address=$2; shift 2; maven -Dbootstrap="$address" -Dserver=java "$@"; exit ;;
  --ours) address=$2; shift 2; maven -Dbootstrap="$address" -Dserver=sluice "$@"; exit ;;
esac

python=$root/.deps/venv-test/bin/python
[ -x "$python" ] || python=python3
folder=$(mktemp -d)
coproc SERVER { exec "$python" serve.py "$folder"; }
server=$SERVER_PID
trap 'kill "$server" 2>/dev/null || true; wait "$server" || status=1; rm -rf "$folder"; exit "${status:-1}"' EXIT
read -r address sasl <&"${SERVER[0]}"
status=0
maven -Dbootstrap="$address" -Dsasl="$sasl" -Dserver=sluice -Ddata="$folder/data" "$@" || status=$?
