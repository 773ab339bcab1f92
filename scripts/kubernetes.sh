#!/bin/bash
# kubernetes.sh DIR: builds DIR/components, the etcd, kube-apiserver and kube-scheduler of the tests (internal/test/kubernetes),
# from their Go modules: about four minutes of two processors with a cold cache. Silent when it is there and of these sources.
set -euo pipefail

source=$(cd "$(dirname "$0")/.." && pwd)/internal/test/kubernetes/components
mkdir -p "$1"
dir=$(cd "$1" && pwd)
sum=$(cat "$source"/{go.mod,go.sum,main.go} | sha256sum)
[ "$sum" != "$(cat "$dir/SOURCE" 2>/dev/null)" ] || exit 0

cd "$source"
echo "kubernetes: building $(awk '$1 == "k8s.io/kubernetes" { print $1, $2; exit }' go.mod)"
rm -f "$dir/SOURCE"
go build -ldflags '-s -w' -o "$dir/components" .
echo "$sum" >"$dir/SOURCE" # last: it marks the binary as complete
