// Package conformance has only tests, which check feedback against the real peers: an
// Alertmanager process and its client types, and the types of the Kubernetes scheduler
// and API. It is a separate module so that these are not dependencies of Giverny: run
// `go test ./...` in this folder.
package conformance
