// Package topologytest makes graphs for tests. Input: the spec of a regular topology. Output: its graph; a wrong spec fails
// the test.
package topologytest

import "github.com/giverny/giverny/topology"

// T is what *testing.T, *testing.B and *rapid.T have in common.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Parse is topology.Parse.
func Parse(t T, fabric, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse(fabric, spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
