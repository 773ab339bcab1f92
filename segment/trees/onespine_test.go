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
	"github.com/giverny/giverny/topology"
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

// A leaf of which one uplink stalls does not wait for a tree to which all spines lead, though that predicts the uplink's
// stall better: the traffic of its hosts would take the other spines, too. It waits for the port that only this spine
// leads to.
func TestOnlyUplinkWaitsForNoTreeOverAllSpines(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=12,spines=8")
	values, single := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, isSingle bool) {
		leaf, host := 0, -1
		fmt.Sscanf(from.Name, "leaf%d", &leaf)
		fmt.Sscanf(from.Name, "host%d", &host)
		switch {
		case from.Name == "leaf12" && to.Name == "host144":
			percent = 50
		case from.Level == 2 && to.Name == "leaf12":
			percent = 46
		case leaf > 12 && to.Level == 2:
			percent = 38
		case from.Name == "leaf0" && to.Name == "host0", from.Name == "spine3" && to.Name == "leaf0":
			percent = 46
		case (leaf == 1 || leaf == 2) && to.Name == "spine3":
			return 38, true
		case host/12 == 1 || host/12 == 2:
			percent = 36
		}
		return percent, false
	})
	for _, r := range segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.3, 1)) {
		for _, l := range single {
			isIn := slices.Contains(r.Links, l)
			if want := r.Root != nil && r.Root.Device == "leaf0"; isIn != want {
				t.Errorf("link %d in the region of %+v: %v, want %v", l, r.Root, isIn, want)
			}
		}
	}
}
