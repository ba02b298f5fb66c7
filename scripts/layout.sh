#!/usr/bin/env bash
# Lay out a build as it is released: DEST/{bin,lib,conf,console}; moves freely, libraries are found beside the binary.
#   scripts/layout.sh BUILD DEST
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 dest=$2
mkdir -p "$dest/bin" "$dest/lib" "$dest/conf"
copy() { cmp -s "$1" "$2" || { rm -f "$2"; cp "$1" "$2"; }; }
copy "$build/src/app/sluice" "$dest/bin/sluice"
for script in bin/*.sh; do copy "$script" "$dest/bin/$(basename "$script")"; done
[ -e "$dest/conf/server.yaml" ] || cp conf/server.yaml "$dest/conf/server.yaml"
for library in .deps/arrow/lib/*.so* .deps/duckdb/lib/libduckdb.so; do copy "$library" "$dest/lib/$(basename "$library")"; done
rm -rf "$dest/console"; cp -r console/dist "$dest/console"
