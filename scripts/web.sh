#!/bin/bash
# web.sh [check]: builds the page, dashboards/web/dist, from dashboards/web/src with Node, and generates the types of the
# API from dashboards/openapi.json. With check it says so and does nothing where there is no Node that Vite runs on: the
# page is in the repository as it was built.
set -euo pipefail
cd "$(dirname "$0")/../dashboards/web"

if ! command -v npm >/dev/null || [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
  if [ "${1:-}" = check ]; then
    echo "web: not rebuilt and not compared: there is no Node 20 or later here"
    exit 0
  fi
  echo "web: install Node 20 or later, with npm" >&2
  exit 1
fi
# The modules are installed again when the lock file is newer than what is there.
if [ package-lock.json -nt node_modules/.package-lock.json ]; then npm ci --no-audit --no-fund --silent; fi
npm run --silent types >/dev/null
npm run --silent build
