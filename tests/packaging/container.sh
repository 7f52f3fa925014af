#!/usr/bin/env bash
# Builds the image of tools/demo/Containerfile and runs it: with buildah, on a bare Debian 12 root in the place of the
# base image, and with a driver that computes on the host. For developers; wants root, debootstrap, buildah and some
# gigabytes. What bare_root.sh takes from the environment counts here too.
#
#   tests/packaging/container.sh SCRATCH DRIVER
set -euo pipefail
scratch=$(realpath -m "$1")
driver=$(realpath "$2")
cd "$(dirname "$0")/../.."

step() { printf '\n== %s\n' "$*"; }
images() { buildah --storage-driver vfs --root "$scratch/storage" --runroot "$scratch/run" "$@"; }

make_base() {
  local container
  rm -rf "$scratch/storage" "$scratch/run"
  tests/packaging/bare_root.sh "$scratch" true
  container=$(images from scratch)
  images add --quiet "$container" "$scratch/root.tar" / >/dev/null
  images config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  if [[ -f /etc/pip.conf ]]; then images copy --quiet "$container" /etc/pip.conf /etc/ >/dev/null; fi
  if [[ -n ${KILN_BARE_CA:-} ]]; then
    images copy --quiet "$container" "$KILN_BARE_CA" /etc/bare-ca.crt >/dev/null
    images config --env PIP_CERT=/etc/bare-ca.crt "$container"
  fi
  images commit --quiet --rm "$container" localhost/bare >/dev/null
}

build_image() {
  local arguments=(--build-arg BASE=localhost/bare)
  if [[ -n ${PIP_INDEX_URL:-} ]]; then arguments+=(--build-arg "PIP_INDEX_URL=$PIP_INDEX_URL"); fi
  images bud --isolation chroot --pull-never "${arguments[@]}" \
    --file tools/demo/Containerfile --tag kiln-decoder .
}

# run_image OPTION… -- WORD…: its entry point with these words.
run_image() {
  local container entry_point options=()
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  container=$(images from --pull-never kiln-decoder)
  read -ra entry_point <<<"$(
    images inspect --format '{{range .OCIv1.Config.Entrypoint}}{{.}} {{end}}' "$container")"
  images run --isolation chroot "${options[@]}" "$container" -- "${entry_point[@]}" "$@"
}

step "base image"
make_base
step "build"
build_image
step "run without a driver"
run_image -- --tokens 20
step "run with a driver"
run_image --volume "$driver:/usr/lib/$(uname -m)-linux-gnu/libcuda.so.1:ro" -- --device gpu | tee "$scratch/outcome"
grep -q '^programs 0 compiled, 0 from the cache, 8 from bundles$' "$scratch/outcome"
grep -q '^right: ' "$scratch/outcome"
