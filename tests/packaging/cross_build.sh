#!/usr/bin/env bash
# Builds kiln for 64-bit ARM in a bare root of another architecture, packs it, and runs it under QEMU: the tool
# from its package, and the cache's tests.
#
#   tests/packaging/cross_build.sh CUDA_HEADERS
set -euo pipefail
headers=$(realpath "$1")
cd "$(dirname "$0")/../.."
export DEBIAN_FRONTEND=noninteractive

step() { printf '\n== %s\n' "$*"; }

install_packages() {
  dpkg --add-architecture arm64
  apt-get update -q
  apt-get install -qy --no-install-recommends \
    cmake ninja-build pkg-config python3 dpkg-dev file g++-aarch64-linux-gnu qemu-user-static \
    libexpected-dev libcli11-dev libsodium-dev nlohmann-json3-dev \
    lib{sqlite3,zstd,xxhash,fmt,gtest,gmock}-dev:arm64 >/dev/null
}

# From the packages, as they are for such a machine.
run_tool() {
  local tool=(qemu-aarch64-static /usr/bin/kiln) status=0
  DEB_HOST_ARCH=arm64 cpack --config build/aarch64/CPackConfig.cmake
  apt-get install -qy --no-install-recommends ./build/aarch64/packages/{libkiln0.1,libkiln-c1,kiln}_*_arm64.deb >/dev/null
  [[ -e /usr/lib/aarch64-linux-gnu/libkiln.so.0.1 && -e /usr/lib/aarch64-linux-gnu/libkiln_c.so.1 ]]
  "${tool[@]}" --version
  # There is no CUDA here.
  "${tool[@]}" doctor || status=$?
  [[ $status == 1 ]]
}

step "packages"
install_packages
step "build"
cmake --preset aarch64 "-DKILN_CUDA_INCLUDE_DIR=$headers" -DKILN_BUILD_TESTS=ON
cmake --build --preset aarch64
cmake --build --preset aarch64 --target kiln_cache_tests
step "run"
run_tool
ctest --preset aarch64 --parallel "$(nproc)"
