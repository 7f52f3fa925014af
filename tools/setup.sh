# Sourced by tools/demo/run and tools/test, which call
#
#   kiln_setup demo|test
#
# It installs what is missing on a Debian 12 machine, says what before it does, and does nothing when
# nothing is missing: Debian packages (as root or with sudo), and, where the machine has no CUDA toolkit,
# NVRTC, nvJitLink, nvFatbin and the CUDA headers from PyPI wheels into build/cuda; where tests run with a toolkit,
# those of nvJitLink, nvFatbin and cuobjdump that it lacks. Afterwards kiln_cmake_args holds what
# CMake needs to know, and KILN_NVRTC names the wheel's NVRTC if that is the one to use.
#
#   KILN_WHEELS=DIR             take the wheels from a local folder instead of the registry
#   KILN_SETUP_FORCE_WHEELS=1   take the wheels even where a toolkit is found

kiln_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kiln_cuda=$kiln_root/build/cuda
kiln_cmake_args=()

kiln_demo_packages=(
  cmake ninja-build g++ pkg-config libsqlite3-dev libzstd-dev libxxhash-dev libsodium-dev libexpected-dev libfmt-dev
  libcli11-dev nlohmann-json3-dev libhiredis-dev libcurl4-openssl-dev
)
kiln_test_packages=(
  "${kiln_demo_packages[@]}" clang clang-format clang-tidy libclang-rt-14-dev
  redis-server nginx-light
  libgtest-dev libgmock-dev libbenchmark-dev python3 strace binutils git zsh fish groff-base e2fsprogs
  erofs-utils python3-jsonschema python3-pytest chromium-headless-shell
)
kiln_wheels=(
  nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
  nvidia-cuda-crt==13.0.88 nvidia-nvjitlink==13.0.88 nvidia-nvfatbin==13.0.85 nvidia-nvtx==13.0.85
  nvidia-cuda-nvdisasm==13.2.51 nvidia-cuda-cuobjdump==13.2.51
)

kiln_say() { echo "kiln: $*"; }

kiln_as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    kiln_say "neither root nor sudo is here; run this as root, then try again: $*" >&2
    return 1
  fi
}

kiln_install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    kiln_say "not a Debian machine; these (or their like) have to be there: $*"
    return
  fi
  local installed missing=() package
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -Fqx "$package installed" <<<"$installed" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi
  kiln_say "installing Debian packages: ${missing[*]}"
  kiln_as_root apt-get update -q
  kiln_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qy --no-install-recommends "${missing[@]}"
}

# Prints the folder of a toolkit that has both the headers and NVRTC.
kiln_find_toolkit() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [[ -f $folder/include/nvrtc.h && -f $folder/include/cudaTypedefs.h ]] &&
      compgen -G "$folder/lib*/libnvrtc.so.*" >/dev/null; then
      echo "$folder"
      return
    fi
  done
}

# Prints the wheels of what the tests use and a toolkit may lack.
kiln_wheels_beside() {
  local toolkit=$1
  [[ -f $toolkit/include/nvJitLink.h ]] || echo nvidia-nvjitlink==13.0.88
  [[ -f $toolkit/include/nvFatbin.h ]] || echo nvidia-nvfatbin==13.0.85
  [[ -x $toolkit/bin/nvdisasm ]] || echo nvidia-cuda-nvdisasm==13.2.51
  [[ -x $toolkit/bin/cuobjdump ]] || echo nvidia-cuda-cuobjdump==13.2.51
}

# kiln_install_wheels FOLDER WHEEL…
# The list of wheels, written last, is the mark of a complete installation of exactly those.
kiln_install_wheels() {
  local folder=$1 mark=$1/installed.txt source=()
  shift
  if [[ -f $mark && $(<"$mark") == "$*" ]]; then return; fi
  if [[ -n ${KILN_WHEELS:-} ]]; then source=(--no-index --find-links "$KILN_WHEELS"); fi
  kiln_say "installing wheels into $folder from ${KILN_WHEELS:-PyPI}: $*"
  rm -rf "$folder"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --only-binary=:all: --target "$folder" "${source[@]}" "$@" || return
  echo "$*" >"$mark"
}

kiln_setup() {
  local -n packages=kiln_$1_packages
  local toolkit='' pip=() wheels=("${kiln_wheels[@]}")
  if [[ -z ${KILN_SETUP_FORCE_WHEELS:-} ]]; then toolkit=$(kiln_find_toolkit); fi
  if [[ -n $toolkit ]]; then
    wheels=()
    if [[ $1 == test ]]; then mapfile -t wheels < <(kiln_wheels_beside "$toolkit"); fi
  fi
  if ((${#wheels[@]} > 0)) && ! python3 -m pip --version &>/dev/null; then pip=(python3-pip); fi

  kiln_install_packages "${packages[@]}" "${pip[@]}" || return
  # Beside a toolkit they are for a few tests alone, which say that they are skipped.
  if ((${#wheels[@]} > 0)) && ! kiln_install_wheels "$kiln_cuda" "${wheels[@]}"; then
    kiln_say "could not install: ${wheels[*]}" >&2
    [[ -n $toolkit ]] || return 1
  fi
  if [[ -n $toolkit ]]; then
    kiln_cmake_args=("-DKILN_CUDA_INCLUDE_DIR=$toolkit/include")
  else
    kiln_cmake_args=("-DKILN_CUDA_INCLUDE_DIR=$kiln_cuda/nvidia/cu13/include")
    export KILN_NVRTC="${KILN_NVRTC:-$kiln_cuda/nvidia/cu13/lib/libnvrtc.so.13}"
  fi
  # CMake reads this when it first configures a build folder.
  if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
}
