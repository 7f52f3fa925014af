#!/usr/bin/env bash
# Runs a command in a fresh clone of this checkout, on a bare Debian 12: a debootstrap root with nothing
# but Debian's required packages. For developers; wants root, debootstrap and some gigabytes.
#
#   tests/packaging/bare_root.sh SCRATCH COMMAND…
#   tests/packaging/bare_root.sh /var/tmp/bare 'tools/demo/run && tools/test'
#   tests/packaging/bare_root.sh --may-mount      only whether it can be done here
#
# The root is made once and kept in SCRATCH/root.tar; every call starts from it. What is committed is
# what is cloned.
#
#   KILN_DEBIAN_MIRROR   Debian's mirror (default http://deb.debian.org/debian)
#   KILN_WHEELS          a local folder of wheels: copied in, and used there
#   *_proxy, PIP_*, CMAKE_BUILD_PARALLEL_LEVEL
#                        handed on; /etc/resolv.conf and /etc/pip.conf are copied in
#   KILN_BARE_UNPRIVILEGED=1
#                        the command has what an ordinary container has: root, but no right to mount and no namespaces
#   KILN_BARE_FILES      a folder: copied to /root/files
#   KILN_BARE_CA         a bundle of CA certificates to be trusted inside, where a proxy needs one
set -euo pipefail

unshare --mount true 2> /dev/null || {
  echo "a root of its own takes the right to mount: run this as root, in a container one with --privileged" >&2
  exit 1
}
if [[ ${1:-} == --may-mount ]]; then exit; fi
(($# >= 2)) || { echo "usage: $0 SCRATCH COMMAND…" >&2; exit 2; }
scratch=$(realpath -m "$1")
shift
command=$*
checkout=$(cd "$(dirname "$0")/../.." && pwd)
root=$scratch/root
mirror=${KILN_DEBIAN_MIRROR:-http://deb.debian.org/debian}

make_tarball() {
  mkdir -p "$scratch"
  rm -rf "$root"
  debootstrap --variant=minbase bookworm "$root" "$mirror"
  tar -C "$root" -cf "$scratch/root.tar.part" .
  mv "$scratch/root.tar.part" "$scratch/root.tar"
}

reset_root() {
  rm -rf "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$scratch/root.tar"
}

copy_settings() {
  local file
  for file in /etc/resolv.conf /etc/pip.conf; do
    if [[ -f $file ]]; then cp -L "$file" "$root$file"; fi
  done
  if [[ -n ${KILN_BARE_CA:-} ]]; then cp -L "$KILN_BARE_CA" "$root/etc/bare-ca.crt"; fi
  if [[ -n ${KILN_BARE_FILES:-} ]]; then cp -rL "$KILN_BARE_FILES" "$root/root/files"; fi
  if [[ -n ${KILN_WHEELS:-} ]]; then cp -rL "$KILN_WHEELS" "$root/wheels"; fi
}

# The environment inside, one assignment a line.
settings() {
  echo HOME=/root
  echo LANG=C.UTF-8
  echo PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  env | grep -E '^([a-zA-Z]+_proxy|PIP_(INDEX_URL|EXTRA_INDEX_URL|DEFAULT_TIMEOUT)|CMAKE_BUILD_PARALLEL_LEVEL)=' || true
  if [[ -n ${KILN_BARE_CA:-} ]]; then echo PIP_CERT=/etc/bare-ca.crt; fi
  if [[ -n ${KILN_WHEELS:-} ]]; then echo KILN_WHEELS=/wheels; fi
}

run_inside() {
  local environment less=''
  mapfile -t environment < <(settings)
  # A process in a changed root may make no user namespace either, by which it would get the right again.
  if [[ -n ${KILN_BARE_UNPRIVILEGED:-} ]]; then less='setpriv --bounding-set -sys_admin --inh-caps -sys_admin'; fi
  # Namespaces of its own: nothing stays mounted, and no process stays, whatever the command does.
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
    ln -sf pts/ptmx "$1/dev/ptmx"
    exec $3 chroot "$1" env -i "${@:4}" bash -c "cd /root/kiln && $2"
  ' bare "$root" "$command" "$less" "${environment[@]}"
}

[[ -f $scratch/root.tar ]] || make_tarball
reset_root
copy_settings
git clone --quiet --no-hardlinks "$checkout" "$root/root/kiln"
run_inside
