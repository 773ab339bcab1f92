package topology_test

import (
	"testing"

	"github.com/giverny/giverny/topology/topologytest"
)

// A name that differs from a device's only in case, domain, separators or leading zeros is hinted at.
func TestHint(t *testing.T) {
	g := topologytest.Parse(t, "ib0", "fattree:leaves=2,hosts=2,spines=1")
	for name, want := range map[string]string{
		"HOST1": `did you mean "host1"?`, "host-01.example.com": `did you mean "host1"?`, "Leaf_0": `did you mean "leaf0"?`,
		"nid00001": `its devices are named like "host0"`, "": `its devices are named like "host0"`, ".": `its devices are named like "host0"`,
	} {
		if got := g.Hint(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
