#!/bin/bash
# steps.sh TARGET...: makes each target, times it, goes on after a failure, and names the failed ones at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/scratch.sh
trap 'rm -rf "$scratch"' EXIT

failed=() table=()
for step in "$@"; do
  echo "== $step"
  start=$SECONDS outcome=ok
  make --no-print-directory "$step" </dev/null || { outcome=FAILED; failed+=("$step"); }
  table+=("$(printf '%-12s %5d s  %s' "$step" $((SECONDS - start)) "$outcome")")
done

echo
printf '%s\n' "${table[@]}"
if [ ${#failed[@]} -gt 0 ]; then
  echo "check: FAILED in $SECONDS s: ${failed[*]}; repeat one alone with: make ${failed[0]}"
  exit 1
fi
echo "check: all steps passed in $SECONDS s"
