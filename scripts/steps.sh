#!/bin/bash
# steps.sh PHASE...: makes the targets of each phase, goes on after a failure, and lists at the end how long each took, how
# much CPU time, and which failed. A phase "A B | C D" makes C, then D, and beside them A, then B, at low priority: those take the time in which
# these wait, and what each prints comes when it ends.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/scratch.sh
table=$(mktemp) output=$(mktemp) aside=
trap '[ -z "$aside" ] || kill -- -"$aside" 2>/dev/null; rm -rf "$table" "$table".* "$output" "$scratch"' EXIT
trap 'exit 130' INT TERM

step() {
  local start=$SECONDS outcome=ok spent=$table.$1
  (make --no-print-directory "$1" </dev/null; made=$?; times >"$spent"; exit $made) || outcome=FAILED
  awk -F '[ms ]+' -v step="$1" -v took=$((SECONDS - start)) -v outcome=$outcome \
    'NR == 2 { printf "%-12s %5d s %5d s of CPU  %s\n", step, took, $1 * 60 + $2 + $3 * 60 + $4, outcome }' "$spent" >>"$table"
}

steps_aside() {
  for step in $1; do
    step "$step" >"$output" 2>&1
    { echo "== $step (aside)"; cat "$output"; }
  done
}

for phase in "$@"; do
  if [[ $phase == *"|"* ]]; then
    set -m # a process group of its own, which can be ended whole
    { renice -n 5 $BASHPID >/dev/null; steps_aside "${phase%|*}"; } &
    set +m
    aside=$!
  fi
  for step in ${phase##*|}; do
    echo "== $step"
    step "$step"
  done
  [ -z "$aside" ] || wait "$aside"
  aside=
done

echo
cat "$table"
failed=$(awk '$NF == "FAILED" { print $1 }' "$table" | paste -sd ' ')
if [ -n "$failed" ]; then
  echo "check: FAILED in $SECONDS s: $failed; repeat one alone with: make ${failed%% *}"
  exit 1
fi
echo "check: all steps passed in $SECONDS s"
