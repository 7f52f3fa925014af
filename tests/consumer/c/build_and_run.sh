#!/usr/bin/env bash
# An engine in C that is built without CMake, by what pkg-config tells about an installed kiln. It depends on the soname
# of the C API and on no other of kiln's.
#
#   build_and_run.sh PREFIX LIBDIR CC WORK_DIR
set -euo pipefail
prefix=$1 libdir=$2 cc=$3 work=$4
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig

mkdir -p "$work"
read -ra flags <<<"$(pkg-config --cflags --libs kiln-c)"
"$cc" -std=c99 "$(dirname "$0")/main.c" -o "$work/engine" "${flags[@]}" -Wl,-rpath,"$prefix/$libdir"
needed=$(readelf -d "$work/engine" | sed -n 's/.*(NEEDED).*\[\(libkiln.*\)\]/\1/p')
if [[ -e $prefix/$libdir/libkiln_c.so ]]; then
  [[ $needed == libkiln_c.so.1 ]] || { echo "depends on '$needed', not on libkiln_c.so.1" >&2; exit 1; }
fi
"$work/engine"
