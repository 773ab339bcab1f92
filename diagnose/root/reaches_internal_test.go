package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestOnlyABranchLeadsToWhatIsStarved: of links with a constant load below that before, the one that lost rate is where
// the whole tree leads. Where a branch of the tree begins, other links of its switch lose load as steadily, while the
// switch at the end of the tree accepts little.
func TestOnlyABranchLeadsToWhatIsStarved(t *testing.T) {
	for _, c := range []struct {
		name, less string
		reaches    float64
		isFound    bool
	}{
		{name: "the tree leads to it", less: "4,4,4>4,4,5", reaches: 1, isFound: true},
		{name: "a branch begins there", less: "1,2,3>1,3,3", reaches: .14},
		{name: "a line of the tree begins there", less: "2,1,2>2,1,3", reaches: .2},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			var senders []topology.DeviceID
			for _, name := range []string{"1,2,3", "2,1,3", "4,6,2", "6,4,3", "4,2,2"} {
				senders = append(senders, u.Device(t, name))
			}
			region := u.Send(senders, u.Device(t, "4,4,4"))
			less := roottest.Link(t, u.Graph, c.less)
			u.Use.Values[less], u.Was[less] = 12, 40
			u.p.Flat = func(l schema.LinkID) bool { return l == less }
			from, to := u.Graph.Ends(less)
			if got := max(walkOnGrid(u.f, u.p).reaches(region, less, from),
				walkOnGrid(u.f, u.p).reaches(region, less, to)); max(got-c.reaches, c.reaches-got) > .1 {
				t.Errorf("%.2f of the region leads there, want about %.2f", got, c.reaches)
			}
			if found := walkOnGrid(u.f, u.p).flatBottleneck(region).Link == less; found != c.isFound {
				t.Errorf("as what does not vary: found %v, want %v", found, c.isFound)
			}
			if found := walkOnGrid(u.f, u.p).soleWay(region).Link == less; found != c.isFound {
				t.Errorf("as the only one that lost load: found %v, want %v", found, c.isFound)
			}
		})
	}
}

// TestNothingReachesALinkWithoutStall: of a region without stall nothing leads anywhere.
func TestNothingReachesALinkWithoutStall(t *testing.T) {
	u := newTiedUp(t)
	l := roottest.Link(t, u.Graph, "0,2,3>0,3,3")
	if got := walkOnGrid(u.f, u.p).reaches([]schema.LinkID{l}, l, u.Device(t, "0,2,3")); got != 0 {
		t.Errorf("%v of it leads there", got)
	}
}
