// Package conformance has no code: its tests check feedback by the code of those that
// it talks to: a real Alertmanager and its client types, and the types of Kubernetes'
// scheduler and API. It is a module of its own, so that these are no dependencies of
// Giverny: run `go test ./...` in this folder.
package conformance
