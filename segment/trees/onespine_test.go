package trees_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Three leaves each wait for one spine only, of which a cable is slow: they do not wait for a hotter tree, to which all
// spines lead. If single uplinks lead to all spines, flows take one path each, and they do.
func TestSlowCableOfOneSpineBesideATree(t *testing.T) {
	if got := rootsBesideATree(t, func(int) string { return "spine3" }); !slices.Contains(got, "spine3 leaf0") {
		t.Errorf("roots %v, want one at the slow cable from spine3 to leaf0", got)
	}
	if got := rootsBesideATree(t, func(leaf int) string { return fmt.Sprint("spine", leaf) }); slices.Contains(got, "spine3 leaf0") {
		t.Errorf("roots %v, but flows of single paths wait for the tree", got)
	}
}

// rootsBesideATree lists the roots found if leaves 1 to 6 have one stalled uplink each, to a given spine.
func rootsBesideATree(t *testing.T, spineOf func(leaf int) string) (roots []string) {
	t.Helper()
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=12,spines=8")
	values := stalls.Blank(g)
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		from, to := g.Device(a).Name, g.Device(b).Name
		leaf := 0
		fmt.Sscanf(from, "leaf%d", &leaf)
		switch {
		case from == "spine3" && to == "leaf0":
			values[l] = 37
		case g.Device(a).Level == 2 && to == "leaf12", strings.HasPrefix(to, "spine") && leaf > 12:
			values[l] = 74
		case leaf >= 1 && leaf <= 6 && to == spineOf(leaf):
			values[l] = 38
		case g.Device(a).Level == 0 && slices.Contains([]string{"leaf1", "leaf2", "leaf3", "leaf4", "leaf5", "leaf6"}, to):
			values[l] = 39
		}
	}
	values[linksOf(g, "leaf12")[0][0]] = 78
	cfg := segment.DefaultConfig()
	cfg.Overlap = true
	for _, r := range segmenttest.New(t, g, cfg).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values.Noisy(.3, 1)})) {
		if r.Root != nil {
			roots = append(roots, r.Root.Device+" "+r.Root.Peer)
		}
	}
	return roots
}
