#!/usr/bin/env bash
# Lay out a build as it is released: DEST/{bin,lib,conf,console}; moves freely, libraries are found beside the binary.
#   scripts/layout.sh BUILD DEST [--complete]      --complete: with the Debian libraries that another machine may lack
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 dest=$2 complete=${3:-}
mkdir -p "$dest/bin" "$dest/lib" "$dest/conf"
copy() { cmp -s "$1" "$2" || { rm -f "$2"; cp "$1" "$2"; }; }
copy "$build/src/app/sluice" "$dest/bin/sluice"
for script in bin/*.sh; do copy "$script" "$dest/bin/$(basename "$script")"; done
[ -e "$dest/conf/server.yaml" ] || cp conf/server.yaml "$dest/conf/server.yaml"
for library in .deps/arrow/lib/*.so* .deps/duckdb/lib/libduckdb.so; do copy "$library" "$dest/lib/$(basename "$library")"; done
if [ -d console/dist ]; then
  rm -rf "$dest/console"
  cp -r console/dist "$dest/console"
fi
[ "$complete" = --complete ] || exit 0
# All but those of the C library, which belong to the machine; beside them what their authors ask to be told of them.
mkdir -p "$dest/licenses"
for notice in .deps/arrow/licenses/*; do copy "$notice" "$dest/licenses/arrow.$(basename "$notice")"; done
copy .deps/duckdb/LICENSE "$dest/licenses/duckdb.LICENSE"
ldd "$dest/bin/sluice" "$dest"/lib/*.so* | awk '$3 ~ /^\/(usr\/)?lib/ {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' |
  while read -r library; do
    copy "$library" "$dest/lib/$(basename "$library")"
    # A package may name its file below /lib or /usr/lib, which are one.
    package=$({ dpkg-query -S "${library#/usr}" || dpkg-query -S "/usr${library#/usr}"; } 2>/dev/null | head -n 1 | cut -d: -f1)
    [ -n "$package" ] || { echo "no package tells the license of $library" >&2; exit 1; }
    copy "/usr/share/doc/$package/copyright" "$dest/licenses/$package.copyright"
  done
