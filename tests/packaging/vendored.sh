#!/usr/bin/env bash
# Builds kiln with KILN_VENDORED where there is nothing but a compiler and CMake, and uses the tool that comes of it.
#
#   tests/packaging/vendored.sh fetch FOLDER   Debian's archives of the sources, of the versions that are pinned
#   tests/packaging/vendored.sh FOLDER         build from these, in a bare root; FOLDER holds cuda/include and cuda/lib, too
#
# Some of Debian's archives are the very ones that are pinned: they are laid where CMake looks for a download, which checks
# their hashes. Of the others, which Debian has packed anew, CMake is given the folder.
set -euo pipefail

# NAME, SHA-256, path below the mirror, and the name of the download, where it is the pinned one.
archives=(
  "json 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406 n/nlohmann-json3/nlohmann-json3_3.11.3.orig.tar.gz v3.11.3.tar.gz"
  "xxhash aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80 x/xxhash/xxhash_0.8.3.orig.tar.gz v0.8.3.tar.gz"
  "sodium d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4 libs/libsodium/libsodium_1.0.18.orig.tar.gz 1.0.18.tar.gz"
  "fmt 7000f214d2628f04174822f8048c573f1608194408d7931121595a03f1c18a17 f/fmtlib/fmtlib_10.1.1+ds1.orig.tar.gz"
  "cli11 0b8fbf2398875f15f30a675c7f412123a2aaa38df2863e991de72004fd5f1292 c/cli11/cli11_2.4.1+ds.orig.tar.xz"
  "zstd 0c092ef267edce57ba7f3f2645c861f72eaf5e76273c6c3632869423464b90a5 libz/libzstd/libzstd_1.5.7+dfsg.orig.tar.xz"
  "sqlite d0cdd2ece271b29e7ce18095745d892517ee26d0f270065b3a25c2e9eb11639c s/sqlite3/sqlite3_3.46.1.orig.tar.xz"
)
# What sqlite.org's amalgamation of that version holds.
sqlite_sha256=6c35bc5f7f85eac9c49928bacbb02bb694b547aabf69197e058cca245ad80e83

step() { printf '\n== %s\n' "$*"; }

fetch() {
  local archive name hash path download
  mkdir -p "$1"
  for archive in "${archives[@]}"; do
    read -r name hash path download <<<"$archive"
    if [[ ! -f $1/$name ]] || ! sha256sum --status -c <<<"$hash  $1/$name"; then
      curl -fsSL --retry 3 -o "$1/$name" "${KILN_DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main/$path"
      sha256sum -c <<<"$hash  $1/$name"
    fi
  done
  # The tests were built with it.
  mkdir -p "$1/expected/include/tl"
  cp /usr/include/tl/expected.hpp "$1/expected/include/tl"
}

# SQLite's archive holds what its amalgamation is made of.
make_amalgamation() {
  (cd "$1" && ./configure --disable-shared >/dev/null && make sqlite3.c >/dev/null)
  sha256sum -c <<<"$sqlite_sha256  $1/sqlite3.c"
}

# Lays out what CMake is to find, and prints what it has to be told.
lay_out() {
  local files=$1 build=$2 archive name hash path download folder
  for archive in "${archives[@]}"; do
    read -r name hash path download <<<"$archive"
    if [[ -n $download ]]; then
      folder=$build/_deps/kiln_$name-subbuild/kiln_$name-populate-prefix/src
      mkdir -p "$folder"
      cp "$files/$name" "$folder/$download"
    else
      mkdir -p "$files/sources/$name"
      tar -C "$files/sources/$name" --strip-components=1 -xf "$files/$name"
      echo "-DFETCHCONTENT_SOURCE_DIR_KILN_${name^^}=$files/sources/$name"
    fi
  done
  echo "-DFETCHCONTENT_SOURCE_DIR_KILN_EXPECTED=$files/expected"
}

use() {
  local files build=$PWD/build/vendored options tool status=0
  files=$(realpath "$1")
  step "packages"
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
    cmake ninja-build g++ make tcl xz-utils binutils >/dev/null
  step "build"
  mapfile -t options < <(lay_out "$files" "$build")
  make_amalgamation "$files/sources/sqlite"
  cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DKILN_VENDORED=ON -DKILN_UNITY=all -DKILN_INSTALL=OFF \
    "-DKILN_CUDA_INCLUDE_DIR=$files/cuda/include" "${options[@]}"
  cmake --build "$build"
  step "use"
  tool=$build/bin/kiln
  export KILN_CACHE_DIR=$build/cache KILN_NVRTC
  KILN_NVRTC=$(compgen -G "$files/cuda/lib/libnvrtc.so.*" | head -n 1)
  for origin in compiled local; do
    "$tool" --json compile tools/demo/kernels/rms_norm.cu --arch sm_90a --name 'rms_norm<__half, 4096>' |
      grep -F "\"origin\":\"$origin\""
  done
  "$tool" verify
  # Nothing but the C and the C++ library are asked of the system.
  readelf -d "$tool" | grep NEEDED
  readelf -d "$tool" | grep NEEDED | grep -Ev 'lib(c|m|stdc\+\+|gcc_s|dl|pthread)\.so|ld-linux' && status=1
  return "$status"
}

case $# in
  1) cd "$(dirname "$0")/../.." && use "$1" ;;
  2) fetch "$2" ;;
  *) echo "usage: $0 [fetch] FOLDER" >&2; exit 2 ;;
esac
