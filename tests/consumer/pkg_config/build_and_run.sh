#!/usr/bin/env bash
# An engine that is built without CMake, by what pkg-config tells about an installed kiln.
#
#   build_and_run.sh PREFIX LIBDIR CXX WORK_DIR [CXX_OPTION…]
set -euo pipefail
prefix=$1 libdir=$2 cxx=$3 work=$4
shift 4
engine=$(cd "$(dirname "$0")/../engine" && pwd)
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig

mkdir -p "$work"
printf '%s\n' "$engine"/headers/{scale,detail/factor}.cuh >"$work/headers.list"
"$(pkg-config --variable=embed kiln)" \
  engine device_headers "$engine/headers" engine/ "$work/headers.list" "$work"

read -ra cflags <<<"$(pkg-config --cflags kiln)"
read -ra libs <<<"$(pkg-config --libs kiln)"
"$cxx" -std=c++20 "$@" "${cflags[@]}" -I"$work" "$engine/main.cpp" "$work/engine/device_headers.cpp" \
  -o "$work/engine_program" "${libs[@]}" -Wl,-rpath,"$prefix/$libdir"
"$work/engine_program"
