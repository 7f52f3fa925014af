#!/usr/bin/env bash
# Runs everything of tests/gpu out of a folder that pack.sh made, on a machine with a GPU and without a network: the tests,
# each in a process of its own, the demo and the decoder, the benchmark, Python, and the peers that are installed here.
#
# Usage: run.sh [OUT]   what each part printed goes into that folder, ./out where none is named
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(mkdir -p "${1:-$here/out}" && cd "${1:-$here/out}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} KILN_CACHE_DIR=$scratch/cache
export KILN_PYTHON_LIBRARY=$here/lib/libkiln_c.so PYTHONPATH=$here/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
export KILN_WORKER=$here/libexec/kiln/kiln-worker
passed=() failed=() skipped=()

# Runs a part, and says how it ended: NAME SECONDS WORDS THAT SAY THAT IT WAS SKIPPED, COMMAND
part() {
  local name=$1 seconds=$2 skips=$3 status=0
  shift 3
  timeout "$seconds" "$@" >"$out/$name.log" 2>&1 || status=$?
  if ((status != 0)); then failed+=("$name")
  elif [[ -n $skips ]] && grep -q "$skips" "$out/$name.log"; then skipped+=("$name")
  else passed+=("$name"); fi
  printf '%-70s %s\n' "$name" "$status"
}

tests() {
  local suite=
  "$here/bin/kiln_gpu_tests" --gtest_list_tests | while read -r word; do
    case $word in
      Running*) ;;
      *.) suite=$word ;;
      *) echo "$suite$word" ;;
    esac
  done
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>"$out/nvidia-smi.log"
part doctor 60 "" "$here/bin/kiln" doctor
while read -r test; do
  part "$test" 120 "  SKIPPED " "$here/bin/kiln_gpu_tests" --gtest_filter="$test"
done < <(tests)
part demo_kernels 300 "kernels not run" "$here/bin/kiln-demo" --verbose --cache "$scratch/demo"
part decoder 300 "not run on a GPU" "$here/bin/kiln-decoder" --tokens 100 --cache "$scratch/demo" \
  --prompt 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20
part launch_cost 120 "no GPU: " "$here/bin/kiln_gpu_bench" --benchmark_repetitions=3
if python3 -c 'import pytest' 2>/dev/null; then
  part python 120 " skipped" python3 -m pytest -q -p no:cacheprovider -rs "$here/test_python_gpu.py"
else
  skipped+=("python, for want of pytest")
fi
part peers 200 "no GPU: " python3 "$here/peers.py" --times 5
for log in launch_cost peers; do cat "$out/$log.log"; done
for name in "${failed[@]}"; do
  echo "---- $name"
  tail -n 30 "$out/$name.log"
done
echo "${#passed[@]} passed, ${#skipped[@]} skipped (${skipped[*]}), ${#failed[@]} failed (${failed[*]})"
((${#failed[@]} == 0))
