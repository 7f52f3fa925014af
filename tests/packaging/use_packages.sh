#!/usr/bin/env bash
# Installs kiln's Debian packages in a bare root, and uses them as people do: the tool; engines in C++ and in C by
# CMake and by pkg-config; the C API from C, from C that was linked before, and from Python. Nothing of kiln is taken from
# the checkout but the sources of these users.
#
#   tests/packaging/use_packages.sh FOLDER
#
# FOLDER holds *.deb, nvrtc/ with NVRTC's libraries, and the tests' libcuda.so.1.
set -euo pipefail
files=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
export DEBIAN_FRONTEND=noninteractive

step() { printf '\n== %s\n' "$*"; }
install() { apt-get install -qy --no-install-recommends "$@" >/dev/null; }

use_tool() {
  step "the tool alone"
  install "$files"/libkiln0*.deb "$files"/kiln_*.deb man-db groff-base
  kiln --version
  # A machine without CUDA can be served, and cannot compile.
  local status=0
  kiln doctor || status=$?
  [[ $status == 1 ]]
  man kiln | grep -F 'kiln compile FILE'
  [[ -z $(man --warnings=w -E UTF-8 -l /usr/share/man/man1/kiln.1.gz 2>&1 >/dev/null) ]]
  ldconfig -p | grep -F libkiln.so.0.1
}

# Each package has the licence and the notices, and none a file of another's.
check_documents() {
  step "licences and changelogs"
  local package
  for package in libkiln0.1 libkiln-c1 libkiln-dev kiln; do
    [[ -s /usr/share/doc/$package/copyright && -s /usr/share/doc/$package/NOTICES ]]
    zcat "/usr/share/doc/$package/changelog.gz" | grep -E '^kiln \([0-9.]+\) '
  done
  [[ ! -e /usr/share/doc/kiln/LICENSE ]]
}

use_compiler() {
  step "compiles, here and in kiln-worker"
  KILN_NVRTC=$(realpath "$(compgen -G "$files/nvrtc/libnvrtc.so.*" | head -n 1)")
  export KILN_NVRTC
  echo '__global__ void k(int* x) { *x = 1; }' >"$work/k.cu"
  kiln compile "$work/k.cu" --arch sm_80 --name k
  KILN_COMPILE_WORKERS=1 kiln compile "$work/k.cu" --arch sm_90 --name k
}

use_cmake() {
  local engine
  for engine in find_package c; do
    step "an engine by find_package: consumer/$engine"
    cmake -G Ninja -S "consumer/$engine" -B "$work/$engine" >/dev/null
    cmake --build "$work/$engine"
    "$work/$engine/engine"
  done
}

use_pkg_config() {
  step "an engine by pkg-config"
  consumer/pkg_config/build_and_run.sh /usr "lib/$(gcc -print-multiarch)" g++ "$work/pkg_config"
  consumer/c/build_and_run.sh /usr "lib/$(gcc -print-multiarch)" gcc "$work/c_pkg_config"
}

use_c() {
  step "the C API from C"
  local flags test
  read -ra flags <<<"$(pkg-config --cflags --libs kiln-c)"
  gcc -std=c99 -D_XOPEN_SOURCE=700 "-DKILN_FAKE_CUDA=\"$files/libcuda.so.1\"" -Ifakes c_api/*.c \
    "${flags[@]}" -pthread -o "$work/c_api"
  for test in $(sed -n 's/^  TEST(\([a-z_]*\)).*/\1/p' c_api/tests.h); do
    echo "$test"
    FAKE_CUDA_ARCH=80 "$work/c_api" "$test"
  done
}

use_c_linked_before() {
  step "the C API from C that was linked with libkiln.so.0.1"
  consumer/c/linked_before.sh /usr "lib/$(gcc -print-multiarch)" gcc "$work/linked_before" "$files/libcuda.so.1"
}

use_python() {
  step "the C API from Python"
  FAKE_CUDA_ARCH=80 python3 c_api/ctypes_test.py libkiln_c.so.1 "$files/libcuda.so.1"
}

apt-get update -q
use_tool
use_compiler
install "$files"/libkiln-c1*.deb
ldconfig -p | grep -F libkiln_c.so.1
# What signatures take, which the library suggests.
install "$files"/libkiln-dev*.deb libsodium23 g++ cmake ninja-build pkg-config python3
check_documents
use_cmake
use_pkg_config
use_c
use_c_linked_before
use_python
step "all of them work"
