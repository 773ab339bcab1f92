package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/topology"
)

// TestTheNodesWhoseRoutesConverge: load that some nodes send to one switch fits the routes from these nodes to it, not
// those from as many others, nor those to its neighbour, nor those that more nodes would take; load before the onset
// counts for none.
func TestTheNodesWhoseRoutesConverge(t *testing.T) {
	u := newTiedUp(t)
	devices := func(names ...string) (list []topology.DeviceID) {
		for _, name := range names {
			list = append(list, u.Device(t, name))
		}
		return list
	}
	senders := devices("0,0,1", "1,5,2", "6,3,7", "7,7,0", "4,4,4", "2,6,5")
	others := devices("3,1,0", "5,5,1", "6,0,6", "0,2,3", "4,7,7", "7,4,2")
	end, beside := u.Device(t, "2,3,4"), u.Device(t, "2,3,5")
	links := u.Send(senders, end)
	for _, l := range links {
		u.Stall.Values[l] = 20
	}
	slices.Sort(links)
	u.p.Number = 1
	r := u.f.Region(u.p, links)
	for _, c := range []struct {
		name        string
		senders     []topology.DeviceID
		to          topology.DeviceID
		least, most float64
	}{
		{"they send it", senders, end, .99, 1},
		{"to the neighbour", senders, beside, 0, .9},
		{"others do not", others, end, 0, .6},
		{"with as many others", append(slices.Clone(senders), others...), end, 0, .8},
		{"few say nothing", senders[:leastSenders-1], end, 0, 0},
	} {
		if fit := r.Converging(c.senders, c.to); fit < c.least || fit > c.most {
			t.Errorf("%s: fit %.2f, want %.2f to %.2f", c.name, fit, c.least, c.most)
		}
	}
	for _, l := range links {
		u.Was[l] = float64(u.Use.Values[l])
	}
	u.p.Number = 2
	if fit := u.f.Region(u.p, links).Converging(senders, end); fit != 0 {
		t.Errorf("nothing was added, and it fits by %.2f", fit)
	}
}

// TestLinksCarryWhatIsSentOverThem: where links carry less than a tree would bring at the rate at which it arrives, the
// tree is not what arrives.
func TestLinksCarryWhatIsSentOverThem(t *testing.T) {
	u := newTiedUp(t)
	var senders []topology.DeviceID
	for _, name := range []string{"2,3,0", "2,3,1", "2,3,2", "2,3,3"} {
		senders = append(senders, u.Device(t, name))
	}
	end := u.Device(t, "2,3,4")
	links := u.Send(senders, end)
	slices.Sort(links)
	fits := func(since uint32) float64 {
		u.p.Number = since
		return u.f.Region(u.p, links).Converging(senders, end)
	}
	all := fits(1)
	for _, l := range links { // the farthest carries a quarter of the last
		if u.Use.Values[l] < 2 {
			u.Use.Values[l] = 0
		}
	}
	if less := fits(2); less > all-.05 {
		t.Errorf("a part carries nothing, and the fit is %.2f instead of %.2f", less, all)
	}
}
