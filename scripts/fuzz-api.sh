#!/bin/bash
# fuzz-api.sh [OPTION]...: requests that schemathesis makes of the OpenAPI document, right and wrong ones, against the
# API of a demonstration; it is installed from PyPI into .deps/schemathesis. Options go to schemathesis.
#
# Two of its checks are off: the API is open on loopback (ignored_auth), and a document cannot say that from is not after
# to, or that a span has a bound (positive_data_acceptance). The stream of events does not end, so it is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.deps/schemathesis
if ! $venv/bin/schemathesis --version >/dev/null 2>&1; then # absent, or made where the clone stood before
  python3 -m venv --clear $venv
  $venv/bin/pip install --quiet 'schemathesis==4.32.5'
fi
make --no-print-directory build
log=$(mktemp)
GIVERNY_HTTP_LISTEN=127.0.0.1:0 bin/giverny demo --story victim --stay >"$log" 2>&1 &
demo=$!
trap 'kill $demo 2>/dev/null; wait $demo 2>/dev/null; rm -f "$log"' EXIT
for _ in $(seq 120); do
  page=$(sed -n 's/^The page: //p' "$log")
  [ -n "$page" ] && curl -fs "${page%/}/api/v1/fabrics/rail0/tracks" | grep -q '"region"' && break
  sleep 1
done
[ -n "$page" ] || { cat "$log" >&2; exit 1; }
cd $venv # it leaves folders behind where it runs
bin/schemathesis run "${page%/}/api/v1/openapi.json" --url "${page%/}/api/v1" --checks all --exclude-checks ignored_auth,positive_data_acceptance \
  --exclude-path /stream --request-timeout 60 --phases examples,coverage,fuzzing --max-examples 50 "$@"
