#!/bin/bash
# gotest.sh KIND...: runs the tests of each kind and sums them up in the last lines.
#   unit         all that needs no service but the embedded engine, which libchdb in .deps is
#   race         those of them where there are goroutines, under the race detector; it makes computations ten times
#                slower and more, so tests of many cases run few with it, and all without
#   plain        the others, and those of which race runs few cases
#   integration  the tests that start a real service, but for the walks below
#   rdma         those over soft-RoCE in guests of QEMU, one package at a time: emulated processors are slow
#   chaos        the walks over faults (TestChaos...), minutes each, with the faults and what they count;
#                GIVERNY_CHAOS_SEED and GIVERNY_CHAOS_FOR set the walk
# Files of tests that start the embedded engine are tagged "engine || integration": go test ./... alone, which is to be
# quick, leaves them out; unit, race and plain run them, and whoever builds with the tag integration has all tests.
# None is vetted: make vet does that once, where go test does it for every way to build, with all dependencies.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/scratch.sh

logs=$(mktemp -d)
trap 'rm -rf "$logs" "$scratch"' EXIT

# Files of tests that carry that tag alone; what else their packages have runs with the unit tests.
integration_files() { grep -rl --include='*_test.go' --exclude-dir=.deps '^//go:build integration$' .; }
integration_packages() { integration_files | xargs -r -n1 dirname | sort -u; }
integration_tests() { integration_files | xargs -r grep -ohE '^func Test\w+' | sed 's/^func //' | grep -v '^TestChaos' | sort -u | paste -sd '|'; }

# Packages that start goroutines or share data between them: the race detector has nothing to find in others, most of
# which internal/importrules keeps pure, and makes minutes out of seconds of numbers and queries. Commands are not among
# them, nor what starts hundreds of processes of its own program, each of which it slows down.
concurrent_packages() {
  go list -f '{{.ImportPath}}{{$dir := .Dir}}{{range .GoFiles}} {{$dir}}/{{.}}{{end}}' ./... |
    while read -r package files; do # no path has a blank
      cat /dev/null $files | grep -qE '^\s*"(sync|sync/atomic|golang.org/x/sync/.*)"|^\s*go (func|[a-zA-Z_.]+\()' && echo "$package"
    done | grep -vE '/(cmd/giverny|bench/cmd|search/engine|search/run)$'
}

# Packages some of whose tests run fewer cases under the race detector.
shortened_packages() { grep -rl --include='*_test.go' --exclude-dir=.deps 'giverny/internal/test/racing' . | xargs -r -n1 dirname | xargs -r go list; }

run() { # KIND: go test; the fault tests one package at a time
  local packages
  case $1 in
    unit) go test -vet=off -tags engine ./... ;;
    race) go test -vet=off -tags engine -race -timeout 20m $(concurrent_packages) ;;
    plain) go test -vet=off -tags engine -timeout 20m $({ go list ./... | grep -vxF "$(concurrent_packages)"; shortened_packages; } | sort -u) ;;
    integration | chaos)
      mapfile -t packages < <(integration_packages)
      if [ "$1" = integration ]; then
        go test -vet=off -tags integration -timeout 20m -run "^($(integration_tests))\$" "${packages[@]}"
      else
        go test -vet=off -tags integration -p 1 -count 1 -v -timeout 0 -run '^TestChaos' "${packages[@]}"
      fi
      ;;
    rdma) go test -vet=off -tags rdma -p 1 -count 1 -v -timeout 8m -run OverSoftRoCE ./hostping/run ./search/run ;;
    *) echo "gotest.sh: there are no '$1' tests" >&2; return 2 ;;
  esac
}

# recorded_not_run: how many tests on recorded fixtures there are. Outside CI they skip where the fixtures
# folder is not beside the checkout; internal/test/repo enforces the name.
recorded_not_run() {
  [ -d ../shared/fixtures ] && { echo 0; return; }
  grep -rl --include='*_test.go' --exclude-dir=.deps 'repo\.Fixture(' . | xargs -r -n1 dirname | sort -u |
    xargs -r go test -vet=off -tags engine -v -run Recorded 2>&1 | grep -c '^--- SKIP'
}

status=0
for kind in "$@"; do
  echo "$kind tests:"
  run "$kind" 2>&1 | tee "$logs/$kind" || status=1
done

passed=$(cat "$logs"/* | grep -c '^ok ')
failures=$(cd "$logs" && awk '$1 == "FAIL" && NF > 1 { print "  " $2 " (" FILENAME ")" }' "$@" | sort -u)
failed=$(printf '%s' "$failures" | grep -c .)
echo
[ "$failed" = 0 ] || printf 'failed packages:\n%s\n' "$failures"
cat "$logs"/* | grep -E '^ *--- FAIL: '
cat "$logs"/* | grep -oE "chaos: (killed|seed [0-9]+ for [^,]*:) .*" # what the fault tests count
not_run=$(recorded_not_run)
[ "$not_run" = 0 ] || echo "$not_run tests on recorded fixtures did not run: no fixtures folder beside the checkout"
echo "packages: $passed passed, $failed failed"
if [ $status = 0 ]; then
  echo "tests ($*): all passed"
else
  echo "tests ($*): FAILED"
fi
exit $status
