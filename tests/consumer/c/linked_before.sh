#!/usr/bin/env bash
# The tests of the C API as a program that was linked when its functions were in libkiln.so.0.1 alone and no name had a
# version: a library of that soname that only has the names stands in for the one of then. Run as it is, with the
# libraries of today.
#
#   linked_before.sh PREFIX LIBDIR CC WORK_DIR FAKE_CUDA
set -euo pipefail
prefix=$1 libdir=$2 cc=$3 work=$4 fake=$5
cd "$(dirname "$0")/../.."

# stand_in NAME: a library of what is read from standard input.
stand_in() { "$cc" -shared -fPIC -x c - "-Wl,-soname,$1.so.0.1" -o "$work/$1.so"; }

mkdir -p "$work"
sed 's/.*/void &(void) {}/' c_api/symbols.txt | stand_in libkiln
stand_in libkiln_cache </dev/null
"$cc" -std=c99 -D_XOPEN_SOURCE=700 "-DKILN_FAKE_CUDA=\"$fake\"" -Ifakes "-I$prefix/include" c_api/*.c \
  "-L$work" -Wl,--no-as-needed -lkiln -lkiln_cache -pthread -o "$work/linked_before"
needed=$(readelf -d "$work/linked_before" | sed -n 's/.*(NEEDED).*\[\(libkiln.*\)\]/\1/p')
[[ $needed == $'libkiln.so.0.1\nlibkiln_cache.so.0.1' ]]

# All names at the start, so that none is missed for not being called.
export LD_LIBRARY_PATH=$prefix/$libdir LD_BIND_NOW=1
for test in $(sed -n 's/^  TEST(\([a-z_]*\)).*/\1/p' c_api/tests.h); do
  echo "$test"
  FAKE_CUDA_ARCH=80 "$work/linked_before" "$test"
done
