#!/usr/bin/env bash
# Runs make targets one after the other and prints the time of each: `tools/check.sh test sql`. Goes on after a failure.
# Ends with a table of all targets; the exit code is 1 if one of them failed.
set -uo pipefail
cd "$(dirname "$0")/.."

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

declare -a rows=()
failed=0
began=$SECONDS
for target in "$@"; do
  start=$SECONDS
  if make --no-print-directory "$target"; then state=ok; else state=FAILED failed=1; fi
  took=$(clock $((SECONDS - start)))
  echo "make $target: $state after $took"
  rows+=("$(printf '%-12s %-8s %8s' "$target" "$state" "$took")")
done

echo
printf '%-12s %-8s %8s\n' target result time
printf '%s\n' "${rows[@]}"
printf '%-12s %-8s %8s\n' all "$([ $failed = 0 ] && echo ok || echo FAILED)" "$(clock $((SECONDS - began)))"
exit $failed
