#!/usr/bin/env bash
# Builds the Python wheel, installs it into an environment of each Python that is named, with NVRTC and the CUDA headers from
# their own wheels, and runs the tests there. Nothing of a build folder's library is used.
#
# Usage: wheel.sh WORK FAKE_CUDA COMPUTING_CUDA [PYTHON…]
#
#   KILN_WHEELS=DIR   take what is installed from a local folder instead of the registry
set -euo pipefail
work=$1
export KILN_FAKE_CUDA=$2 KILN_COMPUTING_CUDA=$3 FAKE_CUDA_ARCH=90
shift 3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pythons=("$@")
if ((${#pythons[@]} == 0)); then pythons=(python3); fi
source=()
if [[ -n ${KILN_WHEELS:-} ]]; then source=(--no-index --find-links "$KILN_WHEELS"); fi
# What a shell has set up for a build folder would be found before what is installed.
unset KILN_NVRTC KILN_WORKER KILN_CUDA_DRIVER KILN_CACHE_DIR KILN_PYTHON_LIBRARY PYTHONPATH VIRTUAL_ENV CUDA_HOME CUDA_PATH

environment() { # PYTHON FOLDER
  rm -rf "$2"
  "$1" -m venv "$2"
}

install() { # FOLDER WHAT…
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${source[@]}" "${@:2}"
}

rm -rf "$work/dist"
environment "${pythons[0]}" "$work/build_environment"
install "$work/build_environment" "scikit-build-core>=0.10"
"$work/build_environment/bin/python" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir "$work/dist" --config-settings "build-dir=$work/build" "$root/tools/python"
wheel=$(echo "$work"/dist/kiln-*-py3-none-linux_*.whl)
[[ -f $wheel ]] || { echo "not one wheel for every Python: $(ls "$work/dist")" >&2; exit 1; }
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"

for python in "${pythons[@]}"; do
  folder=$work/$("$python" -c 'import sys; print("environment_%d.%d" % sys.version_info[:2])')
  environment "$python" "$folder"
  install "$folder" "kiln[nvrtc,headers,link] @ file://$(realpath "$wheel")" pytest mypy numpy
  "$folder/bin/kiln" --version
  (cd "$folder" && bin/python -m pytest -q -p no:cacheprovider -rs "$root/tests/python")
  "$folder/bin/python" "$root/tests/python/bench.py" "$KILN_FAKE_CUDA"
done
