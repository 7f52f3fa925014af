# Sourced by tools/demo/run, which calls
#
#   kiln_folded LOG COMMAND…
#
# It runs a build and keeps all of its output in LOG. On a terminal the steps that Ninja counts are one line that moves,
# elsewhere a plain line for each tenth of them; both go to standard error, and so does, whole, what a build says that
# failed. The status is the command's. Needs `set -o pipefail`.

kiln_line_moves() { [[ -t 2 && ${TERM:-dumb} != dumb ]]; }

# Ninja's steps, of the lines of standard input.
kiln_show_steps() {
  local line done=0 all=0 before total columns='' tenths=0 step='^\[([0-9]+)/([0-9]+)\] '
  if kiln_line_moves; then
    read -r _ columns < <(stty size <&2 2>/dev/null) || true
    ((${columns:-0} > 1)) || columns=80
  fi
  while IFS= read -r line; do
    [[ $line =~ $step ]] || continue
    before=$done total=$all
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    # Ninja that ran CMake first counts anew.
    if ((done < before || all > total)); then tenths=0; fi
    if kiln_line_moves; then
      printf '\r\e[K%s' "${line:0:columns-1}" >&2
    elif ((all > 0 && 10 * done / all > tenths)); then
      tenths=$((10 * done / all))
      echo "kiln: built $done of $all" >&2
    fi
  done
  if ((all > 0)) && kiln_line_moves; then printf '\r\e[K' >&2; fi
}

kiln_folded() {
  local log=$1 status
  shift
  NINJA_STATUS='[%f/%t] ' "$@" 2>&1 | tee "$log" | kiln_show_steps && status=0 || status=${PIPESTATUS[0]}
  if ((status != 0)); then
    grep -v '^\[[0-9]*/[0-9]*\] ' "$log" >&2 || true
    echo "kiln: failed with status $status: $*; all of its output is in $log" >&2
  fi
  return "$status"
}
