package root

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestTrafficConverges: senders to one switch are found by the load added to links and by which links wait; senders of
// another job are not.
func TestTrafficConverges(t *testing.T) {
	u := newTiedUp(t)
	var senders, others []topology.DeviceID
	for i, name := range []string{"0,1,2", "1,5,2", "2,2,6", "4,4,5", "5,0,1", "3,6,3", "6,3,0", "1,1,4", "7,7,3"} {
		senders = append(senders, u.Device(t, name))
		others = append(others, topology.DeviceID(17*i+5))
	}
	slices.Sort(senders)
	goal := u.Device(t, "3,3,2")
	links := u.Send(senders, goal)
	r := u.f.Region(u.p, links)
	if !r.grew {
		t.Fatal("all that the links carry was added, and it is not seen")
	}
	best, at := 0., topology.DeviceID(0)
	ends, most := r.ends()
	if !most {
		t.Error("no line has most of one tree")
	}
	for _, d := range ends {
		if fit := r.treeFit(senders, d); fit > best {
			best, at = fit, d
		}
	}
	if at != goal || best < .98 {
		t.Errorf("the tree ends at %s with a fit of %.3f, want %s", u.Graph.Device(at).Name, best,
			u.Graph.Device(goal).Name)
	}
	if fit := r.treeFit(others, goal); fit > drainFit {
		t.Errorf("the tree of other senders fits by %.3f", fit)
	}
}

// TestSeveralTrees: if traffic ends on two lines and neither has most of it, the ends are those of the line with more.
func TestSeveralTrees(t *testing.T) {
	u := newTiedUp(t)
	var links []schema.LinkID
	for goal, senders := range map[string][]string{"3,3,2": {"3,3,4", "3,3,0", "3,1,2"},
		"6,6,6": {"6,6,4", "6,6,0", "6,4,6", "6,0,6"}} {
		var from []topology.DeviceID
		for _, name := range senders {
			from = append(from, u.Device(t, name))
		}
		links = append(links, u.Send(from, u.Device(t, goal))...)
	}
	slices.Sort(links)
	r := u.f.Region(u.p, links)
	ends, most := r.ends()
	if most || len(ends) != 8 || !slices.Contains(ends, u.Device(t, "6,6,6")) {
		t.Errorf("%d ends, want the line of 6,6,6", len(ends))
	}
}

// TestFitsAreExact: sums run in a fixed order, so that the same snapshot gives bit-identical results.
func TestFitsAreExact(t *testing.T) {
	fits := func() (bits []uint64) {
		u := newTiedUp(t)
		senders := []topology.DeviceID{3, 17, 40, 99, 130, 201, 333, 402, 511}
		links := u.Send(senders, 146)
		for i, l := range links {
			u.p.Stall.Values[l] *= .3 + .07*float32(i%9)
		}
		of := []Sender{{Devices: senders, Routes: u.Router.Of(senders)}}
		r := u.f.Region(u.p, links)
		d, _ := r.Drain(of)
		n := r.Bottleneck(u.p, of, &d, true)
		return append(bits, math.Float64bits(d.Fit), math.Float64bits(d.tree), math.Float64bits(n.Fit),
			uint64(d.Device))
	}
	first := fits()
	for range 10 {
		if again := fits(); !slices.Equal(first, again) {
			t.Fatalf("%x, then %x", first, again)
		}
	}
}

// TestABottleneckFitsAlikeWhateverWasLookedUpBefore: a bottleneck's links are looked up in the mean of intervals used
// for the drain, also those only in the tree upstream of the bottleneck, whether or not an earlier region contained
// them.
func TestABottleneckFitsAlikeWhateverWasLookedUpBefore(t *testing.T) {
	fit := func(before bool) float64 {
		u := newTiedUp(t)
		job := []topology.DeviceID{3, 17, 40, 99, 130, 146, 201, 333, 402, 511}
		links := u.Send(job, 146)
		of := []Sender{{Devices: job, Routes: u.Router.Of(job)}}
		mean, stall := *u.p, *u.p.Stall
		stall.Values = slices.Clone(stall.Values)
		for i := range stall.Values {
			stall.Values[i] *= .2 + .1*float32(i%7)
		}
		mean.Stall = &stall
		part := slices.DeleteFunc(slices.Clone(links), func(l schema.LinkID) bool { return u.Grid.Dim(l) < 2 })
		full := slices.MaxFunc(part,
			func(a, b schema.LinkID) int { return cmp.Compare(u.p.Use.Values[a], u.p.Use.Values[b]) })
		u.p.Use.Values[full], u.p.Stall.Values[full] = 99, 0
		if before {
			u.f.Region(&mean, links).Drain(nil)
		}
		r := u.f.Region(&mean, part)
		d, _ := r.Drain(nil)
		return r.Bottleneck(u.p, of, &d, true).Fit
	}
	if first, after := fit(false), fit(true); first != after || first == 0 {
		t.Errorf("the bottleneck fits by %v, by %v after another region", first, after)
	}
}
