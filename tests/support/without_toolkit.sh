#!/usr/bin/env bash
# Runs a command as on a machine that has no CUDA toolkit and gets its compiler from wheels.
#
#   tests/support/without_toolkit.sh COMMAND…
#   KILN_HIDE_TOOLKIT=no tests/support/without_toolkit.sh COMMAND…   as where mounts are not allowed
#
# Where there is no toolkit, the command is just run. Where this process may mount, toolkits are hidden in a
# namespace of mounts. Where it may not, or what it hides is seen all the same, they stay where they are and nothing
# leads there: no variable, no PATH. Whichever it is, is said in one line, and the status is the command's.
set -uo pipefail

(($# > 0)) || { echo "usage: $0 COMMAND…" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

say() { echo "kiln: $*"; }

# Folders that hold something of a toolkit, by the ways that programs find one: its usual places, variables, the
# loader's list, the compiler on PATH, Python packages.
traces() {
  local place
  for place in /usr/local/cuda* /opt/cuda* "${CUDA_HOME:-}" "${CUDA_PATH:-}"; do
    if [[ -d $place ]]; then readlink -f "$place"; fi
  done
  ldconfig -p 2>/dev/null | sed -n 's|.*libnv\(rtc\|JitLink\|fatbin\)[^ ]* .*=> \(/.*\)/[^/]*$|\2|p'
  place=$(command -v nvcc) && dirname "$(dirname "$(readlink -f "$place")")"
  python3 -c 'import glob, sys
for folder in sys.path[1:]: print(*glob.glob(folder + "/nvidia/*/lib"), sep="\n")' 2>/dev/null
}

# Each once, the outer ones first, so that what lies in one of them need not be hidden again.
folders() {
  local folder outer=''
  while read -r folder; do
    folder=$(readlink -f "$folder" 2>/dev/null) || continue
    # This checkout's own wheels are what is to be used.
    if [[ ! -d $folder || $folder == "$here"/* ]]; then continue; fi
    if [[ -n $outer && $folder/ == "$outer"/* ]]; then continue; fi
    outer=$folder
    echo "$folder"
  done < <(traces | sort -u)
}

# Without what leads into one of the folders.
cleaned_path() {
  local entry folder kept=()
  while IFS= read -r -d : entry; do
    for folder in "${hidden[@]}"; do
      if [[ $(readlink -m "$entry")/ == "$folder"/* ]]; then continue 2; fi
    done
    kept+=("$entry")
  done <<<"$1:"
  (IFS=:; echo "${kept[*]}")
}

# In the namespace: the folders are the words before "--", the command is what follows.
# shellcheck disable=SC2016
hide='
while [ "$1" != -- ]; do
  mount -t tmpfs -o ro none "$1" || exit 1
  shift
done
shift
exec "$@"'

in_namespace() { unshare --mount --propagation private bash -c "$hide" bash "${hidden[@]}" -- "$@"; }

# A system folder is not hidden, and neither is one that holds this checkout or what the command needs.
may_be_hidden() {
  local folder
  for folder in "${hidden[@]}"; do
    case $folder in / | /usr | /usr/lib | /usr/lib/* | /usr/local | /usr/bin | /lib | /lib/*) return 1 ;; esac
    if [[ $here/ == "$folder"/* ]]; then return 1; fi
  done
}

# shellcheck disable=SC2016
empty='for folder; do [[ -z $(ls -A "$folder") ]] || exit 1; done'

# Tries just what is to be done, in a run that is thrown away.
can_hide() {
  [[ ${KILN_HIDE_TOOLKIT:-} != no ]] && may_be_hidden &&
    in_namespace bash -c "$empty" bash "${hidden[@]}"
} </dev/null &>/dev/null

mapfile -t hidden < <(folders)
if ((${#hidden[@]} == 0)); then
  say "there is no CUDA toolkit on this machine"
  exec "$@"
fi
unset CUDA_HOME CUDA_PATH
PATH=$(cleaned_path "$PATH")
if [[ -n ${LD_LIBRARY_PATH:-} ]]; then LD_LIBRARY_PATH=$(cleaned_path "$LD_LIBRARY_PATH"); fi
if can_hide; then
  say "hidden meanwhile, by mounts: ${hidden[*]}"
  in_namespace "$@"
else
  say "not used, but visible, since mounts are not allowed here: ${hidden[*]}"
  exec "$@"
fi
