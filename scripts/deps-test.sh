#!/bin/bash
# deps-test.sh: installs what the tests need beyond `make deps`: Debian packages (as root), axe-core, the jars of Apache
# Kafka (.deps/kafka), guests that speak soft-RoCE (.deps/rdma-vm) and the control plane of Kubernetes (.deps/kubernetes).
# Silent when all is there. What is missing at the end is a failure where CI=true; elsewhere the last line says which tests
# will fail for it.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
deps=$root/.deps
mkdir -p "$deps"
"$root/scripts/deps.sh" axe || true # missing says so
exec 9>"$deps/test.lock" && flock 9
trap 'rm -rf "$deps/kafka.tmp"' EXIT
PATH=$PATH:/usr/sbin:/sbin # where Debian puts OpenSM and perfquery

say() { echo "deps-test: $*"; }

# command, Debian packages, the tests that fail without it
needs="
g++        g++                        race
ibsim      ibsim-utils                subnet
opensm     opensm                     subnet
perfquery  infiniband-diags           subnet
chromium   chromium,fonts-liberation  browser
java       default-jdk-headless       broker
mvn        maven                      broker
slurmctld  slurm-wlm                  scheduler
slurmrestd slurmrestd,slurm-wlm-jwt-plugin scheduler
slurmdbd   slurmdbd                   scheduler
mariadbd   mariadb-server-core        scheduler
systemd-analyze systemd               units
"
declare -A tests=(
  [race]="all of the race tests (make race)"
  [subnet]="the integration tests with a simulated InfiniBand subnet"
  [browser]="the integration tests of the web interface"
  [broker]="the integration tests with Apache Kafka"
  [scheduler]="the integration tests with Slurm"
  [units]="the integration tests of the units of systemd"
  [kubernetes]="the integration tests with Kubernetes"
  [guests]="the tests over soft-RoCE (make rdma)"
)

absent() { # the packages, or in column 3 the kinds of tests, of the commands that are not there
  local command packages kind
  while read -r command packages kind; do
    if [ -z "$command" ] || command -v "$command" >/dev/null; then continue; fi
    if [ "$1" = packages ]; then echo "${packages//,/$'\n'}"; else echo "$kind"; fi
  done <<<"$needs" | sort -u
}

# Debian's opensm starts a subnet manager on whatever fabric the machine is attached to. A machine that only
# runs tests must not become the manager of a live one, so the service is masked before it arrives.
mask_opensm() {
  local unit=/etc/systemd/system/opensm.service
  [ -e "$unit" ] || { mkdir -p "${unit%/*}" && ln -s /dev/null "$unit" && say "masked opensm.service"; }
}

install_packages() {
  local packages
  mapfile -t packages < <(absent packages)
  [ ${#packages[@]} -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ] && [[ " ${packages[*]} " == *" opensm "* ]]; then mask_opensm; fi
  "$root/scripts/apt-install.sh" "${packages[@]}" || say "going on without: ${packages[*]}"
}

# Maven takes what the versions of the POM need; each jar must be the one that scripts/kafka/sha256sums pins.
fetch_kafka() {
  local pom=$root/scripts/kafka/pom.xml sums=$root/scripts/kafka/sha256sums log=$deps/kafka.log
  ! cmp -s "$pom" "$deps/kafka/pom.xml" || return 0
  command -v mvn >/dev/null || return 0
  say "fetching the jars of Apache Kafka (43 MB) from Maven Central"
  rm -rf "$deps/kafka.tmp"
  mkdir "$deps/kafka.tmp"
  if ! mvn -q -B -C -f "$pom" dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$deps/kafka.tmp/libs" >"$log" 2>&1; then
    tail -n 10 "$log" >&2
    return 0 # missing says so
  fi
  if ! (cd "$deps/kafka.tmp/libs" && sha256sum --quiet --strict -c "$sums" && [ "$(ls | wc -l)" = "$(wc -l <"$sums")" ]) >&2; then
    say "the jars of Apache Kafka are not those of scripts/kafka/sha256sums" >&2
    return 0
  fi
  cp "$pom" "$deps/kafka.tmp/pom.xml" # last: it marks the folder as complete
  rm -rf "$deps/kafka" "$log"
  mv "$deps/kafka.tmp" "$deps/kafka"
}

missing() {
  absent kinds
  [ -f "$deps/kafka/pom.xml" ] || echo broker
  [ -f "$deps/axe/VERSION" ] || echo browser
  [ -f "$deps/rdma-vm/vmlinuz" ] || echo guests
  [ -f "$deps/kubernetes/SOURCE" ] || echo kubernetes
}

install_packages
fetch_kafka
"$root/scripts/rdma-vm.sh" "$deps/rdma-vm" || say "going on without guests for soft-RoCE"
PATH=$deps/go/bin:$PATH "$root/scripts/kubernetes.sh" "$deps/kubernetes" || say "going on without Kubernetes"
mapfile -t kinds < <(missing | sort -u)
[ ${#kinds[@]} -gt 0 ] || exit 0
list=$(for kind in "${kinds[@]}"; do echo "${tests[$kind]}"; done | paste -sd ';' | sed 's/;/; /g')
if [ "${CI:-}" = true ]; then
  say "FAILED: what these need could not be installed: $list" >&2
  exit 1
fi
say "these will fail, for want of what is missing above: $list"
