#!/bin/bash
# gofiles.sh: the Go files that people write: not those of fetched dependencies, not the generated ones.
set -euo pipefail
cd "$(dirname "$0")/.."
find . -path ./.deps -prune -o -name '*.go' -print0 | sort -z |
  xargs -0 grep -L '^// Code generated .* DO NOT EDIT\.$'
