# Usage: fuzz.sh TARGET FOUND CORPUS. Runs a libFuzzer target for KILN_FUZZ_SECONDS (10) beside what it
# found before; an input that fails is kept in FOUND.
set -eu
exec "$1" -max_total_time="${KILN_FUZZ_SECONDS:-10}" -timeout=25 -max_len=65536 -print_final_stats=1 \
  -artifact_prefix="$2/" "$2" "$3"
