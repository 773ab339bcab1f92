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
version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
echo "kubernetes: building Kubernetes $version"
rm -f "$dir/SOURCE"
go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$dir/components" .
echo "$sum" >"$dir/SOURCE" # last: it marks the binary as complete
