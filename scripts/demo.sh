#!/bin/bash
# demo.sh [OPTION]...: make demo; fetches, builds and runs the demonstration, and says at the end how it went.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
trap : INT # Ctrl-C ends the demonstration, not this script: the last line is still to come

failed() { echo "make demo: FAILED: $1; what went wrong stands above" >&2; exit 1; }

scripts/deps.sh || failed "the dependencies could not be fetched"
make --no-print-directory build || failed "the build"
bin/giverny demo "$@"
status=$?
case $status in
  0 | 130 | 143) echo "make demo: the demonstration has ended; repeat it until Ctrl-C with: bin/giverny demo --stay" ;;
  *) failed "bin/giverny demo ended with status $status" ;;
esac
