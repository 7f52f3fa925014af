#!/usr/bin/env bash
# Packs what tests/gpu runs, and all that it needs but a driver, NVRTC and CUDA's headers, into a folder that goes to a machine
# with a GPU: there run.sh in it is the one command.
#
# Usage: pack.sh BUILD FOLDER [--run]   of a build with tests, tools and benchmarks; --run runs it here
set -euo pipefail
build=$(realpath "$1") folder=$(mkdir -p "$2" && realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=(kiln kiln-demo kiln-decoder kiln_gpu_tests kiln_gpu_bench)

rm -rf "${folder:?}"/{bin,lib,libexec,python}
mkdir -p "$folder"/{bin,lib,libexec/kiln,python}
for program in "${programs[@]}"; do strip -o "$folder/bin/$program" "$build/bin/$program"; done
strip -o "$folder/libexec/kiln/kiln-worker" "$build/libexec/kiln/kiln-worker"
# The libraries as the programs ask for them; those of the compiler and of the C library are on every machine.
ldd "${programs[@]/#/$build/bin/}" "$build/lib/libkiln_c.so" | awk '$2 == "=>" {print $3}' | sort -u |
  grep -vE '/(libc|libm|libgcc_s|libstdc\+\+|libdl|libpthread|librt)\.so' |
  while read -r library; do strip -o "$folder/lib/$(basename "$library")" "$(realpath "$library")"; done
strip -o "$folder/lib/libkiln_c.so" "$(realpath "$build/lib/libkiln_c.so")"
cp -r "$here/../../tools/python/src/kiln" "$here/../../tools/python/examples" "$folder/python"
cp "$here"/{run.sh,peers.py,test_python_gpu.py} "$folder"
du -sh "$folder"
if [[ ${3:-} == --run ]]; then exec "$folder/run.sh" "$folder/out"; fi
