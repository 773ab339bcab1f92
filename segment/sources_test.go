package segment

import (
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// An exchange among leaves of two pods is one: what leads from one pod to the other stalls one way for each, but hosts of
// both wait for both.
func TestExchangeOfTwoPodsIsOne(t *testing.T) {
	g := parse(t, "fattree:k=16")
	isIn := func(d *topology.Device) bool {
		pod, _, _ := strings.Cut(strings.TrimLeft(d.Name, "aglef"), "-")
		return d.Level == 3 || (pod == "5" || pod == "11") && (d.Level == 2 || strings.HasSuffix(d.Name, "-1") || strings.HasSuffix(d.Name, "-4"))
	}
	var hosts []topology.DeviceID
	for l := range schema.LinkID(g.NumLinks()) {
		if from, to := g.Ends(l); g.Device(to).Level == 0 && g.Device(from).Level == 1 && isIn(g.Device(from)) {
			hosts = append(hosts, to)
		}
	}
	values, want := paintWhere(g, func(id schema.LinkID, from, to *topology.Device) (float32, bool) {
		sender, _ := g.Ends(id)
		if slices.Contains(hosts, sender) || from.Level > 0 && to.Level > 0 && isIn(from) && isIn(to) {
			return 24, true
		}
		return 0, false
	})
	if got := find(t, g, overlapping(), values.noisy(1, 1)); len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("%s, want one of %d links", sizes(got), len(want))
	}
}
