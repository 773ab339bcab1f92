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

spent() { # sets cpu to the CPU seconds of what this shell started
  local file=$table.$BASHPID
  times >"$file"
  cpu=$(awk -F '[ms ]+' 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }' "$file")
}

step() {
  local start=$SECONDS outcome=ok cpu before
  spent
  before=$cpu
  make --no-print-directory "$1" </dev/null || outcome=FAILED
  spent
  printf '%-12s %5d s %5d s of CPU  %s\n' "$1" $((SECONDS - start)) $((cpu - before)) $outcome >>"$table"
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
