#!/bin/bash
# deps.sh [go|engine|axe]...: fetches what Giverny needs, into .deps; without a name, what it needs to be built and to run.
#   go      a Go toolchain, unless the machine has one that is new enough for go.mod
#   engine  libchdb, the embedded ClickHouse engine
#   axe     axe-core, with which a test looks for barriers on the page
# What is there already is left alone, silently. Each step prints one line.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
deps=$root/.deps
mkdir -p "$deps"

say() { echo "deps: $*"; }
die() { echo "deps: $*" >&2; exit 1; }

retry() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    [ "$try" = 3 ] || { say "try $try failed, trying again: $1 $2" >&2; sleep $((try * 3)); }
  done
  return 1
}

once() { # HAS FETCH PART [ARGUMENT]...: fetches PART unless HAS finds it; two at a time would fetch the same
  if $1; then return; fi
  (
    flock 9
    trap "rm -rf '$deps/$3.tmp'" EXIT
    $1 || "${@:2}"
  ) 9>"$deps/$3.lock"
}

machine() { # the name that Go gives to the processor
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) die "there is no Go toolchain and no engine for $(uname -m) here: install Go yourself, then 'make build'" ;;
  esac
}

locked() { # NAME COLUMN, of the lock
  awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$root/scripts/deps.lock"
}

## Go

oldest_go=$(awk '$1 == "go" { print $2; exit }' "$root/go.mod")

go_version() { GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//'; }

go_suffices() { # COMMAND: is it there, and no older than go.mod says?
  command -v "$1" >/dev/null &&
    [ "$(printf '%s\n' "$oldest_go" "$(go_version "$1")" | sort -V | head -n 1)" = "$oldest_go" ]
}

# The Go module proxy serves toolchains as modules; any Go since 1.15 can fetch one, and checks it against
# the checksum database. A module has no executable bits and no nested go.mod: both are put back as go does.
fetch_go() { # go
  local scratch=$deps/go.tmp version module
  version=$(locked go 2)
  module=golang.org/toolchain@v0.0.1-go$version.linux-$(machine)
  command -v go >/dev/null || "$root/scripts/apt-install.sh" golang-go ca-certificates
  say "fetching Go $version (70 MB) through the Go module proxy"
  rm -rf "$deps/go" "$scratch"
  mkdir "$scratch"
  echo "module scratch" >"$scratch/go.mod" # an old Go cannot read the project's
  (cd "$scratch" && GOTOOLCHAIN=local GOFLAGS=-modcacherw GOMODCACHE=$scratch/mod retry go mod download "$module") ||
    die "could not fetch $module; is the Go module proxy reachable? (or install Go $version yourself)"
  find "$scratch/mod/$module" -name _go.mod -exec sh -c 'mv "$1" "${1%_go.mod}go.mod"' _ {} \;
  chmod -R a+x "$scratch/mod/$module"/{bin,pkg/tool}
  mv "$scratch/mod/$module" "$deps/go"
  go_suffices "$deps/go/bin/go" || die "the Go in .deps/go does not run"
}

has_go() { go_suffices "$deps/go/bin/go" || go_suffices go; }

need_go() { once has_go fetch_go go; }

## The engine

engine=@chdb/lib-linux-x64-gnu
integrity() { # of FILE, in the form of the lock
  local bytes
  bytes=$(sha512sum "$1" | cut -d' ' -f1 | sed 's/../\\x&/g')
  echo "sha512-$(printf '%b' "$bytes" | base64 -w0)"
}

fetch_npm() { # FOLDER PACKAGE FILE SIZE: that file of the package into that folder
  local version tarball folder=$deps/$1
  version=$(locked "$2" 2)
  command -v npm >/dev/null || "$root/scripts/apt-install.sh" npm ca-certificates
  say "fetching $1 $version ($4) from the npm registry"
  rm -rf "$folder.tmp"
  mkdir "$folder.tmp"
  (cd "$folder.tmp" && retry npm pack --silent "$2@$version" >/dev/null) ||
    die "could not fetch $2@$version; is the npm registry reachable?"
  tarball=$(echo "$folder".tmp/*.tgz)
  [ "$(integrity "$tarball")" = "$(locked "$2" 3)" ] ||
    die "$2@$version is not what scripts/deps.lock pins: $(integrity "$tarball")"
  tar -xzf "$tarball" -C "$folder.tmp" --strip-components=1 "package/$3"
  rm "$tarball"
  echo "$version" >"$folder.tmp/VERSION" # written last
  rm -rf "$folder"
  mv "$folder.tmp" "$folder"
}

has() { [ "$(cat "$deps/$1/VERSION" 2>/dev/null)" = "$(locked "$2" 2)" ]; } # FOLDER PACKAGE

fetch_engine() {
  [ "$(machine)" = amd64 ] || die "the embedded ClickHouse engine exists for x86-64 only, this is $(uname -m):" \
    "build with 'make build' and point store.url at a ClickHouse server"
  fetch_npm "$1" $engine libchdb.so "178 MB, 566 MB unpacked"
}

need_engine() { once "has libchdb $engine" fetch_engine libchdb; }

## axe

need_axe() { once "has axe axe-core" fetch_npm axe axe-core axe.min.js "0.6 MB"; }

[ $# -gt 0 ] || set -- go engine
for part in "$@"; do
  case $part in
    go | engine | axe) "need_$part" ;;
    *) die "there is no part '$part'; known are go, engine and axe" ;;
  esac
done
