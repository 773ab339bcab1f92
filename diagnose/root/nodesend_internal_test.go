package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhichNodesOfALine: of the switches of a line that are about as likely, back pressure ends at the one away from
// which the load added to the line, or what waits on it, does not rise, the one on whose way links stall that others
// before them explain, or the one to whose nodes the traffic to blame goes; never at one off the line or not rated.
func TestWhichNodesOfALine(t *testing.T) {
	line := []string{"2,7,1>2,7,2", "2,7,2>2,7,3", "2,7,3>2,7,4", "2,7,4>2,7,5"}
	rising := []float32{10, 20, 30, 20} // to the third switch, or the fourth
	level := []float32{20, 20, 20, 20}
	falling := []float32{40, 38, 30, 20} // from the first link on
	everywhere := []string{"2,6,1>2,7,1", "2,6,2>2,7,2", "2,6,3>2,7,3", "2,6,4>2,7,4", "2,6,5>2,7,5"}
	for _, c := range []struct {
		name     string
		stalls   []float32 // of the line's links
		loads    []float32
		beside   []string // links that stall more
		receives string
		want     string
	}{
		{"load rises towards it", level, rising, nil, "", "2,7,3"},
		{"what waits rises towards it", rising, level, everywhere, "", "2,7,3"},
		{"links before it stall more", falling, level, []string{"2,6,4>2,7,4"}, "", "2,7,3"},
		{"the neighbour receives", level, rising, nil, "2,7,4", "2,7,4"},
		{"an unrated switch receives", level, rising, nil, "2,7,7", "2,7,3"},
	} {
		u := newTiedUp(t)
		region := []schema.LinkID{}
		for i, name := range line {
			l := roottest.Link(t, u.Graph, name)
			u.p.Stall.Values[l], u.p.Use.Values[l] = c.stalls[i], c.loads[i]
			region = append(region, l)
		}
		for _, name := range c.beside {
			u.p.Stall.Values[roottest.Link(t, u.Graph, name)] = 50
		}
		slices.Sort(region)
		r := u.f.Region(u.p, region)
		places := []rated{{from: u.Device(t, "2,6,3"), score: 9}}
		for i, name := range []string{"2,7,2", "2,7,3", "2,7,4"} {
			places = append(places, rated{from: u.Device(t, name), score: -1 - float64(i)/10})
		}
		u.f.endings.rateLine(u.Device(t, "2,7,4"), places, r)
		got := r.NodesEnd(func(at topology.DeviceID) float64 {
			if u.Graph.Device(at).Name == c.receives {
				return 1
			}
			return 0
		})
		if name := u.Graph.Device(got).Name; name != c.want {
			t.Errorf("%s: at %s, want %s", c.name, name, c.want)
		}
	}
}

// TestSlowNodesOfALine: while something always waits, the slow nodes are at the switch whose other links stall least,
// compared with those of its neighbours on the stalled line; not if links are idle part of the time.
func TestSlowNodesOfALine(t *testing.T) {
	for name, c := range map[string]struct {
		use  float32 // of the stalled links
		want string
	}{
		"something always waits": {40, "3,3,3"},
		"idle":                   {4, "3,3,4"},
	} {
		u := newTiedUp(t)
		var region []schema.LinkID
		for name, stall := range map[string]float32{
			"3,3,1>3,3,2": 60, "3,3,2>3,3,3": 60, "3,3,3>3,3,4": 60, "3,3,4>3,3,5": 60,
			"3,2,2>3,3,2": 58, "3,2,3>3,3,3": 30, "3,2,4>3,3,4": 58,
		} {
			l := roottest.Link(t, u.Graph, name)
			u.p.Stall.Values[l], u.p.Use.Values[l] = stall, c.use
			region = append(region, l)
		}
		slices.Sort(region)
		r := u.f.Region(u.p, region)
		drain, _ := r.Drain(nil)
		drain.Device, drain.Fit = u.Device(t, "3,3,4"), 1 // as a tree that fits as well to the neighbour
		ends := r.Endings(&drain)
		if got := u.Graph.Device(ends.Slow).Name; got != c.want {
			t.Errorf("%s: at %s, want %s", name, got, c.want)
		}
	}
}

// TestWhereAddedLoadGoes: the load added on a line cannot go to a switch if some of it would have no source, or go
// nowhere; what free links at the line carry may or may not join it.
func TestWhereAddedLoadGoes(t *testing.T) {
	for _, c := range []struct {
		name   string
		loads  map[string]float32 // added, percent
		free   string             // a link beside the line that does not stall
		cannot string             // switches of the line
	}{
		{"to the second", map[string]float32{"2,6,3>2,7,3": 80, "2,7,2>2,7,3": 30, "2,6,2>2,7,2": 10}, "", "3"},
		{"to the third", map[string]float32{"2,6,2>2,7,2": 80, "2,7,2>2,7,3": 30, "2,6,3>2,7,3": 10}, "", "2"},
		{"to either", map[string]float32{"2,6,2>2,7,2": 80, "2,7,2>2,7,3": 30, "2,6,3>2,7,3": 80}, "2,6,2>2,7,2", ""},
		{"none was added", map[string]float32{}, "", ""},
	} {
		u := newTiedUp(t)
		region := []schema.LinkID{}
		for _, name := range []string{"2,7,2>2,7,3", "2,6,2>2,7,2", "2,6,3>2,7,3"} {
			l := roottest.Link(t, u.Graph, name)
			u.p.Stall.Values[l], u.p.Use.Values[l] = 50, c.loads[name]
			if name == c.free {
				u.p.Stall.Values[l] = 0
			}
			region = append(region, l)
		}
		slices.Sort(region)
		r := u.f.Region(u.p, region)
		var places []rated
		for _, name := range []string{"2,7,2", "2,7,3"} {
			places = append(places, rated{from: u.Device(t, name)})
		}
		u.f.endings.rateLine(u.Device(t, "2,7,2"), places, r)
		cannot := ""
		for _, p := range places {
			if r.CannotEndAt(func(d topology.DeviceID) bool { return d == p.from }) {
				name := u.Graph.Device(p.from).Name
				cannot += name[len(name)-1:]
			}
		}
		if cannot != c.cannot {
			t.Errorf("%s: not to %q, want %q", c.name, cannot, c.cannot)
		}
		if r.CannotEndAt(func(topology.DeviceID) bool { return true }) || r.CannotEndAt(func(topology.DeviceID) bool { return false }) {
			t.Errorf("%s: to no switch", c.name)
		}
	}
}
