#!/usr/bin/env bash
# Pack the release layout into dist/sluice-VERSION-linux-x86_64.tar.gz.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=sluice-$version-linux-x86_64
scripts/install-deps.sh
scripts/build-console.sh
scripts/build.sh release sluice
rm -rf "dist/$name"
scripts/layout.sh build/release "dist/$name" --complete
cp -r LICENSE README.md README.zh-CN.md docs "dist/$name/"
tar -C dist -czf "dist/$name.tar.gz" "$name"
echo "dist/$name.tar.gz"
