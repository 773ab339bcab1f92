#!/bin/bash
# generated.sh: regenerates the generated files and fails if that changed any. It compares with the working
# tree, not with the last commit, so that it also serves before one.
set -euo pipefail
cd "$(dirname "$0")/.."

state() { git ls-files -z --cached --others --exclude-standard | xargs -0 -r sha256sum 2>/dev/null || true; }

before=$(state)
GOFLAGS="$(go env GOFLAGS) -vet=off" go generate ./... # what generates are tests
scripts/web.sh check
changed=$(diff <(echo "$before") <(state) | awk '/^[<>]/ { print $3 }' | sort -u || true)
[ -z "$changed" ] || { echo "out of date; commit what make generate made of:"; echo "$changed"; exit 1; }
