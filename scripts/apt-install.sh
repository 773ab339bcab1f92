#!/bin/bash
# apt-install.sh PACKAGE...: installs the Debian packages that are missing; silent when none is. It needs root;
# without, it prints the command for root to run and fails.
set -euo pipefail

missing=()
for package in "$@"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

command="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "this is no Debian: install what Debian calls ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "missing Debian packages; run as root: $command" >&2
  exit 1
fi

echo "installing Debian packages: ${missing[*]}"
mkdir -p "$(dirname "$0")/../.deps"
exec 8>"$(dirname "$0")/../.deps/apt.lock" && flock 8 # apt does not wait for another that fetches its lists
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { dpkg --configure -a && # what an installation that was killed has left
  apt-get update -q -o Acquire::Retries=3 &&
  apt-get install -y -q --no-install-recommends -o Acquire::Retries=3 "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "could not install ${missing[*]}; mend what apt says above, then run: $command" >&2
  exit 1
fi
